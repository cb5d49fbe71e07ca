"""A tiny foreign IR: programs of functions that are tuples of numbers.

It is registered as any foreign IR is, and it is what the machine is tested on. A
`CheckedProgram` has a restoring pass besides, as Relay has InferType, and the functions
of a `RunProgram` are encoded in runs, as Relay's are.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from parpass.errors import ReadOnlyModuleError
from parpass.transform import (
    BlobSink,
    FunctionwisePass,
    ModuleAdapter,
    Pass,
    PassContext,
    PassInfo,
    ProgramSlice,
    Source,
    register_adapter,
)


@dataclass(frozen=True)
class Fn:
    """A function: some numbers.

    Attributes:
        values: The numbers.
        skip: Whether function passes leave it alone.
        checked: Whether the restoring pass has seen these numbers.
    """

    values: tuple[int, ...]
    skip: bool = False
    checked: bool = False

    def with_values(self, values: Iterable[int]) -> Fn:
        return replace(self, values=tuple(values), checked=False)


@dataclass(frozen=True)
class Program:
    """A module; `title` and `sources` are its shell."""

    functions: Mapping[str, Fn] = field(default_factory=dict[str, Fn])
    title: str = ""
    sources: Mapping[str, str] = field(default_factory=dict[str, str])

    def __getitem__(self, name: str) -> Fn:
        return self.functions[name]

    def __setitem__(self, name: str, function: Fn) -> None:
        assert isinstance(self.functions, dict)
        self.functions[name] = function

    def __str__(self) -> str:
        lines = [f"{name}: {fn.values}" for name, fn in self.functions.items()]
        return "\n".join([f"# {self.title}", *lines])


class CheckedProgram(Program):
    """A module whose functions are checked again after each function pass."""


class RunProgram(Program):
    """A module whose functions are encoded in runs."""


@dataclass(frozen=True)
class ReadOnlyProgram(Program):
    """What a function pass is given to read."""

    reader: str = ""

    def __setitem__(self, name: str, function: Fn) -> None:
        raise ReadOnlyModuleError(
            f"pass '{self.reader}' tried to write function '{name}' in the module, "
            "which it may only read",
            pass_name=self.reader,
            function=name,
        )


class Check(FunctionwisePass):
    """The restoring pass of a CheckedProgram; numbers below 0 are errors."""

    pass_info = PassInfo(0, "Check")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if min(func.values, default=0) < 0:
            raise ValueError(f"{min(func.values)} is negative")
        return func if func.checked else replace(func, checked=True)


class ToyMutability:
    """Functions are frozen, but who wants to change one in place finds a way."""

    def fingerprint(self, function: Fn) -> Any:
        return function.values, function.skip, function.checked

    def to_change(self, function: Fn) -> Fn:
        return function


class ToyAdapter(ModuleAdapter):
    """Handles programs."""

    module_type = Program
    function_type = Fn
    mutability = ToyMutability()

    def read_only(
        self, mod: Program, functions: Mapping[str, Fn], reader: str
    ) -> Program:
        return ReadOnlyProgram(functions, mod.title, mod.sources, reader)

    def is_skipped(self, function: Fn) -> bool:
        return function.skip

    def size(self, function: Fn, limit: int) -> int:
        return min(len(function.values) + 1, limit)

    def faults(self, function: Fn, mod: Program) -> list[str]:
        return [f"{value} is too large" for value in function.values if value > 99]

    def program_slice(self, mod: Program, function: str | None) -> ProgramSlice:
        functions = mod.functions if function is None else {function: mod[function]}
        return ProgramSlice(str(replace(mod, functions=functions)))


class CheckedAdapter(ToyAdapter):
    """Handles programs that have a restoring pass."""

    def restoring_pass(self, kind: str) -> Pass | None:
        return Check()


class OwnCodecAdapter(ToyAdapter):
    """Has a codec of its own, which encodes each function alone."""

    def encode_function(self, function: Fn, blob_sink: BlobSink) -> bytes:
        return super().encode_function(function, blob_sink)


class RunAdapter(ToyAdapter):
    """Handles programs whose functions are encoded in runs."""

    def open_encoder(self, blob_sink: BlobSink) -> Callable[[Fn], bytes]:
        file = io.BytesIO()
        pickler = pickle.Pickler(file, protocol=5)

        def encode(function: Fn) -> bytes:
            begin = file.tell()
            pickler.dump(function)
            return file.getvalue()[begin:]

        return encode

    def open_decoder(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: Program
    ) -> Callable[[], Fn]:
        return pickle.Unpickler(io.BytesIO(encoded)).load


register_adapter(RunProgram, RunAdapter())
register_adapter(Program, ToyAdapter())
register_adapter(CheckedProgram, CheckedAdapter())


def program(*values: int, **functions: Fn) -> Program:
    """Return a program: functions f0, f1, ... of one number each, and those given."""
    numbered = {f"f{at}": Fn((value,)) for at, value in enumerate(values)}
    return Program({**numbered, **functions})


def checked_program(*values: int, **functions: Fn) -> CheckedProgram:
    """Return the same as `program`, with a restoring pass."""
    return CheckedProgram(program(*values, **functions).functions)


def values_of(mod: Program) -> dict[str, tuple[int, ...]]:
    """Return the numbers of each function."""
    return {name: function.values for name, function in mod.functions.items()}
