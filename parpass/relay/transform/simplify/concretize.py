"""What is like another tensor becomes what that tensor's type says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from parpass.ir.types.ty import TensorType
from parpass.relay import op
from parpass.relay.expr import Call, Expr
from parpass.relay.transform.simplify.peephole import Peephole, Rule


def _by_result(build: Callable[[Call, TensorType], Expr]) -> Rule:
    """Return the rule that builds a call from the type of the result."""

    def rule(peephole: Peephole, call: Call) -> Expr | None:
        found = peephole.tensor(call)
        return found and peephole.instead_of(call, build(call, found))

    return rule


def _cast(peephole: Peephole, call: Call) -> Expr | None:
    found = peephole.type_of(call)  # of any shape, also of an unknown one
    if not isinstance(found, TensorType):
        return None
    return peephole.instead_of(call, op.cast(call.args[0], found.dtype))


def _reshape(peephole: Peephole, call: Call) -> Expr | None:
    found = peephole.tensor(call)
    if found is None or 0 in found.shape:  # 0 would keep the old dimension
        return None
    shape = found.concrete_shape
    return peephole.instead_of(call, op.reshape(call.args[0], shape))


RULES: Mapping[str, Sequence[Rule]] = {
    "zeros_like": [_by_result(lambda _, to: op.zeros(to.concrete_shape, to.dtype))],
    "ones_like": [_by_result(lambda _, to: op.ones(to.concrete_shape, to.dtype))],
    "full_like": [
        _by_result(lambda call, to: op.full(call.args[1], to.concrete_shape, to.dtype))
    ],
    "broadcast_to_like": [
        _by_result(lambda call, to: op.broadcast_to(call.args[0], to.concrete_shape))
    ],
    "cast_like": [_cast],
    "collapse_sum_like": [
        _by_result(lambda call, to: op.collapse_sum_to(call.args[0], to.concrete_shape))
    ],
    "reshape_like": [_reshape],
}
