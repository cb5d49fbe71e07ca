"""The parameters of a kernel: what C passes, and what the function's variables are."""

from __future__ import annotations

from typing import NamedTuple

from parpass.runtime.signature import Parameter, Passed
from parpass.target.emission.binary_operators import converted, is_narrow
from parpass.target.emission.function_writer import FunctionWriter, llvm_type
from parpass.tir.data_type import data_type
from parpass.tir.expr import Buffer, IntImm, PrimExpr, Var
from parpass.tir.function import PrimFunc


class Check(NamedTuple):
    """Something to be checked when a kernel begins.

    Attributes:
        expr: What the function declares.
        value: What was passed for it, an int of 64 bits.
        message: What to say where they differ.
    """

    expr: PrimExpr
    value: str
    message: str


class KernelParameters:
    """The parameters of a kernel.

    Attributes:
        values: The values of variables, by variable.
        arguments: The number of the argument that a pointer belongs to, by variable.
        passed: The values that C passes, in order.
        kinds: LLVM's types of these.
        checks: The checks of the arguments.
        written: The numbers of the arguments that are written to.
    """

    def __init__(self, writer: FunctionWriter, func: PrimFunc) -> None:
        self.values: dict[Var, str] = {}
        self.arguments: dict[Var, int] = {}
        self.passed: list[Passed] = []
        self.kinds: list[str] = []
        self.checks: list[Check] = []
        self.written: set[int] = set()
        self._writer, self._func = writer, func
        self._params: list[str] = []
        self._names: dict[Var, str] = {}
        self._is_noalias = bool(func.attributes.get("tir.noalias"))
        self._shapes: dict[int, tuple[int | str | None, ...]] = {}
        for at, param in enumerate(func.params):
            self._bind(at, param)
        for at, param in enumerate(func.params):
            if param in func.buffer_map:
                self._declare(at, func.buffer_map[param])

    def texts(self) -> list[str]:
        """Return the parameters of LLVM's function."""
        return self._params

    def take(self, what: str, argument: int = 0, at: int = 0, *, kind: str) -> str:
        """Add a value that C passes; return its name."""
        name = f"%p{len(self.passed)}"
        noalias = " noalias" if self._is_noalias and kind == "ptr" else ""
        self.passed.append(Passed(what, argument, at))
        self.kinds.append(kind)
        self._params.append(f"{kind}{noalias} {name}")
        return name

    def parameters(self) -> tuple[Parameter, ...]:
        """Return what a caller gives, once it is known what is written to."""
        return tuple(
            self._parameter(at, param) for at, param in enumerate(self._func.params)
        )

    def _parameter(self, at: int, param: Var) -> Parameter:
        buffer = self._func.buffer_map.get(param)
        if buffer is not None:
            shape, is_written = self._shapes[at], at in self.written
            return Parameter(buffer.name, buffer.dtype, shape, True, is_written)
        if param.dtype == "handle":
            return Parameter(param.name, "", None, True, at in self.written)
        return Parameter(self._named(param), param.dtype, None, False)

    def _bind(self, at: int, param: Var) -> None:
        if param.dtype == "handle":
            self.values[param] = self.take("data", at, kind="ptr")
            self.arguments[param] = at
            return
        # Floats of 16 bits come as float32, bools as bytes, for that is what C has.
        dtype = "float32" if is_narrow(param.dtype) else param.dtype
        dtype = "uint8" if data_type(dtype).code == "bool" else dtype
        value = self.take("value", at, kind=llvm_type(dtype))
        self.values[param] = converted(self._writer, value, dtype, param.dtype)
        self._named(param)

    def _declare(self, at: int, buffer: Buffer) -> None:
        self.arguments[buffer.data] = at
        self.values[buffer.data] = self.values[self._func.params[at]]
        self._shapes[at] = tuple(
            self._dimension(at, buffer, number, dim)
            for number, dim in enumerate(buffer.shape)
        )
        for number, stride in enumerate(buffer.strides):
            told = f"a stride in dimension {number} of buffer '{buffer.name}'"
            self._agree(stride, Passed("stride", at, number), told)
        self._begin(buffer)

    def _dimension(
        self, at: int, buffer: Buffer, number: int, dim: PrimExpr
    ) -> int | str | None:
        if isinstance(dim, IntImm):
            return dim.value
        if isinstance(dim, Var) and dim in self.values:
            return self._named(dim)
        told = f"the length of dimension {number} of buffer '{buffer.name}'"
        self._agree(dim, Passed("dimension", at, number), told)
        return self._named(dim) if isinstance(dim, Var) else None

    def _agree(self, expr: PrimExpr, passed: Passed, told: str) -> None:
        """Bind a variable to what is passed, or have a check made of an expression."""
        value = self.take(passed.what, passed.argument, passed.at, kind="i64")
        if isinstance(expr, Var) and expr not in self.values:
            self.values[expr] = converted(self._writer, value, "int64", expr.dtype)
            return
        message = f"expected {told} as the function declares it, got another one"
        self.checks.append(Check(expr, value, message))

    def _begin(self, buffer: Buffer) -> None:
        offset = buffer.elem_offset
        if isinstance(offset, Var) and offset not in self.values:
            self.values[offset] = "0"
            return
        told = f"expected buffer '{buffer.name}' to begin where its memory does"
        self.checks.append(Check(offset, "0", told))

    def _named(self, var: Var) -> str:
        if var not in self._names:
            taken, name, count = {*self._names.values()}, var.name, 0
            while name in taken:
                count += 1
                name = f"{var.name}_{count}"
            self._names[var] = name
        return self._names[var]
