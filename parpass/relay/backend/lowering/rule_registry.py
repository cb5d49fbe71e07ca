"""Registry of lowering rules: the tables of injective operators and of templates.

A kernel is one anchor, such as a convolution, with injective operators before and after
it, or injective operators alone. An injective operator has an `Injective`: an element
of its result, as a function of elements of its operands. An anchor has templates: each
builds the loops that compute the result, and passes each element to `store`, which
applies the operators after the anchor. A template may decline; the next one is tried
then.

    @register_injective("nn.leaky_relu")
    def leaky_relu(call, indices):
        x = call.sources[0].at(indices)
        return tir.Select(x > 0, x, x * call.attrs.alpha)

    @register_template("nn.global_max_pool2d")
    def global_max_pool2d(call, store):
        return nest(call.out.shape, lambda indices: ...)

Floats narrower than float32 are computed in float32 by every rule: sources widen them,
`call.out.dtype` is `float32`, and the stored result is rounded afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from parpass.errors import IRError
from parpass.replicated_tables import ReplicatedTable
from parpass.target.target import Target
from parpass.tir.expr import Buffer, PrimExpr
from parpass.tir.stmt import Stmt

Indices = Sequence[PrimExpr]


class Source(NamedTuple):
    """An operand, with what is computed before it inlined. Tuples are laid out flat.

    Attributes:
        shape: The length of each dimension.
        dtype: That of the elements.
        at: Gives the element at indices, which must be within the shape.
        buffer: The parameter that it is, as it is, if nothing is computed before it:
            for templates that need to know how it lies in memory.
    """

    shape: tuple[int, ...]
    dtype: str
    at: Callable[[Indices], PrimExpr]
    buffer: Buffer | None = None


class Result(NamedTuple):
    """The result of an operator that is to be computed.

    Attributes:
        shape: The length of each dimension.
        dtype: The dtype of the elements.
        field: The index of the field, if the operator's result is a tuple.
    """

    shape: tuple[int, ...]
    dtype: str
    field: int = 0


AttrsT_co = TypeVar("AttrsT_co", covariant=True)


class OpCall(NamedTuple, Generic[AttrsT_co]):
    """A call of an operator that is to be lowered.

    Attributes:
        attrs: The attributes.
        sources: The operands.
        out: The result; of an operator with several results the first one.
        target: The machine.
    """

    attrs: AttrsT_co
    sources: Sequence[Source]
    out: Result
    target: Target


Store = Callable[..., Stmt]
"""Returns what is to be done with the element at indices, once it has its value.

It is called as `store(indices, value)`, with a value for each of an operator's results.
The value may be read several times: it should be a variable, or a load. Each element of
the result is to be stored, in any order; what is stored last counts. All are scalars:
of a loop that is to be vectorised (`ForKind.VECTORIZED`) `VectorizeLoop` makes the
vectors.
"""

Injective = Callable[[OpCall[Any], Indices], PrimExpr]
"""Gives the element of a call's result at indices."""

Template = Callable[[OpCall[Any], Store], Stmt | None]
"""Returns the loops that compute a result; None where the template is for others."""


class NoRuleError(IRError):
    """No rule lowers a call; numpy computes it."""


_injective: ReplicatedTable[str, Injective] = ReplicatedTable("rule of lowering of")
_templates: ReplicatedTable[str, tuple[tuple[int, Template], ...]] = ReplicatedTable(
    "templates of"
)


def register_injective(*names: str) -> Callable[[Injective], Injective]:
    """Return a decorator that registers a function as the rule of injective operators.

    A rule that cannot lower a call raises `NoRuleError`.
    """

    def register(rule: Injective) -> Injective:
        for name in names:
            _injective[name] = rule
        return rule

    return register


def register_template(*names: str, level: int = 10) -> Callable[[Template], Template]:
    """Return a decorator that registers a function as a template of operators.

    Args:
        *names: The operators.
        level: Templates of higher levels are tried first; 10 is for templates that
            accept everything the operator accepts. It is TVM's `plevel`.
    """

    def register(template: Template) -> Template:
        for name in names:
            known = (*_templates.get(name, ()), (level, template))
            # Stable: of one level the first one that was registered comes first.
            _templates[name] = tuple(sorted(known, key=lambda one: -one[0]))
        return template

    return register


def injective_rule(name: str) -> Injective | None:
    """Return the rule of an injective operator, if it has one."""
    return _injective.find(name)


def templates_of(name: str) -> list[Template]:
    """Return the templates of an operator, in the order in which they are asked."""
    return [template for _, template in _templates.find(name) or ()]
