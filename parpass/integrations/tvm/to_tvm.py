"""`to_tvm`: parpass's PrimFuncs as those of TVM."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import tvm
from tvm import tirx

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

_NODES_BY_CALL = {call: node for node, call in CALLS_BY_NODE.items()}
_DEFAULT_ALIGNMENT = 128  # parpass's; TVM has another, which its arrays have


def to_tvm(mod: IRModule | tir.PrimFunc) -> Any:
    """Convert parpass's PrimFuncs to an IRModule of TVM.

    Spans are dropped.

    Args:
        mod: A module of PrimFuncs, or a PrimFunc, which becomes `main`.

    Raises:
        ArgumentError: A function is not a PrimFunc, or uses something that TVM lacks;
            the message names both.
    """
    functions = {"main": mod} if isinstance(mod, tir.PrimFunc) else mod.functions
    found: dict[str, Any] = {}
    for key, function in functions.items():
        name = str(getattr(key, "name_hint", key))
        if not isinstance(function, tir.PrimFunc):
            raise ArgumentError(
                f"expected PrimFuncs, got a {type(function).__name__}, '{name}': a "
                "network becomes PrimFuncs by lowering"
            )
        found[name] = _Writer(name).function(function)
    return tvm.IRModule(found)


class _Writer(Conversion):
    expected = "what TVM has of parpass's loop programs"
    nodes = tirx

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._variables: dict[Any, Any] = {}
        self._buffers: dict[Any, Any] = {}
        self._flat: dict[Any, Any] = {}  # by pointers: buffers of one dimension
        self._uses = _Uses()

    def function(self, func: tir.PrimFunc) -> Any:
        tir.stmt_functor.post_order_visit(func.body, self._uses.note)
        params: list[Any] = []
        views: list[Any] = []
        for param in func.params:
            buffer = func.buffer_map.get(param)
            if buffer is not None:
                params.append(self._declare(buffer))
            elif param.dtype == "handle":
                raise self._has_no(f"handle '{param.name}' without a buffer")
            else:
                params.append(self._bound(param))
        for buffer in func.buffer_map.values():
            views += self._views(buffer.data, buffer)
        body = walked(self._stmt(func.body))
        attrs = {key.replace("tir.", "tirx."): v for key, v in func.attributes.items()}
        return tirx.PrimFunc(
            params,
            _in_sequence([*views, *body]),
            attrs=tvm.ir.make_node("ir.DictAttrs", **attrs, s_tir=True),
        )

    # Variables and buffers

    def _bound(self, var: Any) -> Any:
        """Return the variable that is bound where `var` is; a new one at each place."""
        if var in self._variables:
            self._exprs.clear()  # what was made of the one that was bound before
        self._variables[var] = tirx.Var(var.name, var.dtype)
        return self._variables[var]

    def _declare(self, buffer: Any) -> Any:
        """Return the buffer that is declared where one of parpass is."""
        if buffer.buffer_type:
            raise self._has_no(f"buffer '{buffer.name}' of type {buffer.buffer_type}")
        for var in buffer.declared:
            if var is not buffer.data and var not in self._variables:
                self._bound(var)
        align = buffer.data_alignment
        made = tirx.decl_buffer(
            self._dimensions(buffer.shape),
            buffer.dtype,
            buffer.name,
            strides=self._dimensions(buffer.strides),
            elem_offset=walked(self._expr(buffer.elem_offset)),
            scope=buffer.scope(),
            data_alignment=-1 if align == _DEFAULT_ALIGNMENT else align,
            offset_factor=buffer.offset_factor,
            layout=None,
        )
        if buffer in self._buffers:
            self._exprs.clear()
        self._buffers[buffer] = made
        return made

    def _dimensions(self, exprs: Sequence[Any]) -> list[Any]:
        return [walked(self._expr(one)) for one in exprs]

    def _views(self, data: Any, owner: Any) -> list[Any]:
        """Declare what else a function uses of the memory that a buffer has.

        Args:
            data: The pointer to it.
            owner: The buffer of parpass that it belongs to, which is declared.
        """
        memory = self._buffers[owner]
        pointer = memory.data
        made = [
            tirx.DeclBuffer(self._declare(one), data=pointer)
            for one in self._uses.buffers[data]
            if one is not owner
        ]
        if data in self._uses.pointers:
            self._flat[data] = memory
            if len(owner.shape) != 1 or owner.strides:
                if owner.strides:
                    raise self._has_no(f"a pointer into '{owner.name}', with strides")
                size: Any = 1
                for length in memory.ty.shape:
                    size = length * size
                self._flat[data] = tirx.decl_buffer(
                    (size,), owner.dtype, owner.name, layout=None
                )
                made.append(tirx.DeclBuffer(self._flat[data], data=pointer))
        return made

    # Statements

    def _stmt(self, stmt: Any) -> Steps:
        return self._converted(stmt, type(stmt).__name__)

    def _SeqStmt(self, stmt: Any) -> Steps:
        made: list[Any] = []
        for one in stmt.seq:
            made += yield self._stmt(one)
        return made

    def _For(self, loop: Any) -> Steps:
        if loop.thread_binding is not None:
            raise self._has_no("a loop over threads")
        least, extent = (yield self._expr(loop.min)), (yield self._expr(loop.extent))
        variable, kind = self._bound(loop.loop_var), tirx.ForKind(loop.kind)
        body = _in_sequence((yield self._stmt(loop.body)))
        notes = dict(loop.annotations or {})
        return [tirx.For(variable, least, extent, kind, body, annotations=notes)]

    def _While(self, loop: Any) -> Steps:
        condition = yield self._expr(loop.condition)
        return [tirx.While(condition, _in_sequence((yield self._stmt(loop.body))))]

    def _IfThenElse(self, branch: Any) -> Steps:
        condition = yield self._expr(branch.condition)
        then, other = _in_sequence((yield self._stmt(branch.then_case))), None
        if branch.else_case is not None:
            other = _in_sequence((yield self._stmt(branch.else_case)))
        return [tirx.IfThenElse(condition, then, other)]

    def _Evaluate(self, stmt: Any) -> Steps:
        return [tirx.Evaluate((yield self._expr(stmt.value)))]

    def _LetStmt(self, stmt: Any) -> Steps:
        if stmt.var.dtype == "handle":
            raise self._has_no(f"pointer '{stmt.var.name}'")
        value = yield self._expr(stmt.value)
        if _is_lane(stmt.value):
            made = self._kept(stmt.var, value)
        else:
            made = [tirx.Bind(self._bound(stmt.var), value)]
        return [*made, *(yield self._stmt(stmt.body))]

    def _kept(self, var: Any, value: Any) -> list[Any]:
        """Put the value of a variable in memory.

        TVM may put what a variable is bound to where it is used, and refuses a Shuffle
        of several lanes in a loop of vectors.
        """
        memory = tirx.decl_buffer([1], var.dtype, var.name, layout=None)
        first = [tirx.const(0, "int32")]
        self._bound(var)
        self._variables[var] = tirx.BufferLoad(memory, first)
        return [tirx.AllocBuffer(memory), tirx.BufferStore(memory, value, first)]

    def _BufferRealize(self, stmt: Any) -> Steps:
        self._check_always(stmt.condition, "a BufferRealize")
        buffer = stmt.buffer
        for bound, length in zip(stmt.bounds, buffer.shape, strict=True):
            if not (_same(bound.min, tir.const(0)) and _same(bound.extent, length)):
                raise self._has_no(f"a part of buffer '{buffer.name}' that is realized")
        made = [tirx.AllocBuffer(self._declare(buffer))]
        made += self._views(buffer.data, buffer)
        return [*made, *(yield self._stmt(stmt.body))]

    def _Allocate(self, stmt: Any) -> Steps:
        self._check_always(stmt.condition, "an Allocate")
        data = stmt.buffer_var
        owner = next(
            (one for one in self._uses.buffers[data] if _covers(one, stmt)),
            None,
        ) or tir.decl_buffer(stmt.extents, stmt.dtype, data.name)
        made = [tirx.AllocBuffer(self._declare(owner))]
        made += self._views(data, owner)
        return [*made, *(yield self._stmt(stmt.body))]

    def _check_always(self, condition: Any, what: str) -> None:
        if not _is_true(condition):
            raise self._has_no(f"{what} with a condition")

    def _BufferStore(self, stmt: Any) -> Steps:
        value, indices = (yield self._expr(stmt.value)), (yield self._all(stmt.indices))
        return [tirx.BufferStore(self._buffer(stmt.buffer), value, indices)]

    def _Store(self, stmt: Any) -> Steps:
        value, index = (yield self._expr(stmt.value)), (yield self._expr(stmt.index))
        store = tirx.BufferStore(self._memory(stmt.buffer_var), value, [index])
        if _is_true(stmt.predicate):
            return [store]
        condition = yield self._expr(self._scalar(stmt.predicate))
        return [tirx.IfThenElse(condition, store, None)]

    def _buffer(self, buffer: Any) -> Any:
        if buffer not in self._buffers:
            raise self._has_no(f"buffer '{buffer.name}', which nothing declares")
        return self._buffers[buffer]

    def _memory(self, pointer: Any) -> Any:
        if pointer not in self._flat:
            raise self._has_no(f"pointer '{pointer.name}', which nothing declares")
        return self._flat[pointer]

    def _scalar(self, predicate: Any) -> Any:
        if "x" in predicate.dtype:
            raise self._has_no("a condition for each lane of a Load or Store")
        return predicate

    # Expressions

    def _Var(self, var: Any) -> Any:
        if var not in self._variables:
            raise self._has_no(f"variable '{var.name}', which nothing binds")
        return self._variables[var]

    _SizeVar = _Var

    def _IntImm(self, constant: Any) -> Any:
        return tirx.IntImm(constant.dtype, constant.value)

    def _FloatImm(self, constant: Any) -> Any:
        return tirx.FloatImm(constant.dtype, constant.value)

    def _StringImm(self, text: Any) -> Any:
        return tvm.ir.StringImm(text.value)

    def _BufferLoad(self, load: Any) -> Steps:
        indices = yield self._all(load.indices)
        return tirx.BufferLoad(self._buffer(load.buffer), indices)

    def _Load(self, load: Any) -> Steps:
        index = yield self._expr(load.index)
        made = tirx.BufferLoad(self._memory(load.buffer_var), [index])
        if _is_true(load.predicate):
            return made
        condition = yield self._expr(self._scalar(load.predicate))
        return tirx.if_then_else(condition, made, tirx.const(0, load.dtype))

    def _Cast(self, cast: Any) -> Steps:
        return tirx.Cast(cast.dtype, (yield self._expr(cast.value)))

    def _Let(self, let: Any) -> Steps:
        value = yield self._expr(let.value)
        return tirx.Let(self._bound(let.var), value, (yield self._expr(let.body)))

    def _Ramp(self, ramp: Any) -> Steps:
        base, stride = yield self._all([ramp.base, ramp.stride])
        return tirx.Ramp(base, stride, ramp.lanes)

    def _Broadcast(self, vector: Any) -> Steps:
        return tirx.Broadcast((yield self._expr(vector.value)), vector.lanes)

    def _Shuffle(self, shuffle: Any) -> Steps:
        vectors = yield self._all(shuffle.vectors)
        return tirx.Shuffle(vectors, (yield self._all(shuffle.indices)))

    def _Call(self, call: Any) -> Steps:
        name = callee_name(call)
        own = name.removeprefix("tir.")
        if own == "dot_pairs":
            return (yield self._expr(_products_of_pairs(*call.args)))
        if own in _NODES_BY_CALL:
            make = getattr(tirx, _NODES_BY_CALL[own])
            return make(*(yield self._all(call.args)))
        if own not in PRIM_CALLS | TIRX_CALLS:
            raise self._has_no(f"a call of '{name}'")
        namespace = "prim" if own in PRIM_CALLS else "tirx"
        args = yield self._all(call.args)
        return tirx.call_intrin(call.dtype, f"{namespace}.{own}", *args)


class _Uses:
    """The memory that a function uses: buffers by pointers, and bare pointers."""

    def __init__(self) -> None:
        self.buffers: dict[Any, list[Any]] = defaultdict(list)
        self.pointers: set[Any] = set()

    def note(self, node: Any) -> None:
        if isinstance(node, tir.Load | tir.Store):
            self.pointers.add(node.buffer_var)
        elif isinstance(node, tir.BufferLoad | tir.BufferStore):
            known = self.buffers[node.buffer.data]
            if not any(one is node.buffer for one in known):
                known.append(node.buffer)


def _is_lane(value: Any) -> bool:
    """Return whether a scalar is made of lanes of vectors."""
    found: list[bool] = []
    tir.stmt_functor.post_order_visit(
        value, lambda node: found.append(isinstance(node, tir.Shuffle))
    )
    return "x" not in value.dtype and any(found)


def _products_of_pairs(a: Any, b: Any) -> Any:
    """Return what a call of `dot_pairs` is, for which TVM has no operator."""
    lanes = int(a.dtype.partition("x")[2])
    products: list[Any] = []
    for first in (0, 1):
        places = [tir.const(at, "int32") for at in range(first, lanes, 2)]
        halves = [tir.Shuffle([one], places) for one in (a, b)]
        x, y = (tir.Cast(f"int32x{len(places)}", one) for one in halves)
        products.append(x * y)
    return products[0] + products[1]


def _is_true(condition: Any) -> bool:
    if isinstance(condition, tir.Broadcast):
        condition = condition.value
    return isinstance(condition, tir.IntImm) and bool(condition.value)


def _same(one: Any, other: Any) -> bool:
    """Return whether two lengths are one object, or one number."""
    if isinstance(one, tir.IntImm) and isinstance(other, tir.IntImm):
        return one.value == other.value
    return one is other


def _covers(buffer: Any, allocate: Any) -> bool:
    """Return whether a buffer is all of the memory that is allocated, in its shape."""
    stored = buffer.data.type_annotation.element_type.dtype
    return (
        stored == allocate.dtype
        and not buffer.strides
        and len(buffer.shape) == len(allocate.extents)
        and all(map(_same, buffer.shape, allocate.extents))
    )


def _in_sequence(stmts: Sequence[Any]) -> Any:
    return stmts[0] if len(stmts) == 1 else tirx.SeqStmt([*stmts])
