"""ONNX's backend cases, against a table of those that are not supported."""

from __future__ import annotations

import pytest

from parpass.relay.frontend.onnx.operators import CONVERTERS
from tests.support.onnx_cases import cases, model_of, run
from tests.support.onnx_unsupported import NO_CONVERTER, UNSUPPORTED

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted")
REASONS = {name: why for why, names in UNSUPPORTED.items() for name in names.split()}


def unknown_operators(name: str) -> set[str]:
    """Return the operators of a node case that have no converter."""
    nodes = model_of(cases("node")[name]).graph.node
    return {node.op_type for node in nodes if node.op_type not in CONVERTERS}


def runs(name: str) -> bool:
    """Return whether a case is imported and gives what it should."""
    kind = next(kind for kind in KINDS if name in cases(kind))
    try:
        run(cases(kind)[name])
    except Exception:  # noqa: BLE001 -- however it fails, it does not work
        return False
    return True


def foreign(name: str) -> bool:
    """Return whether a node case has operators of other domains than ONNX's."""
    return any(node.domain for node in model_of(cases("node")[name]).graph.node)


def test_the_table_has_no_case_that_works() -> None:
    assert [name for name in REASONS if runs(name)] == []


def test_the_table_has_no_operator_that_has_a_converter() -> None:
    used = {one for name in cases("node") for one in unknown_operators(name)}
    assert used == set(NO_CONVERTER.split())


@pytest.mark.stress
@pytest.mark.parametrize("kind", KINDS)
def test_every_case_that_is_not_in_the_table_works(kind: str) -> None:
    known = [
        name
        for name in cases(kind)
        if kind != "node" or not (unknown_operators(name) or foreign(name))
    ]
    failing = [name for name in known if name not in REASONS and not runs(name)]
    assert failing == []
