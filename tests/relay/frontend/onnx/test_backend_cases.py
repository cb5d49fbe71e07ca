"""ONNX's backend cases, against a table of those that are not supported."""

from __future__ import annotations

import pytest

from parpass.relay.frontend.onnx.body import unsupported
from tests.relay.frontend.onnx.unsupported import NO_CONVERTER, UNSUPPORTED
from tests.support.onnx.cases import cases, model_of, run

OTHERS = ("simple", "pytorch-operator", "pytorch-converted")
REASONS = {name: why for why, names in UNSUPPORTED.items() for name in names.split()}
WORKING = 1719
"""How many of the cases of single nodes are imported and run as they stand."""


def unknown_operators(name: str) -> set[str]:
    """Return the operators of a node case that have neither converter nor body."""
    model = model_of(cases("node")[name])
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    return set(unsupported(model.graph.node, {}, opsets))


def works(kind: str, name: str, *, first: int | None = None) -> bool:
    """Return whether a case is imported and gives what it should."""
    # The oldest cases of networks use nothing that has changed since opset 7.
    version = (
        0 if kind == "node" else model_of(cases(kind)[name]).opset_import[0].version
    )
    try:
        run(cases(kind)[name], opset=7 if 0 < version < 7 else None, first=first)
    except Exception:  # noqa: BLE001 -- however it fails, it does not work
        return False
    return True


@pytest.mark.slow
def test_the_table_tells_which_node_cases_work_as_they_stand() -> None:
    """All of them are run, with nothing known but what is in their models."""
    unknown = {name: unknown_operators(name) for name in cases("node")}
    assert {one for names in unknown.values() for one in names} == {
        *NO_CONVERTER.split()
    }
    tried = [name for name, operators in unknown.items() if not operators]
    working = {name for name in tried if works("node", name)}
    assert working == {name for name in tried if name not in REASONS}
    assert len(working) >= WORKING


@pytest.mark.parametrize("kind", OTHERS)
def test_the_table_has_no_case_that_works(kind: str) -> None:
    assert [n for n in REASONS if n in cases(kind) and works(kind, n)] == []


@pytest.mark.stress
@pytest.mark.parametrize("kind", OTHERS)
def test_every_case_that_is_not_in_the_table_works(kind: str) -> None:
    failing = [n for n in cases(kind) if n not in REASONS and not works(kind, n)]
    assert failing == []


@pytest.mark.stress
def test_node_cases_work_too_when_all_but_their_first_inputs_are_known() -> None:
    tried = [
        name
        for name, case in cases("node").items()
        if name not in REASONS
        and not unknown_operators(name)
        and len(model_of(case).graph.input) > 1
    ]
    assert [name for name in tried if not works("node", name, first=1)] == []
