"""Lowering rule of `topk`: a heap has the best elements of a row up to some place.

An entry of the heap is one int of 64 bits. Its upper half is the element's key, an int
in whose order elements are. Its lower half is greater for those that come first, which
win of equal ones. The root is the least entry: whatever is not better than that is only
looked at, which is what happens to most elements of a long row.
"""

from __future__ import annotations

from parpass.relay.backend.lowering.elementwise_loops import elementwise_nest
from parpass.relay.backend.lowering.loops import allocated, nest, scratch
from parpass.relay.backend.lowering.rule_registry import (
    Indices,
    NoRuleError,
    OpCall,
    Store,
    register_template,
)
from parpass.relay.op.algorithm import TopKAttrs
from parpass.relay.op.declaration.type_relations import normal_axis
from parpass.tir import op
from parpass.tir.data_type import data_type
from parpass.tir.expr import BufferLoad, PrimExpr, Select, Var
from parpass.tir.stmt import BufferStore, IfThenElse, LetStmt, Stmt, While, stmt_seq

_KEY, _ENTRY = "int32", "int64"
_KEY_BITS = 32
_ALL_BUT_SIGN = 2**31 - 1


@register_template("topk")
def _topk(call: OpCall[TopKAttrs], store: Store) -> Stmt:
    (data,), attrs = call.sources, call.attrs
    axis = normal_axis(attrs.axis, len(data.shape))
    length, count = data.shape[axis], call.out.shape[axis]
    if 0 in data.shape:
        raise NoRuleError("the best of no elements")
    if data_type(data.dtype).bits > _KEY_BITS:
        raise NoRuleError(f"the best elements of {data.dtype}")
    keys, heap = scratch((length,), _KEY, "keys"), _Heap(count)

    def of_row(row: Indices) -> Stmt:
        def at(k: PrimExpr) -> list[PrimExpr]:
            return [*row[:axis], k, *row[axis + 1 :]]

        def write_key(k: Indices) -> Stmt:
            key = _key(data.at(at(k[0])))
            key = op.bitwise_not(key) if attrs.is_ascend else key
            return BufferStore(keys, key, k)

        def insert(k: PrimExpr) -> Stmt:
            upper = op.left_shift(op.cast_to(BufferLoad(keys, [k]), _ENTRY), _KEY_BITS)
            lower = _from_the_end(op.cast_to(k, _ENTRY))
            return heap.replace_least(op.bitwise_or(upper, lower))

        def insert_if_better(k: Indices) -> Stmt:
            place = op.add(k[0], count)
            least = op.cast_to(op.right_shift(heap.least, _KEY_BITS), _KEY)
            return IfThenElse(BufferLoad(keys, [place]) > least, insert(place))

        def write_worst(k: Indices) -> Stmt:
            place = _from_the_end(op.cast_to(heap.least, _KEY))
            name = Var("place", place.dtype)
            results = {
                "values": data.at(at(name)),
                "indices": op.cast_to(name, attrs.dtype),
            }
            both = attrs.ret_type == "both"
            wanted = results.values() if both else [results[attrs.ret_type]]
            stored = store(at(op.subtract(count - 1, k[0])), *wanted)
            return stmt_seq(LetStmt(name, place, stored), heap.drop_least())

        return stmt_seq(
            elementwise_nest((length,), write_key, call.target),
            heap.clear(),
            nest((count,), lambda k: insert(k[0]), "k"),
            nest((length - count,), insert_if_better, "k"),
            nest((count,), write_worst, "k"),
        )

    rows = [1 if at == axis else dim for at, dim in enumerate(data.shape)]
    return allocated(keys, heap.within(nest(rows, of_row)))


def _key(value: PrimExpr) -> PrimExpr:
    """Return an int that is greater for greater values, and greatest for NaN."""
    if value.dtype == "uint32":
        signed = op.reinterpret(_KEY, value)
        return op.bitwise_xor(signed, op.min_value(_KEY))
    if not data_type(value.dtype).is_floating:
        return op.cast_to(value, _KEY)
    bits, zero = op.reinterpret(_KEY, value), op.const(0, _KEY)
    key = Select(bits < zero, op.bitwise_xor(bits, _ALL_BUT_SIGN), bits)
    key = Select(value.equal(op.const(0, value.dtype)), zero, key)  # so is -0.0
    return Select(op.isnan(value), op.max_value(_KEY), key)


def _from_the_end(place: PrimExpr) -> PrimExpr:
    """Return a place as counted from the last one that there could be, or back."""
    return op.subtract(_ALL_BUT_SIGN, place)


class _Heap:
    """A binary heap of entries, the least of which is the root.

    Behind the entries there are as many of the greatest number, and one more: no entry
    moves there, and each has two children.

    Args:
        count: How many entries there are.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._entries = scratch((2 * count + 1,), _ENTRY, "heap")
        self._child = scratch((1,), _ENTRY, "child")  # the lesser one of a place
        self._places = scratch((2,), "int32", "places")  # of an entry, of this child

    @property
    def least(self) -> PrimExpr:
        """The least entry."""
        return self._entry(0)

    def clear(self) -> Stmt:
        """Return what makes all entries the least number."""
        return self._filled(0, self._count, op.min_value(_ENTRY))

    def drop_least(self) -> Stmt:
        """Return what replaces the least entry by the greatest number."""
        return self.replace_least(op.max_value(_ENTRY))

    def replace_least(self, value: PrimExpr) -> Stmt:
        """Return what replaces the least entry: children that are less move up."""
        new = Var("entry", _ENTRY)
        place, child = (BufferLoad(self._places, [at]) for at in (0, 1))
        lesser = BufferLoad(self._child, [0])
        step = stmt_seq(
            BufferStore(self._entries, lesser, [place]),
            BufferStore(self._places, child, [0]),
            self._find_child(place),
        )
        stmt = stmt_seq(
            BufferStore(self._places, op.const(0, "int32"), [0]),
            self._find_child(op.const(0, "int32")),
            While(lesser < new, step),
            BufferStore(self._entries, new, [place]),
        )
        return LetStmt(new, value, stmt)

    def within(self, body: Stmt) -> Stmt:
        """Return a statement that has this heap."""
        behind = self._filled(self._count, self._count + 1, op.max_value(_ENTRY))
        body = stmt_seq(behind, body)
        for one in (self._places, self._child, self._entries):
            body = allocated(one, body)
        return body

    def _find_child(self, place: PrimExpr) -> Stmt:
        left = op.add(op.multiply(place, 2), 1)
        right = op.add(left, 1)
        is_right = self._entry(right) < self._entry(left)
        child = BufferLoad(self._places, [1])
        return stmt_seq(
            BufferStore(self._places, Select(is_right, right, left), [1]),
            BufferStore(self._child, self._entry(child), [0]),
        )

    def _filled(self, begin: int, count: int, value: PrimExpr) -> Stmt:
        return nest(
            (count,),
            lambda k: BufferStore(self._entries, value, [op.add(k[0], begin)]),
            "k",
        )

    def _entry(self, place: PrimExpr | int) -> PrimExpr:
        return BufferLoad(self._entries, [place])
