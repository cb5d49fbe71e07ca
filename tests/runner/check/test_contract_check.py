"""Function passes that break the contract are found, and those that keep it pass."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from parpass.errors import ContractError
from parpass.relay import parse
from parpass.runner.check.contract_check import ContractChecker
from parpass.runner.run import run_pipeline_sync
from parpass.runner.travel.snapshot import Snapshot
from parpass.transform import (
    FunctionPass,
    Pass,
    PassContext,
    adapter_of,
    parse_pipeline,
)
from tests.support import careless
from tests.support.box_ir import boxed
from tests.support.breaking import PROGRAM
from tests.support.hard_passes import Exit
from tests.support.toy_ir import Fn, Program, program, values_of
from tests.support.toy_passes import Add, AddFrom, FailOn


@pytest.fixture(scope="module")
def checker() -> Iterator[ContractChecker]:
    checker = ContractChecker()
    yield checker
    checker.close()


def fault(
    checker: ContractChecker, a_pass: Pass, mod: Program | None = None
) -> ContractError | None:
    mod = program(1, 2, 3) if mod is None else mod
    adapter = adapter_of(mod, "test")
    return checker.check(a_pass, mod, adapter, Snapshot.take(PassContext()))


@pytest.mark.parametrize(
    ("a_pass", "complaint"),
    [
        (careless.WritesItself(), "changed its attribute 'count', on function 'f0'"),
        (careless.WritesInsideItself(), "changed its attribute 'seen'"),
        (careless.WritesGlobal(), "changed the global 'SEEN'"),
        (
            careless.WritesItsClass(),
            "changed the attribute 'total' of class 'WritesIts",
        ),
        (careless.WritesElsewhere(), "changed the global 'kept.KEPT'"),
        (careless.counting(), "changed the variable 'count' around it"),
        (careless.WritesInput(), "changed function 'f0', that it was given, in its"),
        (careless.UsesHashes(), "gave something else in another process"),
        (careless.UsesSets(), "gave something else in another process"),
        (careless.Warns(), "gave something else in another process"),
        (careless.UsesProcess(), "gave something else in another process"),
        (careless.UsesFirst(), "gave something else in another process"),
        (careless.UsesTimes(), "gave something else when it was run again"),
        (careless.FailsByHash(), "ValueError: "),
    ],
)
def test_a_pass_that_breaks_the_contract_is_found(
    checker: ContractChecker, a_pass: FunctionPass, complaint: str
):
    error = fault(checker, a_pass)
    assert error is not None
    assert complaint in str(error)
    assert error.pass_name == a_pass.info.name


def test_a_pass_that_keeps_what_it_returned_is_found(checker: ContractChecker):
    error = fault(checker, careless.KeepsResults(), boxed({"f0": Fn((1,))}))
    assert error is not None
    assert "when it was run again" in str(error)
    assert "it was discarded" in str(error)


def test_what_differs_is_shown(checker: ContractChecker):
    error = fault(checker, careless.UsesProcess())
    assert error is not None
    assert error.difference.startswith("Fn(values=(1, ")
    assert error.function == "f0"


@pytest.mark.parametrize(
    "a_pass", [careless.Orderly(), Add(2), AddFrom("f1"), FailOn(2)]
)
def test_a_pass_that_keeps_the_contract_is_not(checker: ContractChecker, a_pass: Pass):
    assert fault(checker, a_pass) is None


def test_a_pass_that_kills_its_process_is_left_to_the_run(checker: ContractChecker):
    assert fault(checker, Exit(2)) is None
    assert fault(checker, careless.WritesItself()) is not None


def test_a_pass_that_hangs_is_left_to_the_run(checker: ContractChecker):
    assert fault(checker, careless.Hangs()) is None


@pytest.mark.parametrize("workers", [0, 1])
def test_a_checked_run_raises_or_gives_the_same(workers: int):
    context = PassContext(config={"parpass.check_contract": True})
    found = run_pipeline_sync(
        program(1, 2), [Add(1), Add(2)], context=context, workers=workers
    )
    assert values_of(found) == {"f0": (4,), "f1": (5,)}
    with pytest.raises(ContractError, match="changed its attribute 'count'"):
        run_pipeline_sync(
            program(1, 2),
            [Add(1), careless.WritesItself()],
            context=context,
            workers=workers,
        )


@pytest.mark.slow
def test_relays_passes_keep_it():
    context = PassContext(3, config={"parpass.check_contract": True})
    passes = "InferType,FoldConstant,EliminateCommonSubexpr,DeadCodeElimination"
    made = run_pipeline_sync(parse(PROGRAM), passes, context=context, workers=0)
    with PassContext(3):
        assert str(made) == str(parse_pipeline(passes)(parse(PROGRAM)))
