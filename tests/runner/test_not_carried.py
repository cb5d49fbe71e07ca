"""What docs/workers.md says is not carried is not: if it comes to be, it says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from parpass.runner import Runner
from parpass.transform import Pass
from tests.support.runner.pooled import run_pooled
from tests.support.toy import kept
from tests.support.toy.ir import program, values_of
from tests.support.toy.probing import Probe

var: ContextVar[int] = ContextVar("test_not_carried", default=0)


@pytest.fixture
def changed() -> Iterator[None]:
    """Change what workers have of their own."""
    token = var.set(1)
    kept.KEPT.append("here")
    yield
    kept.KEPT.clear()
    var.reset(token)


def read_list() -> Any:
    return list(kept.KEPT)


def read_variable() -> Any:
    return var.get()


@pytest.mark.usefixtures("changed")
@pytest.mark.parametrize(
    ("read", "there"),
    [(read_list, []), (read_variable, 0)],
    ids=["a list of a module", "a contextvar"],
)
def test_it_is_as_its_module_has_it(
    runner: Runner, read: Callable[[], Any], there: Any
):
    probe: Pass = Probe(read)
    seen = {values[-1] for values in _lasting(run_pooled(runner, probe, program(1, 2)))}
    assert seen == {str(there)}
    assert str(read()) != str(there)


def _lasting(mod: Any) -> list[list[str]]:
    return [[str(value) for value in values] for values in values_of(mod).values()]
