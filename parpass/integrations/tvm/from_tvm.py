"""`from_tvm`: TVM's PrimFuncs as those of parpass."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any

import tvm
import tvm_ffi
from tvm import s_tir, tirx

from parpass import IRModule, tir
from parpass.errors import ArgumentError
from parpass.integrations.tvm.exchange import (
    CALLS_BY_NODE,
    PRIM_CALLS,
    TIRX_CALLS,
    Conversion,
    Steps,
    callee_name,
    walked,
)


def from_tvm(mod: Any) -> IRModule:
    """Convert TVM's PrimFuncs to a module of parpass.

    TVM's own passes lower blocks first. Spans are dropped.

    Args:
        mod: An IRModule of PrimFuncs, or a PrimFunc. It is not changed.

    Raises:
        ArgumentError: A function uses something that parpass lacks; the message names
            both.
    """
    if isinstance(mod, tirx.PrimFunc):
        mod = tvm.IRModule.from_expr(mod)
    if not isinstance(mod, tvm.IRModule):
        raise ArgumentError(
            f"expected an IRModule or a PrimFunc of TVM, got {type(mod).__name__}"
        )
    for name, function in mod.functions.items():
        if not isinstance(function, tirx.PrimFunc):
            raise ArgumentError(
                f"expected PrimFuncs, got a {type(function).__module__}."
                f"{type(function).__name__}, '{name.name_hint}': take the PrimFuncs "
                "alone"
            )
    found = {
        str(name.name_hint): _Reader(str(name.name_hint)).function(function)
        for name, function in _without_blocks(mod).functions.items()
    }
    return IRModule(found)


def _without_blocks(mod: Any) -> Any:
    passes = s_tir.transform
    return tvm.transform.Sequential(
        [
            passes.CanonicalizeLoop(),
            passes.LowerInitBlock(),
            passes.PlanAndUpdateBufferAllocationLocation(),
            passes.ConvertBlocksToOpaque(),
            passes.CompactBufferAllocation(),
            passes.LowerMatchBuffer(),
            passes.LowerOpaqueBlock(),
        ]
    )(mod)


class _Reader(Conversion):
    expected = "what parpass has of TVM's loop programs"
    nodes = tir

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._variables: dict[Any, Any] = {}
        self._buffers: dict[Any, Any] = {}

    def function(self, func: Any) -> tir.PrimFunc:
        params: list[Any] = []
        buffers: dict[Any, Any] = {}
        for param in func.params:
            if isinstance(param.ty, tirx.BufferType):
                params.append(tir.Var(str(param.name), "handle"))
                buffers[params[-1]] = self._declare(param)
            elif isinstance(param.ty, tvm.ir.PrimType):
                params.append(self._variable(param))
            else:
                raise self._has_no(f"a parameter of type {param.ty}")
        body = walked(self._sequence(func.body))
        return tir.PrimFunc(
            params, body, buffer_map=buffers, attrs=self._attributes(func)
        )

    def _attributes(self, func: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in func.attrs.items() if func.attrs else ():
            if key != "s_tir":
                name = str(key).replace("tirx.", "tir.")
                found[name] = self._plain(value, f"attribute '{key}'")
        return found

    def _plain(self, value: Any, what: str) -> Any:
        if isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, str):
            return str(value)
        if isinstance(value, (tirx.IntImm, tirx.FloatImm)):
            return value.value
        if isinstance(value, (tuple, tvm_ffi.Array)):
            return [self._plain(one, what) for one in value]
        raise self._has_no(f"{what} of type {type(value).__name__}")

    # Variables and buffers

    def _variable(self, var: Any) -> Any:
        """Return the variable for one of TVM, whose binding this may be."""
        key = self._key(var)
        if key not in self._variables:
            self._variables[key] = tir.Var(str(var.name), str(var.ty.dtype))
        return self._variables[key]

    def _declare(self, var: Any, data: Any = None) -> Any:
        """Return a new buffer for one of TVM, in its own memory or a pointer's."""
        ty = var.ty
        if ty.layout is not None and not tvm.ir.structural_equal(
            ty.layout, tirx.decl_buffer([*ty.shape], str(ty.dtype)).ty.layout
        ):
            raise self._has_no(f"buffer '{var.name}' with a layout")
        shape, strides, (offset,) = (
            [self._dimension(one) for one in part]
            for part in (ty.shape, ty.strides, [ty.elem_offset])
        )
        made = tir.decl_buffer(
            shape,
            str(ty.dtype),
            str(var.name),
            data,
            strides,
            offset,
            str(ty.storage_scope) if str(ty.storage_scope) != "global" else "",
            int(ty.data_alignment),
            int(ty.offset_factor),
        )
        self._buffers[self._key(var)] = made
        return made

    def _dimension(self, expr: Any) -> Any:
        if isinstance(expr, tirx.Var):
            return self._variable(expr)
        return expr if isinstance(expr, int) else walked(self._expr(expr))

    def _buffer(self, source: Any) -> Any:
        made = self._buffers.get(self._key(source))
        if made is None:
            raise self._has_no(f"an access to '{source}', which no statement declares")
        return made

    # Statements

    def _sequence(self, stmt: Any) -> Steps:
        """Convert statements; what one declares holds to the end of the sequence."""
        stack, found = [stmt], list[Any]()
        while stack:
            one = stack.pop()
            if isinstance(one, tirx.SeqStmt):
                stack += reversed(one.seq)
            else:
                made = self._converted(one, type(one).__name__)
                found.append((yield made) if isinstance(made, Generator) else made)
        rest: list[Any] = []
        for one in reversed(found):
            if isinstance(one, tir.Stmt):
                rest.insert(0, one)
            elif one is not None:
                rest = [one(_in_sequence(rest))]
        return _in_sequence(rest)

    def _For(self, loop: Any) -> Steps:
        if loop.thread_binding is not None:
            raise self._has_no("a loop over threads")
        if loop.step is not None and int(loop.step) != 1:
            raise self._has_no("a loop with a step")
        variable = self._variable(loop.loop_var)
        least, extent = (yield self._expr(loop.min)), (yield self._expr(loop.extent))
        body = yield self._sequence(loop.body)
        annotations = {
            str(key): self._plain(value, f"annotation '{key}'")
            for key, value in loop.annotations.items()
        }
        return tir.For(
            variable, least, extent, int(loop.kind), body, annotations=annotations
        )

    def _While(self, loop: Any) -> Steps:
        condition = yield self._expr(loop.condition)
        return tir.While(condition, (yield self._sequence(loop.body)))

    def _IfThenElse(self, branch: Any) -> Steps:
        condition = yield self._expr(branch.condition)
        then, other = (yield self._sequence(branch.then_case)), None
        if branch.else_case is not None:
            other = yield self._sequence(branch.else_case)
        return tir.IfThenElse(condition, then, other)

    def _Evaluate(self, stmt: Any) -> Steps:
        return tir.Evaluate((yield self._expr(stmt.value)))

    def _Bind(self, stmt: Any) -> Steps:
        if not isinstance(stmt.var.ty, tvm.ir.PrimType):
            raise self._has_no(f"a Bind of type {stmt.var.ty}")
        value = yield self._expr(stmt.value)
        variable = self._variable(stmt.var)
        return partial(tir.LetStmt, variable, value)

    def _AllocBuffer(self, stmt: Any) -> Any:
        buffer = self._declare(stmt.buffer)
        data, shape = buffer.data, buffer.shape
        if buffer.strides:
            raise self._has_no(f"memory with strides, '{buffer.name}'")
        stored = data.type_annotation.element_type.dtype
        return partial(tir.Allocate, data, stored, shape, tir.const_true())

    def _DeclBuffer(self, stmt: Any) -> None:
        data = stmt.data
        is_call = isinstance(data, tvm.ir.Call)
        if not is_call or getattr(data.op, "name", "") != "tirx.buffer_data":
            raise self._has_no("a DeclBuffer of a pointer")
        self._declare(stmt.buffer, self._buffer(data.args[0]).data)

    def _BufferStore(self, stmt: Any) -> Steps:
        buffer, value = self._buffer(stmt.buffer), (yield self._expr(stmt.value))
        indices = yield self._all(stmt.indices)
        if "x" in value.dtype:
            return tir.Store(buffer.data, value, self._vector(buffer, indices))
        return tir.BufferStore(buffer, value, indices)

    def _vector(self, buffer: Any, indices: list[Any]) -> Any:
        if len(indices) > 1 or buffer.strides:
            raise self._has_no("a vector of a buffer of several dimensions")
        return indices[0]

    # Expressions

    def _key(self, expr: Any) -> Any:
        """Return the address of TVM's object, which the function keeps alive."""
        return expr.__chandle__()

    def _new_expr(self, expr: Any) -> Steps:
        kind = type(expr).__name__
        if kind not in CALLS_BY_NODE:
            return (yield super()._new_expr(expr))
        parts = [expr.a] if kind == "BitwiseNot" else [expr.a, expr.b]
        return tir.Call(_dtype(expr), CALLS_BY_NODE[kind], (yield self._all(parts)))

    def _Var(self, var: Any) -> Any:
        if self._key(var) not in self._variables:
            raise self._has_no(f"variable '{var.name}', which nothing binds")
        return self._variables[self._key(var)]

    def _IntImm(self, constant: Any) -> Any:
        return tir.IntImm(_dtype(constant), int(constant.value))

    def _FloatImm(self, constant: Any) -> Any:
        return tir.FloatImm(_dtype(constant), constant.value)

    def _StringImm(self, text: Any) -> Any:
        return tir.StringImm(str(text.value))

    def _TensorLoad(self, load: Any) -> Steps:
        buffer, indices = self._buffer(load.source), (yield self._all(load.indices))
        if "x" in _dtype(load):
            return tir.Load(_dtype(load), buffer.data, self._vector(buffer, indices))
        return tir.BufferLoad(buffer, indices)

    def _Cast(self, cast: Any) -> Steps:
        return tir.Cast(_dtype(cast), (yield self._expr(cast.value)))

    def _Let(self, let: Any) -> Steps:
        value, variable = (yield self._expr(let.value)), self._variable(let.var)
        return tir.Let(variable, value, (yield self._expr(let.body)))

    def _Ramp(self, ramp: Any) -> Steps:
        base, stride = yield self._all([ramp.base, ramp.stride])
        return tir.Ramp(base, stride, int(ramp.lanes))

    def _Broadcast(self, vector: Any) -> Steps:
        return tir.Broadcast((yield self._expr(vector.value)), int(vector.lanes))

    def _Shuffle(self, shuffle: Any) -> Steps:
        vectors = yield self._all(shuffle.vectors)
        return tir.Shuffle(vectors, (yield self._all(shuffle.indices)))

    def _Call(self, call: Any) -> Steps:
        name = callee_name(call)
        namespace, _, own = name.partition(".")
        if own not in {"prim": PRIM_CALLS, "tirx": TIRX_CALLS}.get(namespace, ()):
            raise self._has_no(f"a call of '{name}'")
        return tir.Call(_dtype(call), own, (yield self._all(call.args)))


def _dtype(expr: Any) -> str:
    return str(expr.ty.dtype)


def _in_sequence(stmts: list[Any]) -> Any:
    return tir.stmt_seq(*stmts) if stmts else tir.Evaluate(0)
