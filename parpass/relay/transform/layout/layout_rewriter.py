"""Rewrites calls to other layouts, and everything between them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from parpass.errors import IRTypeError
from parpass.ir.op.op_registration import op_attrs
from parpass.ir.op.op_table import Op, TypeRelationError
from parpass.ir.types import TensorType
from parpass.relay.expr import Call, Constant, Expr, Tuple, TupleGetItem
from parpass.relay.functor import ExprMutator
from parpass.relay.op import expand_dims, layout_transform
from parpass.relay.op.declaration.layout import Layout, transformed_shape
from parpass.relay.op.hooks import INFER_CORRECT_LAYOUT
from parpass.relay.span_filler import with_span
from parpass.relay.transform.layout.layout_rules import (
    InferredLayouts,
    LayoutChange,
    infer_layouts,
)
from parpass.transform import PassContext

Alter = Callable[[Call, tuple[Expr, ...]], Expr | None]
"""Returns a call in other layouts for a call with types and its new arguments."""


class _ConvertedValue(NamedTuple):
    """A value in another layout, and what changed."""

    value: Expr
    change: LayoutChange


_Laids = tuple[_ConvertedValue | None, ...]


class LayoutRewriter(ExprMutator):
    """Alters calls, and keeps what follows in the new layout as far as it goes.

    A value that was changed is known in its new layout to the operators that can go on
    with it (`layout_rules.py`); all others see it transformed back. So transforms that
    would cancel each other are never made, as in TVM's `transform_layout.h`. Linear.

    Args:
        alter: Returns the call in other layouts, or None to leave it.

    Attributes:
        altered: How many calls were altered.
    """

    def __init__(self, alter: Alter) -> None:
        super().__init__()
        self.altered = 0
        self._alter = alter
        self._rules = op_attrs(INFER_CORRECT_LAYOUT)
        self._laid: dict[Expr, _Laids] = {}
        self._cache: dict[tuple[Expr, str, str], Expr] = {}

    def visit_call(self, call: Call) -> Expr:
        """Return the call in the layouts it was written for, and note the new form."""
        plain = cast("Call", super().visit_call(call))
        if not isinstance(call.op, Op):
            return plain
        altered = self._alter(call, plain.args)
        try:
            if altered is not None and altered is not plain:
                return self._altered(call, plain, altered)
            return self._followed(call, plain)
        except TypeRelationError as error:  # a block does not divide a length
            _remark(call, "missed", "LayoutKept", f"layout kept: {error}")
            return plain

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        """Return the projection; what is known of the field is known of it."""
        laids = self._laid.get(op.tuple_value, ())
        if isinstance(op.tuple_value, Call) and op.index < len(laids):
            laid = laids[op.index]
            if laid is not None:
                self._laid[op] = (laid,)
        return super().visit_tuple_getitem(op)

    def _altered(self, call: Call, plain: Call, altered: Expr) -> Expr:
        if not isinstance(altered, Call) or not isinstance(altered.op, Op):
            raise IRTypeError(
                f"expected a call of an operator for '{cast('Op', call.op).name}' in "
                f"another layout, got {type(altered).__name__}"
            )
        if (
            altered.op is call.op
            and altered.attrs == call.attrs
            and (altered.args == plain.args)
        ):
            return plain  # it is to stay as it is
        self.altered += 1
        old, new = _layouts(call.attrs), _layouts(altered.attrs)
        args = list(altered.args)
        for at, (given, arg) in enumerate(zip(plain.args, call.args, strict=False)):
            if at < len(args) and args[at] is given:
                args[at] = self._in_layout(arg, old[at], new[at])
        result = Call(altered.op, tuple(args), altered.attrs, (), call.span)
        change = LayoutChange(old[-1], new[-1])
        _remark(call, "passed", "LayoutChanged", "layout changed", change)
        return self._noted(call, result, change, (True,))

    def _followed(self, call: Call, plain: Call) -> Expr:
        change = self._change_of(call)
        found = None if change is None else infer_layouts(call, change, self._rules)
        if change is None:
            return plain
        if found is None or not self._is_worth_it(call, found, change):
            why = (
                "no rule handles the layout of its inputs"
                if found is None
                else "more of its inputs are in the old one"
            )
            _remark(call, "missed", "LayoutKept", f"layout kept: {why}", change)
            return plain
        _remark(call, "passed", "LayoutFollowed", "continues in the new layout", change)
        args = tuple(
            self._changed(arg, change) if changes else given
            for arg, given, changes in zip(
                call.args, plain.args, found.inputs, strict=True
            )
        )
        result = Call(call.op, args, found.attrs, call.type_args, call.span)
        return self._noted(call, result, change, found.outputs)

    def _is_worth_it(
        self, call: Call, found: InferredLayouts, change: LayoutChange
    ) -> bool:
        """Return whether more of what a call reads is there in the layout than is not.

        Where it is half, as when an image is added to one of as many channels that no
        block divides, the layout that the program is written for is as good.
        """
        balance = 0
        for arg, changes in zip(call.args, found.inputs, strict=True):
            for one in arg.fields if isinstance(arg, Tuple) else (arg,):
                if changes and not isinstance(one, Constant):
                    is_there = self._is_in_layout(one, change)
                    balance += _elements(one) if is_there else -_elements(one)
        return balance > 0

    def _is_in_layout(self, node: Expr, change: LayoutChange) -> bool:
        """Return whether a value is there in a layout, or is needed in it anyway."""
        laids = self._laid.get(node, ())
        return (len(laids) == 1 and laids[0] is not None) or (
            (node, change.old.name, change.new.name) in self._cache
        )

    def _change_of(self, call: Call) -> LayoutChange | None:
        """Return the change of the first argument, or field of one, that changed."""
        for arg in call.args:
            for one in arg.fields if isinstance(arg, Tuple) else (arg,):
                laids = self._laid.get(one, ())
                if len(laids) == 1 and laids[0] is not None:
                    return laids[0].change
        return None

    def _changed(self, arg: Expr, change: LayoutChange) -> Expr:
        if isinstance(arg, Tuple):
            return Tuple(
                tuple(self._changed(field, change) for field in arg.fields), arg.span
            )
        return self._in_layout(arg, change.old, change.new)

    def _in_layout(self, node: Expr, old: Layout, new: Layout) -> Expr:
        """Return a node's value in a layout, given the one it was written for."""
        laids = self._laid.get(node, ())
        laid = laids[0] if len(laids) == 1 else None
        value, found = self.memo_map[node], old
        if laid is not None and laid.change.old == old:
            value, found = laid.value, laid.change.new
        if found == new:
            return value
        key = (node, found.name, new.name)
        if key not in self._cache:
            self._cache[key] = _transformed(value, node, found, new, written=old)
        return self._cache[key]

    def _noted(
        self,
        call: Call,
        result: Call,
        change: LayoutChange,
        outputs: tuple[bool | LayoutChange, ...],
    ) -> Expr:
        """Note what is changed of a result, and return it as it was."""
        if isinstance(call.checked_type, TensorType):
            change = outputs[0] if isinstance(outputs[0], LayoutChange) else change
            if not outputs[0] or change.old == change.new:
                return result
            self._laid[call] = (_ConvertedValue(result, change),)
            back = layout_transform(result, change.new.name, change.old.name)
            return with_span(back, call.span, [result])
        laids: list[_ConvertedValue | None] = []
        fields: list[Expr] = []
        for at, is_changed in enumerate(outputs):
            field: Expr = TupleGetItem(result, at, call.span)
            laids.append(_ConvertedValue(field, change) if is_changed else None)
            if is_changed:
                back = layout_transform(field, change.new.name, change.old.name)
                field = with_span(back, call.span, [field])
            fields.append(field)
        self._laid[call] = tuple(laids)
        return Tuple(tuple(fields), call.span)


def _remark(
    call: Call, kind: str, name: str, message: str, change: LayoutChange | None = None
) -> None:
    layouts = {} if change is None else {"old": change.old.name, "new": change.new.name}
    op = cast("Op", call.op).name
    context = PassContext.current()
    context.remark(kind, message, call.span, name=name, op=op, **layouts)


def _elements(node: Expr) -> int:
    found = node.checked_type
    lengths = found.shape if isinstance(found, TensorType) else ()
    return math.prod(dim for dim in lengths if isinstance(dim, int))


def _layouts(attrs: Any) -> tuple[Layout, ...]:
    """Return the layouts of the arguments and of the result of an altered call."""
    if "data_layout" in attrs:
        inputs = (attrs.data_layout, attrs.kernel_layout)
    elif "layout" in attrs:
        inputs = (attrs.layout,)
    else:
        raise IRTypeError(
            "expected an operator with the attribute 'data_layout' or 'layout' to "
            "alter the layout of"
        )
    names = (*inputs, attrs.get("out_layout", "") or inputs[0])
    return tuple(map(Layout.of, names))


def _transformed(
    value: Expr, node: Expr, old: Layout, new: Layout, *, written: Layout
) -> Expr:
    """Return a value in another layout; one of fewer dimensions gets them in front.

    Args:
        value: The value, in the layout `old`.
        node: The node that it is the value of, which was written for `written`.
        old: Its layout.
        new: The layout that it is to have.
        written: The layout that the node's type is of.

    Raises:
        TypeRelationError: The value has no such form.
    """
    found = node.checked_type
    if not isinstance(found, TensorType):
        raise TypeRelationError(f"expected a tensor, got {found}")
    missing = 0
    # The type is that of the value as it was written; in front of it, for broadcasting,
    # are dimensions of length 1.
    if old == written and len(found.shape) < len(old.primal) == len(old.axes):
        missing = len(old.axes) - len(found.shape)
        shape = (*[1] * missing, *found.shape)
        transformed_shape(shape, old.name, new.name)
    elif len(found.shape) == len(written.axes):
        transformed_shape(found.shape, written.name, new.name)
    made = value
    if missing:
        made = expand_dims(value, axis=0, num_newaxis=missing)
    made = layout_transform(made, old.name, new.name)
    return with_span(made, getattr(node, "span", None), [value])
