"""Builders of calls, derived from declarations.

An operator is declared by the function that builds its calls, which consists of a
signature and a docstring:

    @operator("nn.prelu", _prelu_relation, _prelu, PReluAttrs, pattern=BROADCAST)
    def prelu(data: Expr, alpha: Expr, axis: int = 1) -> Call:
        "Return `data` where it is above 0, times its channel's alpha elsewhere."
        ...

Parameters with the name of an attribute give the attribute, the others are the
arguments of the call. Fields of the attribute class convert their values.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, TypedDict, TypeVar, Unpack, cast

import msgspec

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import (
    ArgumentTypes,
    Compute,
    Effect,
    Op,
    OpPattern,
    TypeRelationFn,
    register_op,
)
from parpass.relay.expr import Call, Expr, TupleWrapper, as_expr
from parpass.relay.op.declaration.attributes import AttrField, attr_fields

ELEMWISE = OpPattern.ELEMWISE
BROADCAST = OpPattern.BROADCAST
INJECTIVE = OpPattern.INJECTIVE
COMM_REDUCE = OpPattern.COMM_REDUCE
OUT_ELEMWISE_FUSABLE = OpPattern.OUT_ELEMWISE_FUSABLE
OPAQUE = OpPattern.OPAQUE

BuilderT = TypeVar("BuilderT", bound=Callable[..., Any])
Results = int | Callable[[Call], int | None]


DYNAMIC_FORMS: dict[str, Callable[[Sequence[Any]], Any]] = {}
"""What builds calls that have an expression for an attribute, by operator.

It takes the values of the builder's parameters; see `dyn`.
"""


class OpEntry(TypedDict, total=False):
    """Further entries of the operator table; see `Op`."""

    effect: Effect
    non_computational: bool
    pattern: OpPattern
    moves: bool
    argument_types: ArgumentTypes


def operator(
    name: str,
    relation: TypeRelationFn,
    compute: Compute,
    attrs_type: type[Attrs] | None = None,
    *,
    doc: str = "",
    argument: Callable[[Any], Any] = as_expr,
    results: Results | None = None,
    **entry: Unpack[OpEntry],
) -> Callable[[BuilderT], BuilderT]:
    """Register an operator; the declared function becomes the builder of its calls.

    Args:
        name: The operator's name.
        relation: Its type relation.
        compute: Its meaning on numpy.
        attrs_type: The class of its attributes; None if it has none.
        doc: The builder's docstring, where several operators share one declaration.
            Each has its own name then, and a default `...` in the declaration stands
            for that of its own attribute.
        argument: Converts an argument to an expression.
        results: How many fields the result has, where it is unpacked in Python; a
            function of the call where that differs, None for a result that is no tuple.
        **entry: Further entries of the table.
    """

    def derive(declared: BuilderT) -> BuilderT:
        function = cast("types.FunctionType", declared)
        if doc:
            function = _shared(function, name, doc, attrs_type)
        names = parameters(function)
        fields = () if attrs_type is None else attrs_type.__struct_fields__
        count = sum(one not in fields for one in names)
        op = Op(name, count, relation, compute, attrs_type, **entry)
        register_op(op)
        if attrs_type is None:
            build = _plain_builder(op, function, argument)
        else:
            build = _builder(op, function, argument, attrs_type)
        if results is not None:
            build = _wrapped(build, results)
        return cast("BuilderT", update_wrapper(build, function))

    return derive


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's parameters; `inspect` takes ten times longer."""
    declared: types.FunctionType = getattr(function, "__wrapped__", function)
    code = declared.__code__
    return code.co_varnames[: code.co_argcount]


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the defaults of a function's parameters, by name."""
    declared: types.FunctionType = getattr(function, "__wrapped__", function)
    values = declared.__defaults__ or ()
    names = parameters(declared)
    return dict(zip(names[len(names) - len(values) :], values, strict=True))


def _defaults_of(kind: type[Attrs] | None) -> dict[str, Any]:
    """Return an attribute class's defaults; `msgspec.structs.fields` is slower."""
    names = () if kind is None else kind.__struct_fields__
    values = () if kind is None else kind.__struct_defaults__
    return dict(zip(names[len(names) - len(values) :], values, strict=True))


def _shared(
    declared: types.FunctionType, name: str, doc: str, kind: type[Attrs] | None
) -> types.FunctionType:
    """Return a declaration shared by several operators, specialised for one of them."""
    short, own = name.rpartition(".")[2].lower(), _defaults_of(kind)
    values = tuple(
        own[parameter] if default is ... else default
        for parameter, default in defaults(declared).items()
    )
    function = types.FunctionType(
        declared.__code__, declared.__globals__, short, values
    )
    function.__qualname__, function.__doc__ = short, doc
    function.__annotations__ = declared.__annotations__
    return function


def _plain_builder(
    op: Op, declared: types.FunctionType, argument: Callable[[Any], Any]
) -> Callable[..., Call]:
    """Return the builder of calls that have no attributes."""
    count = len(parameters(declared))
    bind: Callable[..., list[Any]] | None = None

    def build(*given: Any, **named: Any) -> Call:
        nonlocal bind
        values: Sequence[Any] = given
        if named or len(given) != count:
            bind = bind or _binder(declared)
            values = bind(*given, **named)
        return Call(op, tuple(map(argument, values)))

    return build


def _builder(
    op: Op,
    declared: types.FunctionType,
    argument: Callable[[Any], Any],
    kind: type[Attrs],
) -> Callable[..., Call]:
    """Return the builder of calls that have attributes."""
    owner = op.name
    is_checked = kind.check is not Attrs.check
    # Made by the first call: to read all annotations takes long when programs start.
    plan: _Plan | None = None

    def build(*given: Any, **named: Any) -> Call:
        nonlocal plan
        if plan is None:
            plan = _plan(op, declared, kind)
        values = plan.bind(*given, **named)
        try:
            attrs = kind(
                **{
                    field.name: usual
                    if values[at] is default
                    else field.normal(values[at], owner)
                    for at, field, default, usual in plan.fields
                }
            )
        except IRTypeError:
            is_dynamic = any(isinstance(values[at], Expr) for at, *_ in plan.fields)
            if not is_dynamic or owner not in DYNAMIC_FORMS:
                raise
            return DYNAMIC_FORMS[owner](values)
        if is_checked:
            attrs.check()
        return Call(op, tuple([argument(values[at]) for at in plan.arguments]), attrs)

    return build


class _Plan(msgspec.Struct, frozen=True):
    """The mapping of parameter values to a call.

    Attributes:
        bind: Takes the builder's arguments, and returns the value of each parameter.
        arguments: Indices of the parameters that are arguments of the call.
        fields: The parameters that are attributes: index, field, default, and the
            canonical form of the default.
    """

    bind: Callable[..., list[Any]]
    arguments: list[int]
    fields: list[tuple[int, AttrField, Any, Any]]


def _plan(
    op: Op,
    declared: types.FunctionType,
    kind: type[Attrs],
) -> _Plan:
    fields, usual_values = attr_fields(kind), defaults(declared)
    places = list(enumerate(parameters(declared)))
    stored: list[tuple[int, AttrField, Any, Any]] = []
    for at, name in places:
        if name not in fields:
            continue
        field, default = fields[name], usual_values.get(name, _NOTHING)
        usual = default if default is _NOTHING else field.normal(default, op.name)
        stored.append((at, field, default, usual))
    arguments = [at for at, name in places if name not in fields]
    return _Plan(_binder(declared), arguments, stored)


_NOTHING = object()


def _binder(declared: types.FunctionType) -> Callable[..., list[Any]]:
    """Return a function of equal signature that returns the values of its parameters.

    So Python itself binds them, and raises its own errors for those that do not fit;
    `inspect.Signature.bind` takes longer than all else that a builder does.
    """
    names = ", ".join(parameters(declared))
    binder: types.FunctionType = eval(f"lambda {names}: [{names}]")
    binder.__defaults__ = declared.__defaults__
    binder.__qualname__ = declared.__qualname__
    return binder


def _wrapped(
    build: Callable[..., Call | TupleWrapper], results: Results
) -> Callable[..., Call | TupleWrapper]:
    """Return a builder whose result unpacks in Python."""

    def wrapped(*given: Any, **named: Any) -> Call | TupleWrapper:
        call = build(*given, **named)
        if isinstance(call, TupleWrapper):  # of a dynamic form, which says it itself
            return call
        count = results if isinstance(results, int) else results(call)
        return call if count is None else TupleWrapper(call, count)

    return wrapped
