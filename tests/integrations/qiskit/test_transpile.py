"""Many circuits through a pass manager of Qiskit's, as one by one."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dill
import pytest
import trio
from qiskit import QuantumCircuit
from qiskit.transpiler import PassManager

from parpass import PassContext, run_pipeline_sync
from parpass.errors import WorkerDiedError
from parpass.integrations.qiskit import (
    Circuit,
    Circuits,
    PassManagerPass,
    transpile_circuits,
    transpile_circuits_sync,
)
from tests.integrations.qiskit.quantum import EndOn, Twirl, circuits, for_a_line

ROOT = Path(__file__).parents[3]
LEAVE_ALL = {"parpass.asking_workers_seconds": 0.0}


def called(calls: list[Any]) -> Any:
    """Return a callback that takes down what it is called with."""

    def callback(
        pass_: Any, dag: Any, time: float, property_set: Any, count: int
    ) -> None:
        assert time >= 0
        calls.append((pass_, dag.depth(), dag.name, count, sorted(property_set)))

    return callback


def assert_alike(found: list[QuantumCircuit], expected: list[QuantumCircuit]) -> None:
    assert found == expected
    for one, other in zip(found, expected, strict=True):
        assert one.layout == other.layout
        assert (one.name, one.metadata) == (other.name, other.metadata)


@pytest.mark.slow
def test_circuits_layouts_and_callbacks_are_those_of_one_by_one():
    given, manager = circuits(4), for_a_line()
    before = [one.copy() for one in given]
    theirs: list[Any] = []
    ours: list[Any] = []
    expected = [manager.run(one, callback=called(theirs)) for one in given]
    with PassContext(config=LEAVE_ALL):
        found = transpile_circuits_sync(
            given, manager, callback=called(ours), workers=2
        )
    assert_alike(found, expected)
    assert given == before
    assert len(ours) > 4 * 10
    assert ours == theirs  # with the very passes of our pass manager


@pytest.mark.slow
def test_a_dict_gives_a_dict_under_asyncio_and_under_trio():
    given = {f"c{at}": one for at, one in enumerate(circuits(2))}
    manager = for_a_line()
    expected = {name: manager.run(one) for name, one in given.items()}

    async def main() -> dict[str, QuantumCircuit]:
        return await transpile_circuits(given, manager, workers=0)

    for found in asyncio.run(main()), trio.run(main):
        assert list(found) == list(given)
        assert found == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", ["hang", pytest.param("segfault", marks=pytest.mark.stress)]
)
def test_a_circuit_that_crashes_or_hangs_is_named_and_the_others_are_done(
    how: str, capsys: pytest.CaptureFixture[str]
):
    given, manager = circuits(4), PassManager([EndOn(how, "first")])
    named = dict(zip("abcd", given, strict=True))
    limit = 1.0 if how == "hang" else None
    found = transpile_circuits_sync(
        named, manager, workers=1, function_timeout=limit, on_failure="skip"
    )
    assert found == named
    assert "'PassManager' was skipped on function 'a'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_crash_is_an_error_that_names_the_circuit():
    manager = PassManager([EndOn("exit", "first")])
    with pytest.raises(WorkerDiedError, match=r"on function 'first\[0\]'"):
        transpile_circuits_sync(
            [circuits(1)[0], circuits(1)[0]], manager, workers=1, isolated=True
        )


def test_gates_of_classes_of_ones_own_stay_what_they_are():
    [given] = circuits(1)
    module = Circuits({"only": Circuit(given)})
    same = PassManagerPass(PassManager([EndOn("raise", "")]), "Same")
    made = run_pipeline_sync(module, same, workers=0).functions["only"].circuit
    assert any(isinstance(one.operation, Twirl) for one in made.data)
    assert made == given


def can_be_pickled_by_dill(function: Callable[..., Any]) -> bool:
    """Return whether Qiskit's own processes can be sent a function on this Python."""
    try:
        return bool(dill.dumps(function))
    except AttributeError:  # its last release asks code for what it may not have
        return False


@pytest.mark.slow
def test_the_example_gives_what_qiskit_gives():
    command = [sys.executable, "examples/transpile_list.py", "--circuits", "2"]
    told = subprocess.check_output(
        [*command, "--level", "1"], text=True, cwd=ROOT, timeout=120
    )
    first, theirs, plain, calling = told.splitlines()
    rows = [line.split(", ") for line in (first, plain, calling)]
    if can_be_pickled_by_dill(lambda: None):
        rows.insert(1, theirs.split(", "))
    else:
        assert re.match(r"Qiskit, num_processes=\d+ +fails: ", theirs)
    assert [row[-1] for row in rows] == ["2 circuits alike"] * len(rows)
    one_by_one, *silent, called_back = [row[-2].split()[0] for row in rows]
    assert int(one_by_one) > 20
    assert {*silent} == {"0"}
    assert called_back == one_by_one
