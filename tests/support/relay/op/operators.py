"""The operators shipped for Relay: calls of each, and which facets each has.

A facet is what an operator has beside a type and a meaning: attributes, a gradient, a
rule of lowering. `tests/relay/op/operators.txt` is the table of them; a test of a facet
is of the operators that have it there.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from parpass.ir.op.op_table import Effect, OpPattern
from parpass.relay.backend.lowering.rule_registry import injective_rule, templates_of
from parpass.relay.op import Op
from parpass.relay.op.dyn.counterpart import COUNTERPARTS
from parpass.relay.transform.gradients.operator_gradients import SHIPPED
from parpass.relay.transform.layout.layout_rules import LAYOUT_RULES
from tests.support.relay.op.dyn_strategies import DYNAMIC
from tests.support.relay.op.nn_strategies import NETWORKS
from tests.support.relay.op.op_strategies import TENSORS
from tests.support.relay.op.shapes import Maker

GENERATED: dict[str, Maker] = TENSORS | NETWORKS | DYNAMIC
"""What makes well-typed calls of each operator, by name."""

TABLE = Path(__file__).parents[3] / "relay/op/operators.txt"


class Row(NamedTuple):
    """A line of the table.

    Attributes:
        pattern: The fusion pattern.
        effect: The effect.
        facets: What else it has: `attributes`; `dynamic`, a form whose attributes are
            arguments; `gradient`; `layout`, a rule by which layouts pass it; `loops`, a
            rule of lowering; `moves`, whether it moves bits as they are; `uncomputed`,
            whether it computes nothing; `weights`, argument types that others tell.
    """

    pattern: OpPattern
    effect: Effect
    facets: frozenset[str]

    def line(self, name: str) -> str:
        """Return the line of an operator."""
        words = [self.pattern.name.lower(), self.effect.name.lower()]
        return " ".join([name, *words, *sorted(self.facets)])


def shipped() -> list[Op]:
    """Return Relay's operators, without those that tests registered."""
    names = Op.list_op_names()
    return [Op.get(name) for name in names if not name.startswith(("test.", "tir."))]


def declared(op: Op) -> Row:
    """Return what an operator has by its declaration and the tables of rules."""
    has = {
        "attributes": op.attrs_type is not None,
        "dynamic": f"dyn.{op.name}" in COUNTERPARTS,
        "gradient": op.name in SHIPPED,
        "layout": op.name in LAYOUT_RULES,
        "loops": injective_rule(op.name) is not None or bool(templates_of(op.name)),
        "moves": op.moves,
        "uncomputed": op.non_computational,
        "weights": op.argument_types is not None,
    }
    return Row(op.pattern, op.effect, frozenset(name for name, it in has.items() if it))


def _read() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for line in TABLE.read_text().splitlines():
        if not line.startswith("#"):
            name, pattern, effect, *facets = line.split()
            row = OpPattern[pattern.upper()], Effect[effect.upper()], frozenset(facets)
            rows[name] = Row(*row)
    return rows


ROWS = _read()


def with_facet(facet: str) -> list[str]:
    """Return the names of the operators that have a facet by the table."""
    return [name for name, row in ROWS.items() if facet in row.facets]
