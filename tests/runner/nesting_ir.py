"""A foreign IR whose adapter runs a pipeline wherever a serial run calls nothing."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import parpass
from parpass.transform import (
    BlobSink,
    FunctionPass,
    ModuleAdapter,
    ModulePass,
    PassContext,
    PassInfo,
    Sequential,
    Source,
    register_adapter,
)
from tests.support.toy.ir import Program, program, values_of
from tests.support.toy.passes import Add, Say

ValueT = TypeVar("ValueT")


@dataclass(frozen=True)
class Number:
    """A function."""

    value: int


@dataclass(frozen=True)
class Nesting:
    """A module."""

    functions: Mapping[str, Number] = field(default_factory=dict[str, Number])


class Await(ModulePass):
    """Is async, and so needs an event loop."""

    pass_info = PassInfo(0, "Await")

    async def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        return mod


def run_inner() -> None:
    """Run a pipeline that counts, warns and waits, by both of the functions for it."""
    given, inner = program(1, 2), Sequential([Add(1), Await(), Say()])
    expected = {"f0": (3,), "f1": (4,)}
    assert values_of(parpass.run_pipeline_sync(given, inner)) == expected
    with parpass.open_runner(workers=2) as runner:
        assert values_of(runner.run_sync(given, inner)) == expected


class NestingAdapter(ModuleAdapter):
    """Runs a pipeline within one of its methods."""

    module_type = Nesting
    function_type = Number
    mutability = None

    def __init__(self, method: str = "") -> None:
        self.method = method

    def _after_inner(
        self, method: str, call: Callable[..., ValueT], *args: Any
    ) -> ValueT:
        if method == self.method:
            run_inner()
        return call(*args)

    def encode_function(self, function: Number, blob_sink: BlobSink) -> bytes:
        return self._after_inner("encode_function", pickle.dumps, function)

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: Nesting
    ) -> Number:
        return self._after_inner("decode_function", pickle.loads, encoded)

    def encode_shell(self, mod: Nesting) -> bytes:
        return self._after_inner("encode_shell", super().encode_shell, mod)

    def decode_shell(self, encoded: bytes) -> Nesting:
        return self._after_inner("decode_shell", super().decode_shell, encoded)

    def size(self, function: Number, limit: int) -> int:
        return self._after_inner("size", int, 1)

    def signature(self, function: Number) -> str:
        return self._after_inner("signature", str, "number")

    def keeps_signature(self, before: Number, after: Number) -> bool:
        return self._after_inner("keeps_signature", bool, True)

    def discard(self, function: Number) -> None:
        self._after_inner("discard", int)


register_adapter(Nesting, NestingAdapter())


class Grow(FunctionPass):
    """Adds the number of another function, after asking for its signature."""

    pass_info = PassInfo(0, "Grow")

    def transform_function(
        self, func: Number, mod: Nesting, ctx: PassContext
    ) -> Number:
        ask: Callable[[str], Any] | None = getattr(mod.functions, "signature", None)
        if ask is not None:
            ask("f0")
        ctx.count("grown")
        return Number(func.value + mod.functions["f0"].value)
