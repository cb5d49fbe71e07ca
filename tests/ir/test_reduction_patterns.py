"""What may be tried to make a program smaller follows from the fields of its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given

from parpass.ir.dialect import dialect_of, register_dialect
from parpass.ir.module import IRModule
from parpass.ir.node import FieldKind, Node, reflected
from parpass.ir.reduction_patterns import (
    Descend,
    DropNodes,
    DropParts,
    MakeSmallest,
    module_size,
    reduction_patterns,
)
from parpass.ir.reduction_rules import ReductionRules
from parpass.ir.replacement import replaced
from parpass.relay import parse
from parpass.relay.transform import InferType
from parpass.transform import ReductionPattern
from tests.ir.toy_tenant import Function, Toy, ToyTenant, Var
from tests.support.drawn import HIGHER_ORDER, LOOP_MODULES, MATCHING, MODULES
from tests.support.profiles import examples


@reflected(is_graph=False)
class Number(Toy, frozen=True, eq=False):
    """A number."""

    value: int


@reflected(is_graph=True, scopes=("value",), value=FieldKind.CHILD)
class Case(Node, frozen=True, eq=False):
    """One of several alternatives: no expression itself."""

    namespace = "toy"

    value: Node


@reflected(is_graph=True, cases=FieldKind.CHILDREN, default=FieldKind.OPTIONAL)
class Choice(Toy, frozen=True, eq=False):
    """A choice."""

    cases: tuple[Case, ...]
    default: Node | None = None


@reflected(
    is_graph=True,
    scopes=("body",),
    var=FieldKind.BINDING,
    value=FieldKind.CHILD,
    body=FieldKind.CHILD,
)
class Let(Toy, frozen=True, eq=False):
    """A value that has a name."""

    var: Var
    value: Node
    body: Node


class _Rules(ReductionRules):
    """Rules that know no kind of node but numbers."""

    def sort(self, node: Any) -> object:
        return Toy if isinstance(node, Toy) else None

    def smallest(self, node: Any) -> Number:
        return Number(0)

    def is_smallest(self, node: Any) -> bool:
        return isinstance(node, Number) and node.value == 0


class _Shrinking(ToyTenant):
    def reduction_rules(self) -> ReductionRules:
        return _Rules()


@pytest.fixture
def shrinking() -> Iterator[None]:
    """Give the second IR rules for its nodes."""
    before = dialect_of(Number(0))
    register_dialect("toy", _Shrinking())
    yield
    register_dialect("toy", before)


def module(body: Node) -> IRModule:
    return IRModule({"main": Function((), body)})


def bodies(pattern: ReductionPattern, mod: IRModule) -> Sequence[Any]:
    """Return the bodies of `main`, by each item of a pattern alone."""
    items = pattern.items(mod)
    return [pattern.without(mod, [item])["main"].body for item in items]


ONE, TWO = Number(1), Number(2)


@pytest.mark.usefixtures("shrinking")
def test_a_new_kind_of_node_is_replaced_by_what_is_in_its_fields():
    choice = Choice((Case(ONE), Case(TWO)), Number(3))
    assert bodies(Descend(), module(choice)) == [choice.default, ONE, TWO]


@pytest.mark.usefixtures("shrinking")
def test_alternatives_and_what_is_optional_are_dropped():
    one, two = Case(ONE), Case(TWO)
    mod = module(Choice((one, two), ONE))
    without = [(body.cases, body.default) for body in bodies(DropParts(), mod)]
    assert without == [((two,), ONE), ((one,), ONE), ((one, two), None)]


@pytest.mark.usefixtures("shrinking")
def test_one_of_the_alternatives_stays():
    mod = module(Choice((Case(ONE), Case(TWO))))
    pattern = DropParts()
    left = pattern.without(mod, pattern.items(mod))["main"].body
    assert [case.value for case in left.cases] == [ONE]


@pytest.mark.usefixtures("shrinking")
def test_a_variable_becomes_its_value_where_what_binds_it_goes():
    x = Var("x")
    mod = module(Let(x, TWO, Choice((Case(x),))))
    [choice, value] = bodies(Descend(), mod)[:2]
    assert [case.value for case in choice.cases] == [TWO]
    assert value is TWO


@pytest.mark.usefixtures("shrinking")
def test_a_variable_whose_value_is_made_of_it_stays():
    x = Var("x")
    body = Choice((Case(x),))
    mod = module(Let(x, Choice((Case(x), Case(ONE))), body))
    assert bodies(Descend(), mod)[0] is body


@pytest.mark.usefixtures("shrinking")
def test_values_are_made_the_smallest_but_once():
    mod = module(Choice((Case(ONE),)))
    for body in bodies(MakeSmallest(), mod):
        assert module_size(module(body)) < module_size(mod)
    assert MakeSmallest().items(module(Number(0))) == []


@pytest.mark.usefixtures("shrinking")
def test_no_node_is_made_of_itself():
    inner = Choice((Case(ONE),))
    outer = Choice((Case(inner),))
    mod = module(outer)
    [down, *_] = Descend().items(mod)
    up = down._replace(node=down.instead, instead=down.node)
    assert replaced(mod, [down, up]) is mod


def test_an_ir_without_rules_loses_what_is_optional():
    function = Function((), Choice((Case(ONE), Case(TWO)), ONE), {"a": 1})
    mod = IRModule({"main": function})
    found = {
        type(pattern).__name__ for pattern in reduction_patterns() if pattern.items(mod)
    }
    assert found == {"DropAttributes", "DropParts"}


def test_functions_are_counted_first_and_attributes_last():
    small, large = Function((), ONE), Function((), Choice((Case(ONE),)), {"a": 1})
    both = IRModule({"f": small, "g": small})
    assert module_size(IRModule({"f": large})) < module_size(both)
    assert module_size(IRModule({"f": large})) == (1, 3, 0, 4, 1)


@examples(0.25)
@given(mod=MODULES | HIGHER_ORDER | MATCHING | LOOP_MODULES)
def test_a_pattern_makes_programs_that_can_be_read_or_have_faults(mod: IRModule):
    mod = InferType()(mod)
    before = str(mod)
    for pattern in reduction_patterns():
        items = pattern.items(mod)
        for chosen in filter(None, (items[:1], items[1:3], items)):
            made = pattern.without(mod, chosen)
            functions = made.functions_by_name
            if not any(dialect_of(one).faults(one, made) for one in functions.values()):
                again = parse(made.astext())
                assert [*again.functions_by_name] == [*mod.functions_by_name]
    assert str(mod) == before


def test_statements_are_taken_out_where_the_ir_has_them():
    assert DropNodes().items(module(ONE)) == []
