"""Operators of which an attribute is known only when the program runs.

Each has a static counterpart, and means what that means with the attributes that the
arguments say. TVM calls them `dyn.` and the counterpart's name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from parpass.ir.attrs import Attrs
from parpass.ir.op_table import (
    Op,
    OpPattern,
    TypeRelation,
    TypeRelationError,
    register_op,
)
from parpass.ir.ty import Any as UnknownDim
from parpass.ir.ty import TensorType
from parpass.relay.expr import Call, Expr, TupleWrapper, Var
from parpass.relay.op.relations import require_integer, require_rank

Array = npt.NDArray[Any]
Build = Callable[..., Call | TupleWrapper]

UNKNOWN = UnknownDim()


@dataclass(frozen=True, slots=True)
class Counterpart:
    """How a dynamic operator becomes its static one.

    Attributes:
        build: Builds the static call of the dynamic one's attributes and arguments, of
            which some are given as arrays.
        values: Which arguments these are.
    """

    build: Build
    values: tuple[int, ...]

    def call(self, attrs: Any, args: Sequence[Expr | Array]) -> Call:
        """Return the static call.

        Raises:
            IRError: The values are none that the static operator takes.
        """
        built = self.build(attrs, *args)
        call = built.astuple() if isinstance(built, TupleWrapper) else built
        assert isinstance(call, Call)
        return call

    def told(self, attrs: Any, given: Sequence[Array]) -> tuple[Call, list[Array]]:
        """Return the static call for some values, and those that it is called on.

        Raises:
            IRError: The values are none that the static operator takes.
        """
        rest = [one for at, one in enumerate(given) if at not in self.values]
        names = (Var(f"x{at}") for at in range(len(given)))
        args = [
            one if at in self.values else name
            for at, (one, name) in enumerate(zip(given, names, strict=True))
        ]
        return self.call(attrs, args), rest


COUNTERPARTS: dict[str, Counterpart] = {}
"""By the names of the dynamic operators."""


def register_dynamic(
    name: str,
    count: int,
    relation: TypeRelation,
    build: Build,
    attrs_type: type[Attrs] | None = None,
    *,
    values: tuple[int, ...] = (1,),
    pattern: OpPattern = OpPattern.OPAQUE,
    moves: bool = False,
) -> Op:
    """Register an operator whose arguments `values` are a static one's attributes.

    Args:
        name: Its name.
        count: How many arguments it has.
        relation: Gives its type, with unknown dimensions.
        build: Builds the call of the static operator.
        attrs_type: The attributes that are known beforehand.
        values: The arguments that are the attributes which are not.
        pattern: What it may be fused with.
        moves: Whether the static one does no more than move elements.
    """
    counterpart = COUNTERPARTS[name] = Counterpart(build, values)

    def compute(attrs: Any, *given: Array) -> Any:
        call, rest = counterpart.told(attrs, given)
        assert isinstance(call.op, Op)
        # What the static operator refuses is refused now.
        types = [TensorType(one.shape, one.dtype.name) for one in rest]
        call.op.relation(types, call.attrs)
        return call.op.compute(call.attrs, *rest)

    return register_op(
        Op(name, count, relation, compute, attrs_type, pattern=pattern, moves=moves)
    )


def length(arg: TensorType, what: str) -> int:
    """Return how many integers a vector has, which decides about a rank.

    Raises:
        TypeRelationError: It is no vector of integers, or its length is unknown.
    """
    require_integer(arg, what)
    require_rank(arg, 1, what)
    (found,) = arg.shape
    if isinstance(found, UnknownDim):
        raise TypeRelationError(f"expected a known length for {what}, got {arg}")
    return found


def ints_of(values: Array) -> tuple[int, ...]:
    """Return the elements of an array as Python's ints."""
    return tuple(int(one) for one in np.asarray(values).reshape(-1))
