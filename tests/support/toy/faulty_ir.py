"""A foreign IR whose adapter makes one mistake: a method gives what it must not."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from parpass.transform import (
    FunctionPass,
    ModuleAdapter,
    ModulePass,
    PassContext,
    PassInfo,
    register_adapter,
)

RAISES = "raises"


@dataclass(frozen=True)
class Fun:
    """A function: a number."""

    value: int


@dataclass(frozen=True)
class Faulty:
    """A module; `fault` is the method that fails, and `gives` what it gives instead."""

    functions: Mapping[str, Fun] = field(default_factory=dict[str, Fun])
    fault: str = ""
    gives: Any = None


class FaultyAdapter(ModuleAdapter):
    """Fails as it was told when it was made."""

    module_type = Faulty
    function_type = Fun
    round_trip_between_passes = False

    def __init__(self, fault: str = "", gives: Any = None) -> None:
        self.fault, self.gives = fault, gives
        if fault:
            setattr(self, fault, self.fail)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.fault, self.gives)

    def fail(self, *_: object) -> Any:
        if self.gives == RAISES:
            raise ValueError("broken")
        return self.gives

    def size(self, function: Fun, limit: int) -> int:
        return min(abs(function.value) + 1, limit)

    def signature(self, function: Fun) -> Any:
        return "fun"

    def keeps_signature(self, before: Fun, after: Fun) -> bool:
        return True


class StrangeAdapter(FaultyAdapter):
    """Has what is no function among its functions, under the name 'bad'."""

    def functions(self, mod: Faulty) -> Mapping[str, Any]:
        return {**mod.functions, "bad": "text"} if mod.functions else {}


class StrangeTrippingAdapter(StrangeAdapter):
    """So does this one, whose functions make a round trip."""

    round_trip_between_passes = True


class PickyAdapter(FaultyAdapter):
    """Fails on the size of large numbers; states that functions are values."""

    mutability = None

    def size(self, function: Fun, limit: int) -> int:
        if function.value > 9:
            raise ValueError("broken")
        return super().size(function, limit)


class TrippingAdapter(FaultyAdapter):
    """Has its functions make a round trip between passes."""

    round_trip_between_passes = True


register_adapter(Faulty, FaultyAdapter())


class Increase(FunctionPass):
    """Adds one; reads the signature of another function first, where it is had."""

    pass_info = PassInfo(0, "Increase")

    def transform_function(self, func: Fun, mod: Faulty, ctx: PassContext) -> Fun:
        ask: Callable[[str], Any] | None = getattr(mod.functions, "signature", None)
        if ask is not None:
            ask("g")
        return Fun(func.value + 1)


class Keep(FunctionPass):
    """Gives what it is given, whatever that is."""

    pass_info = PassInfo(0, "Keep")

    def transform_function(self, func: Any, mod: Faulty, ctx: PassContext) -> Any:
        return func


class Wrong(FunctionPass):
    """Gives what is no function where it is given none."""

    pass_info = PassInfo(0, "Wrong")

    def transform_function(self, func: Any, mod: Faulty, ctx: PassContext) -> Any:
        return func if isinstance(func, Fun) else [func]


class RunOther(ModulePass):
    """Runs a pipeline on a module, and keeps its warnings."""

    pass_info = PassInfo(0, "RunOther")

    def __init__(self, run: Callable[[], Any]) -> None:
        self.run = run
        self.told: list[warnings.WarningMessage] = []

    def transform_module(self, mod: Faulty, ctx: PassContext) -> Faulty:
        with warnings.catch_warnings(record=True) as self.told:
            warnings.simplefilter("always")
            self.run()
        return mod


class Same(ModulePass):
    """Gives an equal module, which is another object."""

    pass_info = PassInfo(0, "Same")

    def transform_module(self, mod: Faulty, ctx: PassContext) -> Faulty:
        return replace(mod)
