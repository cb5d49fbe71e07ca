"""MakePackedAPI: functions that TVM's runtime calls, with values and their codes.

MakeUnpackedAPI: functions that C calls, with a pointer for each buffer.
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from parpass.errors import IRError
from parpass.ir.module import IRModule
from parpass.ir.node import Node
from parpass.ir.op_table import Op
from parpass.ir.types import PointerType, PrimType
from parpass.tir.data_type import data_type
from parpass.tir.expr import Call, Load, Var
from parpass.tir.function import PrimFunc
from parpass.tir.op import any as any_of
from parpass.tir.op import cast_to, const, equal, ret
from parpass.tir.packed_abi import POINTERS, ArgTypeCode, CallingConv, StructField
from parpass.tir.prim_expr import PrimExpr, StringImm
from parpass.tir.stmt import Evaluate, For, ForKind, SeqStmt, Stmt, Store
from parpass.tir.stmt_expr_functor import StmtMutator
from parpass.tir.transform.arg_binder import (
    ArgBinder,
    Wrap,
    asserted,
    attribute,
    check_all_bound,
    has_default_convention,
    let,
    nested,
    struct_get,
    symbol_and_device,
)
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.transform import PassContext, PassInfo, register_pass


@register_pass("tir.transform.MakePackedAPI")
class MakePackedAPI(PrimFuncPass):
    """Take arguments as TVM's runtime passes them, and check them.

    ::

        # attrs: global_symbol "main", target "llvm"
        def main(a: handle):  # a is buffer A of shape (n,)
            A[0] = n

    becomes, with the attribute `calling_conv` 1::

        def main(args, arg_type_ids, num_args: int32,
                 out_ret_value, out_ret_tcode, resource_handle) -> int32:
            assert num_args == 1, "main: num_args should be 1"
            let arg0 = tvm_struct_get(args, 0, value)
            let arg0.code = arg_type_ids[0]
            assert arg0.code is a pointer's, "main: Expect arg[0] to be pointer"
            assert tvm_struct_get(arg0, 0, ndim) == 1, "arg0.ndim is expected …"
            let A = tvm_struct_get(arg0, 0, data)
            attr storage_alignment(A) = 128
            let arg0.shape = tvm_struct_get(arg0, 0, shape)
            let n = int32(arg0.shape[0])
            let arg0.strides = tvm_struct_get(arg0, 0, strides)
            let dev_id = tvm_struct_get(arg0, 0, device_id)
            attr device_id("default") = dev_id
            attr device_type("default") = 1
            assert the dtype, "arg0.dtype is expected to be float32"
            if not isnullptr(arg0.strides):
                assert arg0.strides[0] == 1, "arg0.strides: expected …"
            assert tvm_struct_get(arg0, 0, byte_offset) == 0
            assert tvm_struct_get(arg0, 0, device_type) == 1
            attr compute_scope(0) = "main_compute_":
                A[0] = n

    What a function returns is stored in `out_ret_value`, and its code in
    `out_ret_tcode`; 0 is returned. The attribute `target` is text such as
    `llvm -mcpu=skylake`; it has to be one of the processor. A function that says
    already how it is called stays as it is.

    Args:
        num_unpacked_params: How many of the last parameters stay parameters, behind
            the first three; -1 for none, where a function that has no parameters is
            packed, too.
    """

    pass_info = PassInfo(0, "tir.MakePackedAPI")

    def __init__(self, num_unpacked_params: int = -1) -> None:
        if num_unpacked_params < -1:
            raise IRError(
                "expected a number of parameters that are not packed, or -1, got "
                f"{num_unpacked_params}"
            )
        self.num_unpacked_params = num_unpacked_params

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function with other parameters."""
        if not has_default_convention(func):
            return func
        name, device_type = symbol_and_device(func, "MakePackedAPI")
        unpacked = max(self.num_unpacked_params, 0)
        count = len(func.params) - unpacked
        if count < 0:
            raise IRError(
                f"expected a function of {unpacked} parameters or more, got one of "
                f"{len(func.params)}"
            )
        is_packed = self.num_unpacked_params == -1 or count > 0
        made = _Packing(func, name, count if is_packed else 0, is_packed)
        made.bind(device_type)
        after = structs.replace(
            func,
            params=made.params,
            body=made.body(device_type),
            ret_type=PrimType("int32"),
            buffer_map={},
        )
        check_all_bound(after)
        if unpacked:
            return after
        return after.with_attr("calling_conv", int(CallingConv.C_PACKED_FUNC))


class _Packing:
    """The new parameters of a function, and what is found of the old ones in them.

    Args:
        func: The function.
        name: That in messages.
        count: How many of its parameters are packed.
        is_packed: Whether there are the parameters of packed functions at all.
    """

    def __init__(self, func: PrimFunc, name: str, count: int, is_packed: bool) -> None:
        self._func, self._name, self._is_packed = func, name, is_packed
        params = enumerate(func.params)
        self._args = [Var(f"arg{at}", one.dtype) for at, one in params]
        codes: Any = PointerType(PrimType("int32"))
        self._values, self._codes = Var("args", "handle"), Var("arg_type_ids", codes)
        self._given = Var("num_args", "int32")
        self._result = Var("out_ret_value", "handle")
        self._result_code = Var("out_ret_tcode", codes)
        self._device_id = Var("dev_id", "int32")
        self._inits = self._unpacked(count) if is_packed else []
        self._rest = self._args[count:]
        self._binder = ArgBinder()

    @property
    def params(self) -> tuple[Var, ...]:
        """The new parameters."""
        if not self._is_packed:
            return tuple(self._rest)
        before = (self._values, self._codes, self._given)
        after = (self._result, self._result_code, Var("resource_handle", "handle"))
        return (*before, *self._rest, *after)

    def _unpacked(self, count: int) -> list[Wrap]:
        """Return what finds the arguments, and checks what they are."""
        message = f"{self._name}: num_args should be {count}"
        found = [asserted(equal(self._given, const(count)), message)]
        for at, arg in enumerate(self._args[:count]):
            code = Var(f"{arg.name}.code", "int32")
            value = struct_get(_passed_as(arg), self._values, at, StructField.VALUE)
            found.append(let(arg, cast_to(value, arg.dtype)))
            found.append(let(code, Load("int32", self._codes, const(at))))
            codes, kind = _expected(arg)
            holds = any_of(*(equal(code, const(int(one))) for one in codes))
            found.append(
                asserted(holds, f"{self._name}: Expect arg[{at}] to be {kind}")
            )
        return found

    def bind(self, device_type: int) -> None:
        """Find the old parameters in the new ones."""
        buffers = self._func.buffer_map
        given = list(zip(self._func.params, self._args, strict=True))
        for param, arg in given:
            if param not in buffers:
                self._binder.bind(param, arg, arg.name)
        for param, arg in given:
            if param in buffers:
                self._binder.bind_tensor(
                    *(buffers[param], device_type, self._device_id, arg, arg.name)
                )

    def body(self, device_type: int) -> Stmt:
        """Return the new body."""
        returning = _Returning(self._result, self._result_code)
        label = StringImm(f"{self._name}_compute_")
        inner = attribute(const(0), "compute_scope", label)(
            returning.visit_stmt(self._func.body)
        )
        device, default = list[Wrap](), StringImm("default")
        if self._device_id in self._binder.bound:
            device.append(attribute(default, "device_id", self._device_id))
            device.append(attribute(default, "device_type", device_type))
        binder = self._binder
        return nested([*self._inits, *binder.inits, *device, *binder.asserts], inner)


def _passed_as(arg: Var) -> str:
    """Return the dtype of which a value is in a packed call."""
    kind = data_type(arg.dtype)
    if kind.code == "handle":
        return "handle"
    return "float64" if kind.is_floating else "int64"


def _expected(arg: Var) -> tuple[tuple[ArgTypeCode, ...], str]:
    """Return which codes an argument may have, and what that is."""
    passed = _passed_as(arg)
    if passed == "handle":
        return POINTERS, "pointer"
    if passed == "float64":
        return (ArgTypeCode.FLOAT,), "float"
    return (ArgTypeCode.INT,), "int"


class _Returning(StmtMutator):
    """Stores what is returned."""

    def __init__(self, value: Var, code: Var) -> None:
        super().__init__()
        self._value, self._code = value, code
        self._parallel = 0

    def visit_for_(self, op: For) -> Any:
        self._parallel += op.kind == ForKind.PARALLEL
        new = yield from self.visit_children(op)
        self._parallel -= op.kind == ForKind.PARALLEL
        return new

    def visit_evaluate_(self, op: Evaluate) -> Node:
        call = op.value
        if not (isinstance(call, Call) and call.op is Op.get("tir.ret")):
            return op
        if self._parallel:
            raise IRError(
                "tir.ret cannot be used in parallel scope: expected it outside of "
                "parallel loops"
            )
        value, code = _returned(call.args[0])
        stored = Store(self._value, value, const(0))
        of_code = Store(self._code, const(int(code)), const(0))
        return SeqStmt((stored, of_code, Evaluate(ret(const(0)))))


def _returned(value: PrimExpr) -> tuple[PrimExpr, ArgTypeCode]:
    """Return a value as it is passed, and its code.

    Raises:
        IRError: It is none that can be.
    """
    kind = data_type(value.dtype)
    if kind.lanes == 1 and kind.is_integral:
        return cast_to(value, "int64"), ArgTypeCode.INT
    if kind.lanes == 1 and kind.code == "float":
        return cast_to(value, "float64"), ArgTypeCode.FLOAT
    raise IRError(
        f"data type {value.dtype} not supported yet: expected an int or a float to be "
        "returned"
    )


@register_pass("tir.transform.MakeUnpackedAPI")
class MakeUnpackedAPI(PrimFuncPass):
    """Take pointers for buffers, and give an int32, as functions of C do.

    ::

        # attrs: global_symbol "main", target "llvm"
        def main(a: handle, n: int32):  # a is buffer A
            A[0] = n

    becomes::

        def main(arg0: handle, arg1: int32) -> int32:
            attr device_id("default") = 0
            attr device_type("default") = 1
            let n = arg1
            let A = arg0
            A[0] = n

    The attribute `target` is text such as `llvm -mcpu=skylake`; it has to be one of the
    processor. Sizes that buffers declare are to be parameters, too, where they are
    used. A function that says already how it is called stays as it is.
    """

    pass_info = PassInfo(0, "tir.MakeUnpackedAPI")

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function with other parameters."""
        if not has_default_convention(func):
            return func
        _, device_type = symbol_and_device(func, "MakeUnpackedAPI")
        binder, buffers = ArgBinder(), func.buffer_map
        args = [Var(f"arg{at}", one.dtype) for at, one in enumerate(func.params)]
        given = list(zip(func.params, args, strict=True))
        for param, arg in given:
            if param not in buffers:
                binder.bind(param, arg, arg.name)
        for param, arg in given:
            if param in buffers:
                binder.bind(buffers[param].data, arg, arg.name)
        default, setup = StringImm("default"), list[Wrap]()
        if buffers:
            setup.append(attribute(default, "device_id", 0))
            setup.append(attribute(default, "device_type", device_type))
        made = structs.replace(
            func,
            params=tuple(args),
            body=nested([*setup, *binder.inits, *binder.asserts], func.body),
            ret_type=PrimType("int32"),
            buffer_map={},
        )
        check_all_bound(made)
        return made
