"""Registration of dynamic operators by their static counterparts.

A dynamic operator means its static counterpart with the attributes that some arguments
give at run time. TVM calls it `dyn.` and the counterpart's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import msgspec
import numpy as np

from parpass.errors import IRTypeError
from parpass.errors.core import quoted
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, Op, TypeRelationError, TypeRelationFn
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType
from parpass.relay.expr import Call, Expr, TupleWrapper, Var, const
from parpass.relay.op.declaration.attributes import attr_fields
from parpass.relay.op.declaration.build import (
    DYNAMIC_FORMS,
    BuilderT,
    OpEntry,
    Results,
    defaults,
    operator,
    parameters,
)
from parpass.relay.op.declaration.type_relations import require_integer, require_rank

Static = Callable[..., Call | TupleWrapper]

UNKNOWN = UnknownDim()


class Counterpart(msgspec.Struct, frozen=True):
    """The static operator of a dynamic one, and how to build its calls.

    Attributes:
        build: Builds the static call; takes the arguments of the dynamic one, and its
            attributes by name.
        attrs_type: The attributes of the static one.
        values: The indices of the arguments that give these attributes.
    """

    build: Static
    attrs_type: type[Attrs]
    values: Mapping[int, str]

    def static_call(
        self, attrs: Any, given: Sequence[Array]
    ) -> tuple[Call, list[Array]]:
        """Return the static call for argument values, and the remaining operands.

        Raises:
            IRError: The static operator does not accept the values.
        """
        args = [
            one if at in self.values else Var(f"x{at}") for at, one in enumerate(given)
        ]
        rest = [one for at, one in enumerate(given) if at not in self.values]
        return self.static(attrs, args), rest

    def static(self, attrs: Any, args: Sequence[Any]) -> Call:
        """Return the static call.

        Args:
            attrs: The attributes of the dynamic one.
            args: Its arguments; for those that give attributes, their values.

        Raises:
            IRError: The static operator does not accept the values.
        """
        given = [
            self._value(at, one) if at in self.values else one
            for at, one in enumerate(args)
        ]
        named = {} if attrs is None else msgspec.structs.asdict(attrs)
        built = self.build(*given, **named)
        call = built.astuple() if isinstance(built, TupleWrapper) else built
        assert isinstance(call, Call)
        return call

    def _value(self, at: int, given: Array) -> Any:
        kind = attr_fields(self.attrs_type)[self.values[at]].kind
        return int(given.reshape(())) if kind is int else given.tolist()


COUNTERPARTS: dict[str, Counterpart] = {}
"""By the names of the dynamic operators."""


def dynamic(
    name: str,
    static: Static,
    relation: TypeRelationFn,
    attrs_type: type[Attrs] | None = None,
    *,
    doc: str = "",
    results: Results | None = None,
    **entry: Unpack[OpEntry],
) -> Callable[[BuilderT], BuilderT]:
    """Register the dynamic form of a static operator; see `operator`.

    The declared arguments are those with which the parameters of the static builder
    begin. The value of an attribute is passed as an argument instead.

    Args:
        name: Its name: `dyn.` and that of the static one.
        static: Builds calls of the static one.
        relation: Its type relation, with unknown dimensions.
        attrs_type: The attributes that remain static.
        doc: As for `operator`.
        results: As for `operator`.
        **entry: Entries of the table that differ from those of the static one.
    """
    own = Op.get(name.removeprefix("dyn."))
    known: tuple[str, ...] = () if attrs_type is None else attrs_type.__struct_fields__
    owner = own.attrs_type
    assert owner is not None

    def derive(declared: BuilderT) -> BuilderT:
        count = sum(one not in known for one in parameters(declared))
        places = enumerate(parameters(static)[:count])
        values = {at: one for at, one in places if one in owner.__struct_fields__}
        counterpart = COUNTERPARTS[name] = Counterpart(static, owner, values)

        def compute(attrs: Any, *given: Array) -> Any:
            call, rest = counterpart.static_call(attrs, given)
            assert isinstance(call.op, Op)
            # What the static operator refuses is refused now.
            types = [TensorType(one.shape, one.dtype.name) for one in rest]
            call.op.relation(types, call.attrs)
            return call.op.compute(call.attrs, *rest)

        usual: OpEntry = {"pattern": own.pattern, "moves": own.moves}
        build = operator(
            name,
            relation,
            compute,
            attrs_type,
            doc=doc,
            results=results,
            **(usual | entry),
        )(declared)
        order = [*parameters(static)[:count], *known]
        DYNAMIC_FORMS[own.name] = _form(own.name, build, static, order, values)
        return build

    return derive


def _form(
    owner: str,
    build: Callable[..., Any],
    static: Static,
    order: Sequence[str],
    places: Mapping[int, str],
) -> Callable[[Sequence[Any]], Any]:
    """Return a builder of dynamic calls with the parameters of the static builder.

    Args:
        owner: The static operator.
        build: The builder of dynamic calls.
        static: The builder of static ones.
        order: The parameters of the static one that the dynamic one takes.
        places: Which of these are attributes of the static one.
    """
    names = parameters(static)
    usual = defaults(static)

    def built(values: Sequence[Any]) -> Any:
        given = dict(zip(names, values, strict=True))
        odd = [
            one for one in names if one not in order and given[one] != usual.get(one)
        ]
        if odd:
            raise IRTypeError(
                f"'{owner}': expected no {quoted(odd)} where other attributes are "
                "expressions"
            )
        return build(
            *[
                _argument(given[one]) if at in places else given[one]
                for at, one in enumerate(order)
            ]
        )

    return built


def _argument(value: Any) -> Expr:
    """Convert the value of an attribute to an argument; strides may be left out.

    Ints have 64 bits, as in TVM, and floats have theirs.
    """
    if isinstance(value, Expr):
        return value
    given = np.asarray([1] if value is None else value)
    return const(given.astype("float64" if given.dtype.kind == "f" else "int64"))


def length(arg: TensorType, what: str) -> int:
    """Return the length of a vector of integers, which determines a rank.

    Raises:
        TypeRelationError: It is no vector of integers, or its length is unknown.
    """
    require_integer(arg, what)
    require_rank(arg, 1, what)
    (found,) = arg.shape
    if isinstance(found, UnknownDim):
        raise TypeRelationError(f"expected a known length for {what}, got {arg}")
    return found
