"""Builders of calls, derived from how they are declared.

An operator is written as the function that builds its calls, with nothing in it but its
signature and its docstring:

    @operator("nn.prelu", _prelu_relation, _prelu, PReluAttrs, pattern=BROADCAST)
    def prelu(data: Expr, alpha: Expr, axis: int = 1) -> Call:
        "Return `data` where it is above 0, times its channel's alpha elsewhere."
        ...

Parameters that are named as an attribute give the attribute, the others are the
arguments of the call. Which forms a value may have is for its field to say.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any, TypedDict, TypeVar, Unpack, cast

import msgspec

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.operators.effect import Effect
from parpass.ir.operators.op_table import (
    DEFAULT_LEVEL,
    ArgumentTypes,
    Compute,
    Op,
    OpPattern,
    TypeRelationFn,
    register_op,
)
from parpass.relay.expr import Call, Expr, TupleWrapper, as_expr
from parpass.relay.op.declaration.attributes import Converter
from parpass.relay.op.declaration.normal import Field, fields_of
from parpass.relay.op.declaration.support_levels import SUPPORT_LEVELS

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


class Entry(TypedDict, total=False):
    """What else the table has of an operator; see `Op`."""

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
    forms: Mapping[str, Converter] | None = None,
    **entry: Unpack[Entry],
) -> Callable[[BuilderT], BuilderT]:
    """Register an operator; the declared function becomes the builder of its calls.

    Args:
        name: The operator's name.
        relation: Its type relation.
        compute: Its meaning on numpy.
        attrs_type: The class of its attributes; None if it has none.
        doc: The builder's docstring, where several operators share one declaration.
            Each has its own name then, and where the declaration has `...` for a
            default, that of its own attribute.
        argument: Makes an expression of an argument.
        results: How many fields the result has, where it is unpacked in Python; asked
            for each call where that differs, None for a result that is no tuple.
        forms: Converters of attributes whose form depends on the operator, where
            several share a class.
        **entry: What else the table has of it.
    """

    def derive(declared: BuilderT) -> BuilderT:
        function = cast("types.FunctionType", declared)
        if doc:
            function = _shared(function, name, doc, attrs_type)
        names = parameters(function)
        fields = () if attrs_type is None else attrs_type.__struct_fields__
        count = sum(one not in fields for one in names)
        level = SUPPORT_LEVELS.get(name, DEFAULT_LEVEL)
        op = Op(
            name, count, relation, compute, attrs_type, support_level=level, **entry
        )
        register_op(op)
        if attrs_type is None:
            build = _plain_builder(op, function, argument)
        else:
            build = _builder(op, function, argument, attrs_type, forms or {})
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
    """Return those of an attribute class; `msgspec.structs.fields` reads all types."""
    names = () if kind is None else kind.__struct_fields__
    values = () if kind is None else kind.__struct_defaults__
    return dict(zip(names[len(names) - len(values) :], values, strict=True))


def _shared(
    declared: types.FunctionType, name: str, doc: str, kind: type[Attrs] | None
) -> types.FunctionType:
    """Return a declaration that several operators share as that of one of them."""
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
    forms: Mapping[str, Converter],
) -> Callable[..., Call]:
    """Return the builder of calls that have attributes."""
    owner = op.name
    is_checked = kind.check is not Attrs.check
    # Made by the first call: to read all annotations takes long when programs start.
    plan: _Plan | None = None

    def build(*given: Any, **named: Any) -> Call:
        nonlocal plan
        if plan is None:
            plan = _plan(op, declared, kind, forms)
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
    """How the values of parameters become a call.

    Attributes:
        bind: Takes what a builder takes, and returns the value of each parameter.
        arguments: Which of them are the call's arguments.
        fields: Which are attributes: the place, the field, the default, and the form of
            the default that is stored.
    """

    bind: Callable[..., list[Any]]
    arguments: list[int]
    fields: list[tuple[int, Field, Any, Any]]


def _plan(
    op: Op,
    declared: types.FunctionType,
    kind: type[Attrs],
    forms: Mapping[str, Converter],
) -> _Plan:
    fields, usual_values = fields_of(kind), defaults(declared)
    places = list(enumerate(parameters(declared)))
    stored: list[tuple[int, Field, Any, Any]] = []
    for at, name in places:
        if name not in fields:
            continue
        field, default = fields[name], usual_values.get(name, _NOTHING)
        if name in forms:
            field = msgspec.structs.replace(field, convert=forms[name])
        usual = default if default is _NOTHING else field.normal(default, op.name)
        stored.append((at, field, default, usual))
    arguments = [at for at, name in places if name not in fields]
    return _Plan(_binder(declared), arguments, stored)


_NOTHING = object()


def _binder(declared: types.FunctionType) -> Callable[..., list[Any]]:
    """Return a function of the same parameters that returns their values.

    So Python itself binds them, and complains in its own words of those that do not
    fit; `inspect.Signature.bind` takes longer than all else that a builder does.
    """
    names = ", ".join(parameters(declared))
    binder: types.FunctionType = eval(f"lambda {names}: [{names}]")
    binder.__defaults__ = declared.__defaults__
    binder.__qualname__ = declared.__qualname__
    return binder


def _wrapped(
    build: Callable[..., Call | TupleWrapper], results: Results
) -> Callable[..., Call | TupleWrapper]:
    """Return a builder whose result is unpacked in Python."""

    def wrapped(*given: Any, **named: Any) -> Call | TupleWrapper:
        call = build(*given, **named)
        if isinstance(call, TupleWrapper):  # of a dynamic form, which says it itself
            return call
        count = results if isinstance(results, int) else results(call)
        return call if count is None else TupleWrapper(call, count)

    return wrapped
