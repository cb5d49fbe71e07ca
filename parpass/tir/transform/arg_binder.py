"""The prologue of a function that is called from outside: its arguments, and checks.

Arguments are checked against the declaration of the function, as by TVM's `ArgBinder`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from parpass.errors import IRError
from parpass.ir.op_table import Op
from parpass.ir.types import PointerType, PrimType
from parpass.runtime.devices import device
from parpass.runtime.dtypes import DataType
from parpass.tir.analysis.definitions import undefined_vars
from parpass.tir.arith import Analyzer
from parpass.tir.buffer import Buffer
from parpass.tir.data_type import data_type
from parpass.tir.expr import Call, Load, Var
from parpass.tir.function import PrimFunc
from parpass.tir.op import (
    all as all_of,
)
from parpass.tir.op import (
    cast_to,
    const,
    div,
    equal,
    if_then_else,
    logical_not,
    multiply,
    truncmod,
)
from parpass.tir.packed_abi import CallingConv, StructField
from parpass.tir.prim_expr import IntImm, PrimExpr, StringImm
from parpass.tir.stmt import (
    AssertStmt,
    AttrStmt,
    Evaluate,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
)


def has_default_convention(func: PrimFunc) -> bool:
    """Return whether a function has no calling convention set yet."""
    found = func.attributes.get("calling_conv", CallingConv.DEFAULT)
    return found == CallingConv.DEFAULT


def symbol_and_device(func: PrimFunc, pass_name: str) -> tuple[str, int]:
    """Return the name by which others call a function, and DLPack's kind of device.

    Raises:
        IRError: An attribute that says so is missing, or it is for another device than
            the processor.
    """
    attrs = func.attributes
    for key in ("global_symbol", "target"):
        if key not in attrs:
            wanted = (
                "Expect PrimFunc to have the global_symbol attribute"
                if key == "global_symbol"
                else "Require the target attribute"
            )
            raise IRError(
                f"{pass_name}: {wanted}, got {sorted(attrs) or 'none'}; give it by "
                f"func.with_attr('{key}', ...)"
            )
    return str(attrs["global_symbol"]), device(str(attrs["target"])).device_type


def check_all_bound(func: PrimFunc) -> None:
    """Check that a function uses no variables but those that it binds.

    Raises:
        IRError: It does.
    """
    names = ", ".join(f"'{var.name}'" for var in undefined_vars(func))
    if names:
        raise IRError(
            f"Not all Vars are passed in api_args: {names} is not bound to any "
            "variables; expected it to be a parameter, or to be declared by a buffer"
        )


Wrap = Callable[[Stmt], Stmt]  # puts something before a statement, or around it
_OF_SHAPES = "int64"  # the dtype of what a DLTensor has for shape and strides


def nested(wraps: list[Wrap], body: Stmt) -> Stmt:
    """Return a statement within others, the first of which is outermost."""
    for wrap in reversed(wraps):
        body = wrap(body)
    return body


def let(var: Var, value: PrimExpr) -> Wrap:
    """Return what binds a variable."""
    return lambda body: LetStmt(var, value, body)


def asserted(condition: PrimExpr, message: str) -> Wrap:
    """Return what ends the program with a message unless a condition holds."""
    return lambda body: AssertStmt(condition, StringImm(message), body)


def attribute(node: Any, key: str, value: Any) -> Wrap:
    """Return what says something of all that follows."""
    return lambda body: AttrStmt(node, key, value, body)


def struct_get(dtype: str, of: PrimExpr, index: int, field: StructField) -> PrimExpr:
    """Return a part of a C structure: of the one with an index, in an array of such."""
    return Call(dtype, Op.get("tir.tvm_struct_get"), (of, index, int(field)))


class ArgBinder:
    """Collects the statements that bind variables to arguments, and check the rest.

    A variable that is met first gets the argument's part as its value. What is met
    again, or is no variable, has to be equal to it. Messages are TVM's. Unlike there, a
    tensor's number of dimensions is checked before its shape is read.

    Attributes:
        inits: What comes first, each within those before.
        asserts: What is checked then.
    """

    def __init__(self) -> None:
        self.inits: list[Wrap] = []
        self.asserts: list[Wrap] = []
        self.bound: set[Var] = set()
        self._analyzer = Analyzer()

    def bind(self, arg: PrimExpr, value: PrimExpr, name: str) -> bool:
        """Bind an expression that a function declares to a value, or check equality.

        Args:
            arg: The expression.
            value: The value.
            name: The description of the argument's part, for messages.

        Returns:
            Whether it is a variable that this binds.

        Raises:
            IRError: They can never be equal.
        """
        value = cast_to(value, arg.dtype)
        if isinstance(arg, Var) and arg not in self.bound:
            self.bound.add(arg)
            self.inits.append(let(arg, value))
            return True
        self._require(equal(arg, value), name)
        return False

    def _require(self, condition: PrimExpr, name: str) -> None:
        found = self._analyzer.simplify(condition)
        if not isinstance(found, IntImm):
            message = f"Argument {name} has an unsatisfied constraint: {condition}"
            self.asserts.append(asserted(found, message))
        elif not found.value:
            raise IRError(
                f"Bind have an unmet assertion: {condition}, on argument {name}: "
                "expected what can be true"
            )

    def bind_tensor(
        self, buffer: Buffer, device_type: int, device_id: Var, handle: Var, name: str
    ) -> None:
        """Bind what a buffer declares to the parts of a `DLTensor`.

        Args:
            buffer: The buffer.
            device_type: DLPack's number of the kind of device where it is to be.
            device_id: Which one of that kind.
            handle: The pointer to the structure.
            name: The argument's.
        """
        tensor = _Tensor(buffer, handle, name)
        self.inits.append(asserted(*tensor.has_rank()))
        self.asserts.append(asserted(*tensor.has_dtype()))
        data = tensor.field("handle", StructField.DATA)
        if self.bind(buffer.data, data, f"{name}.data"):
            alignment = buffer.data_alignment
            self.inits.append(attribute(buffer.data, "storage_alignment", alignment))
        self._bind_shape(tensor)
        self._bind_strides(tensor)
        self._bind_offset(tensor)
        kind = tensor.field("int32", StructField.DEVICE_TYPE)
        self.bind(const(device_type, "int32"), kind, f"{name}.device_type")
        number = tensor.field("int32", StructField.DEVICE_ID)
        self.bind(device_id, number, f"{name}.device_id")

    def _bind_shape(self, tensor: _Tensor) -> None:
        self.inits.append(let(tensor.shape, tensor.field("handle", StructField.SHAPE)))
        for at, dim in enumerate(tensor.buffer.shape):
            self.bind(dim, _element(tensor.shape, at), f"{tensor.shape.name}[{at}]")

    def _bind_strides(self, tensor: _Tensor) -> None:
        buffer, strides = tensor.buffer, tensor.strides
        self.inits.append(let(strides, tensor.field("handle", StructField.STRIDES)))
        if not buffer.strides:
            if buffer.shape:
                self.asserts.append(tensor.is_compact())
            return
        is_broadcast = buffer.buffer_type == "auto_broadcast"
        step: PrimExpr = const(1, buffer.index_dtype)
        for at in reversed(range(len(buffer.shape))):
            dim = buffer.shape[at]
            explicit = cast_to(_element(strides, at), dim.dtype)
            value = if_then_else(tensor.has_no_strides, step, explicit)
            if is_broadcast:
                value = if_then_else(equal(dim, 1), const(0, value.dtype), value)
            self.bind(buffer.strides[at], value, f"{strides.name}[{at}]")
            size = (
                dim if is_broadcast else cast_to(_element(tensor.shape, at), dim.dtype)
            )
            step = self._analyzer.simplify(multiply(step, size))

    def _bind_offset(self, tensor: _Tensor) -> None:
        buffer, offset = tensor.buffer, tensor.buffer.elem_offset
        width = math.ceil(data_type(buffer.dtype).bits / 8)
        width *= data_type(buffer.dtype).lanes
        given = tensor.field("uint64", StructField.BYTE_OFFSET)
        if isinstance(offset, IntImm):
            wanted = const(offset.value * width, "uint64")
            self.bind(wanted, given, f"{tensor.name}.byte_offset")
            return
        name = f"{tensor.name}.elem_offset"
        elements = cast_to(div(given, const(width, "uint64")), offset.dtype)
        if self.bind(offset, elements, name) and buffer.offset_factor > 1:
            factor = const(buffer.offset_factor, offset.dtype)
            self._require(equal(truncmod(offset, factor), const(0, offset.dtype)), name)


def _element(pointer: Var, at: int) -> PrimExpr:
    return Load(_OF_SHAPES, pointer, const(at))


class _Tensor:
    """A `DLTensor` that is an argument, and the buffer that it is to be."""

    def __init__(self, buffer: Buffer, handle: Var, name: str) -> None:
        self.buffer, self.name, self._handle = buffer, name, handle
        of_ints: Any = PointerType(PrimType(_OF_SHAPES))
        self.shape = Var(f"{name}.shape", of_ints)
        self.strides = Var(f"{name}.strides", of_ints)

    def field(self, dtype: str, field: StructField) -> PrimExpr:
        """Return a part of it."""
        return struct_get(dtype, self._handle, 0, field)

    @property
    def has_no_strides(self) -> PrimExpr:
        """Whether elements stand one after the other."""
        return Call("bool", Op.get("tir.isnullptr"), (self.strides,))

    def has_rank(self) -> tuple[PrimExpr, str]:
        """Return that it has as many dimensions as the buffer, and a message."""
        rank = len(self.buffer.shape)
        ndim = self.field("int32", StructField.NDIM)
        message = f"{self.name}.ndim is expected to equal {rank}"
        return equal(const(rank, "int32"), ndim), message

    def has_dtype(self) -> tuple[PrimExpr, str]:
        """Return that it has elements of the buffer's dtype, and a message."""
        kind = DataType(self.buffer.dtype)
        parts = (
            ("uint8", StructField.TYPE_CODE, kind.type_code),
            ("uint8", StructField.TYPE_BITS, kind.bits),
            ("uint16", StructField.TYPE_LANES, kind.lanes),
        )
        found = [
            equal(self.field(dtype, field), const(int(value), dtype))
            for dtype, field, value in parts
        ]
        return all_of(
            *found
        ), f"{self.name}.dtype is expected to be {self.buffer.dtype}"

    def is_compact(self) -> Wrap:
        """Return what checks strides, if there are any, to be of one piece."""
        dtype, wanted = self.buffer.index_dtype, const(1, self.buffer.index_dtype)
        found: list[PrimExpr] = []
        for at in reversed(range(len(self.buffer.shape))):
            found.append(equal(wanted, cast_to(_element(self.strides, at), dtype)))
            wanted = multiply(wanted, self.buffer.shape[at])
        message = StringImm(f"{self.name}.strides: expected to be compact array")
        holds = AssertStmt(all_of(*found), message, Evaluate(0))
        check = IfThenElse(logical_not(self.has_no_strides), holds)
        return lambda body: SeqStmt((check, body))
