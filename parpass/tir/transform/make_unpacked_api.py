"""MakeUnpackedAPI: functions that C calls, with a pointer for each buffer."""

from __future__ import annotations

from msgspec import structs

from parpass.ir.module import IRModule
from parpass.ir.types.prim_ty import PrimType
from parpass.tir.expr import Var
from parpass.tir.function import PrimFunc
from parpass.tir.prim_expr import StringImm
from parpass.tir.transform.calling.arg_binder import ArgBinder, Wrap, attribute, nested
from parpass.tir.transform.calling.entry_point import (
    check_all_bound,
    has_default_convention,
    symbol_and_device,
)
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.transform import PassContext, PassInfo, register_pass


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
