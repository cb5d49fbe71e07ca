"""A second tiny foreign IR: functions can be changed, and each has one parent.

Its modules are `toy_ir.Program`s of boxes, so that all passes on the toy IR run on
them: what these ask for is another box, which has taken the body out of the one before.
A box is a body that nobody else has, or its bytes, or its text, or several of them. Who
looks into an empty box, or at a body that was discarded, is told.
"""

from __future__ import annotations

import marshal
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from parpass.transform import BlobSink, ProgramSlice, Source, owns, register_adapter
from tests.support.toy.ir import Fn, Program, ToyAdapter, program

ENVIRONMENTS = "PARPASS_TEST_ENVIRONMENTS"  # a file: which processes have made one
LOADING = "PARPASS_TEST_LOADING"  # seconds that it takes to make one


class Number:
    """One of the numbers of a body, which it knows."""

    def __init__(self, value: int, parent: Body) -> None:
        self.value = value
        self.parent: Body | None = parent


class Body:
    """Numbers that are changed in place; each body is in one box."""

    def __init__(self, values: Iterable[int]) -> None:
        self.numbers = [Number(value, self) for value in values]
        self.box: Box | None = None
        self.is_discarded = False

    def assign(self, values: Iterable[int]) -> None:
        """Change it in place."""
        self.numbers[:] = [Number(value, self) for value in values]


class Box:
    """A function: its body, bytes and text, as far as they are known."""

    def __init__(
        self,
        body: Body | None = None,
        *,
        content: bytes | None = None,
        text: str | None = None,
        skip: bool = False,
        added: Sequence[str] = (),
    ) -> None:
        self.content, self.text, self.skip = content, text, skip
        self.added = tuple(added)  # names of declarations that it needs
        self.lock = threading.RLock()  # held by who reads the body, or takes it
        self.body = body
        if body is not None:
            assert body.box is None, "a body is in one box only"
            body.box = self

    def __repr__(self) -> str:  # as passes log it, here and in workers
        return f"Box({self.values}, skip={self.skip}, added={self.added})"

    @property
    def form(self) -> str:
        """What is known of it."""
        known = {"body": self.body, "bytes": self.content, "text": self.text}
        return "+".join(form for form, one in known.items() if one is not None)

    @property
    def values(self) -> tuple[int, ...]:
        """The numbers."""
        with self.lock:
            if self.body is not None:
                assert not self.body.is_discarded, "it was discarded"
                return tuple(one.value for one in self.body.numbers)
        if self.content is not None:
            return marshal.loads(self.content)
        assert self.text is not None, "the box is empty: its body was taken for good"
        return tuple(int(word) for word in self.text.split())

    def encoded(self) -> bytes:
        """Return it as bytes, which it keeps."""
        with self.lock:
            if self.content is None:
                self.content = marshal.dumps(self.values, 2)
            return self.content

    def take(self) -> Body:
        """Return a body that is the caller's to change."""
        with self.lock:
            if not owns(self):
                self.encoded()  # a copy, for who looks into this box again
            body, self.body = self.body, None
        if body is None:
            return Body(self.values)
        assert not body.is_discarded, "it was discarded"
        body.box = None
        if owns(self):
            self.content = self.text = None
        return body

    def with_values(self, values: Iterable[int]) -> Box:
        """Return a box with these numbers, put into the body of this one."""
        new = tuple(values)
        if new == self.values:  # as passes of such an IR find out by equal bytes
            return self
        body = self.take()
        body.assign(new)
        return Box(body, skip=self.skip, added=self.added)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (self.encoded(), self.skip, self.added)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and self._all() == other._all()

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- as of a list

    def _all(self) -> Any:
        return self.encoded(), self.skip, self.added


def _unpacked(content: bytes, skip: bool, added: Sequence[str]) -> Box:
    return Box(content=content, skip=skip, added=added)


class BoxProgram(Program):
    """A module of boxes."""

    def __str__(self) -> str:
        lines = [
            f"{name}: {' '.join(map(str, box.values))}"
            for name, box in _boxes(self).items()
        ]
        declared = {name for box in _boxes(self).values() for name in box.added}
        return "\n".join(lines + [f"declare {name}" for name in sorted(declared)])


def _boxes(mod: Program) -> Mapping[str, Box]:
    found: Any = mod.functions
    return found


class BoxAdapter(ToyAdapter):
    """Handles programs of boxes, and their text."""

    mutability = None  # pyright: ignore[reportAssignmentType] -- boxes are values
    consumes_functions = True
    ir_name = "boxes"
    suffixes = (".boxes",)

    def is_function(self, value: Any) -> bool:
        return isinstance(value, Box)

    def size(self, function: Any, limit: int) -> int:
        return min(len(function.values) + 1, limit)

    def encode_function(self, function: Any, blob_sink: BlobSink) -> bytes:
        if function.form == "text":  # to be parsed by who works on it
            return marshal.dumps((function.text, function.skip, function.added))
        return marshal.dumps((function.encoded(), function.skip, function.added))

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: Program
    ) -> Any:
        known, skip, added = marshal.loads(encoded)
        if isinstance(known, str):
            return Box(text=known, skip=skip, added=added)
        return Box(content=known, skip=skip, added=added)

    def worker_environment(self, mod: Program) -> None:
        path = os.environ.get(ENVIRONMENTS)
        if path is not None:
            with Path(path).open("a") as file:
                file.write(f"{os.getpid()}\n")
        until = time.perf_counter() + float(os.environ.get(LOADING, "0"))
        while time.perf_counter() < until:
            pass

    def discard(self, function: Any) -> None:
        if function.body is not None:
            function.body.is_discarded = True
            function.content = function.text = None
            for one in function.body.numbers:
                one.parent = None

    def parse(self, text: str, source_name: str) -> BoxProgram:
        named = [line.split(":") for line in text.splitlines() if ":" in line]
        return BoxProgram({name: Box(text=rest) for name, rest in named})  # pyright: ignore[reportArgumentType]

    def program_slice(self, mod: Program, function: str | None) -> ProgramSlice:
        names = mod.functions if function is None else [function]
        return ProgramSlice(str(BoxProgram({name: mod[name] for name in names})))

    def function_text(self, name: str, function: Any, mod: Any) -> str:
        return str(BoxProgram({name: function}))  # not as the view of a pass prints it

    def reduction_patterns(self) -> Sequence[Any]:
        return [DropNumbers()]


class DropNumbers:
    """Takes numbers out."""

    many = True

    def items(self, mod: Program) -> Sequence[tuple[str, int]]:
        return [(n, at) for n, box in mod.functions.items() for at, _ in _each(box)]

    def without(self, mod: Program, items: Sequence[tuple[str, int]]) -> Program:
        kept = {
            name: [value for at, value in _each(box) if (name, at) not in items]
            for name, box in mod.functions.items()
        }
        return boxed({name: Fn(tuple(values)) for name, values in kept.items()})


def _each(box: Any) -> Iterable[tuple[int, int]]:
    values: tuple[int, ...] = box.values
    return enumerate(values)


register_adapter(BoxProgram, BoxAdapter())


def boxed(functions: Mapping[str, Fn]) -> BoxProgram:
    """Return a program of boxes with the numbers of functions; bodies, bytes, text."""
    return BoxProgram(
        {name: _box(at, fn) for at, (name, fn) in enumerate(functions.items())}  # pyright: ignore[reportArgumentType]
    )


def box_program(*values: int) -> BoxProgram:
    """Return a program: boxes f0, f1, ... of one number each, in all forms."""
    return boxed(program(*values).functions)


def _box(at: int, fn: Fn) -> Box:
    if at % 3 == 0:
        return Box(Body(fn.values), skip=fn.skip)
    if at % 3 == 1:
        return Box(content=marshal.dumps(fn.values, 2), skip=fn.skip)
    return Box(text=" ".join(map(str, fn.values)), skip=fn.skip)
