"""Function passes that break the contract are found, and those that keep it pass."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from parpass.api import run_pipeline_sync
from parpass.errors import ContractError, InputChangedError, LawError, RuntimeUseError
from parpass.relay import parse
from parpass.runner.check.checker import ContractChecker
from parpass.runner.check.codec_check import CODEC
from parpass.runner.follow.snapshot import Snapshot
from parpass.transform import (
    BlobSink,
    FunctionPass,
    Pass,
    PassContext,
    Sequential,
    adapter_of,
    module_pass,
    parse_pipeline,
    register_adapter,
)
from parpass.transform.function_copies import round_trip_all
from tests.conftest import RunnerOf
from tests.runner.check.lazily_imported import UsesLazyImports
from tests.runner.check.outside_readers import PURE, READS, Ask, AskUndeclared
from tests.support.registering import registering_for_a_while
from tests.support.relay.breaking import PROGRAM
from tests.support.runner.pooled import POOLED
from tests.support.toy import careless
from tests.support.toy.box_ir import boxed
from tests.support.toy.counting_ir import (
    Counted,
    Drop,
    Look,
    Names,
    New,
    Shown,
    ShownAdapter,
)
from tests.support.toy.hard_passes import Exit
from tests.support.toy.ir import Fn, Program, program, values_of
from tests.support.toy.passes import Add, AddFrom, FailOn
from tests.support.toy.pipelines import see


@pytest.fixture(scope="module")
def checker() -> Iterator[ContractChecker]:
    checker = ContractChecker()
    yield checker
    checker.close()


def fault(
    checker: ContractChecker, a_pass: Pass, given: Any = None
) -> ContractError | LawError | None:
    mod = program(1, 2, 3) if given is None else given
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
        (careless.WritesInput(), "changed function 'f0' of its input in place"),
        (careless.UsesHashes(), "gave another result in another process"),
        (careless.UsesSets(), "gave another result in another process"),
        (careless.Warns(), "gave another result in another process"),
        (careless.UsesProcess(), "gave another result in another process"),
        (careless.UsesFirst(), "gave another result in another process"),
        (careless.UsesTimes(), "gave another result when it ran again"),
        (careless.FailsByHash(), "ValueError: "),
    ],
)
def test_a_pass_that_breaks_the_contract_is_found(
    checker: ContractChecker, a_pass: FunctionPass, complaint: str
):
    error = fault(checker, a_pass)
    assert isinstance(error, ContractError)
    assert complaint in str(error)
    assert error.pass_name == a_pass.info.name


def test_a_pass_that_keeps_what_it_returned_is_found(checker: ContractChecker):
    error = fault(checker, careless.KeepsResults(), boxed({"f0": Fn((1,))}))
    assert error is not None
    assert "when it ran again" in str(error)
    assert "it was discarded" in str(error)


def test_what_differs_is_shown(checker: ContractChecker):
    error = fault(checker, careless.UsesProcess())
    assert error is not None
    assert error.difference.startswith("Fn(values=(1, ")
    assert error.function == "f0"


@pytest.mark.parametrize(
    "a_pass",
    [
        *(careless.Orderly(), careless.Copies(), Add(2), AddFrom("f1"), FailOn(2)),
        UsesLazyImports(),
    ],
)
def test_a_pass_that_keeps_the_contract_is_not(checker: ContractChecker, a_pass: Pass):
    assert fault(checker, a_pass) is None


def test_a_pass_that_kills_its_process_is_left_to_the_run(checker: ContractChecker):
    assert fault(checker, Exit(2)) is None
    assert fault(checker, careless.WritesItself()) is not None


def test_a_pass_that_hangs_is_left_to_the_run(checker: ContractChecker):
    assert fault(checker, careless.Hangs()) is None


STEPS = (New(), Drop(), Look(), New(), New())


def first_law_fault(checker: ContractChecker, mod: Counted) -> LawError | None:
    """Check a pipeline, step by step, as a run does."""
    adapter = adapter_of(mod, "test")
    for step in STEPS:
        mod = round_trip_all(adapter, mod)  # as workers send it back
        error = fault(checker, step, mod) if step.is_functionwise else None
        assert not isinstance(error, ContractError)
        if error is not None:
            return error
        mod = step(mod)
    return None


def test_a_codec_that_passes_see_is_found(checker: ContractChecker):
    functions = {"f": Names.of(0), "g": Names.of(5)}
    assert first_law_fault(checker, Counted(functions)) is None
    error = first_law_fault(checker, Shown(functions))
    assert error is not None
    assert (error.pass_name, error.function) == ("New", "f")
    assert (error.adapter, error.method) == ("ShownAdapter", CODEC)
    assert error.difference.startswith("Names(numbers=(0, 2), ")
    assert "set round_trip_between_passes = True" in str(error)


class Lossy(ShownAdapter):
    """Loses the last name."""

    def encode_function(self, function: Names, blob_sink: BlobSink) -> bytes:
        return super().encode_function(Names(function.numbers[:-1], 0), blob_sink)


def test_a_codec_that_loses_something_is_found(checker: ContractChecker):
    with registering_for_a_while():
        register_adapter(Shown, Lossy())
        error = fault(checker, New(), Shown({"f": Names.of(0, 1)}))
    assert isinstance(error, LawError)
    assert (error.adapter, error.function, error.pass_name) == ("Lossy", "f", "")


CHECKED = {"parpass.check_contract": True}
LONG = pytest.mark.stress  # as each run starts processes of its own to check passes in


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=LONG)])
def test_a_checked_run_gives_the_same(runner_of: RunnerOf, workers: int):
    found = runner_of(workers).run_sync(
        program(1, 2), [Add(1), Add(2)], context=PassContext(config=CHECKED)
    )
    assert values_of(found) == {"f0": (4,), "f1": (5,)}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, pytest.param(0, marks=LONG)])
def test_a_checked_run_raises(runner_of: RunnerOf, workers: int):
    with pytest.raises(ContractError, match="changed its attribute 'count'"):
        runner_of(workers).run_sync(
            program(1, 2),
            [Add(1), careless.WritesItself()],
            context=PassContext(config={**CHECKED, **POOLED}),
        )


@pytest.mark.slow
def test_a_checked_run_names_the_pass_that_raises_systemexit(runner_of: RunnerOf):
    steps, mod = Sequential([Add(1), FailOn(2, SystemExit)]), program(1)
    config = {"parpass.check_contract": True}
    serial = see(steps, mod, settings={"config": config})
    assert serial.error is not None
    parallel = see(
        steps,
        mod,
        run=lambda root, mod: runner_of(1).run_sync(mod, root),
        settings={"config": {**config, **POOLED}},
    )
    assert parallel == serial


def test_relays_passes_keep_it():
    context = PassContext(3, config={"parpass.check_contract": True})
    passes = "InferType,FoldConstant,EliminateCommonSubexpr,DeadCodeElimination"
    made = run_pipeline_sync(parse(PROGRAM), passes, context=context, workers=0)
    with PassContext(3):
        assert str(made) == str(parse_pipeline(passes)(parse(PROGRAM)))


class Locked(Add):
    """Has a lock."""

    def __init__(self) -> None:
        super().__init__(1)
        self.lock = threading.Lock()


def test_a_pass_that_cannot_be_sent_is_named_with_its_part(checker: ContractChecker):
    with pytest.raises(RuntimeUseError, match=r"pass 'Add'.*: Add\.lock: TypeError"):
        fault(checker, Locked())


@module_pass(opt_level=0)
def writes(mod: Program, ctx: PassContext) -> Program:
    """Writes to the module that it is given."""
    mod["new"] = Fn((9,))
    return mod


def test_a_module_pass_that_writes_to_its_argument_is_found():
    with PassContext(config={"parpass.check_contract": True}):
        writes_not = Add(1)(program(1))
        with pytest.raises(InputChangedError, match="'writes' changed the module"):
            writes(Program({**writes_not.functions}))


@pytest.mark.slow
@pytest.mark.parametrize("what", READS)
def test_a_declared_pass_that_reads_the_outside_is_found(
    checker: ContractChecker, what: str
):
    found = fault(checker, Ask(what))
    read = what.partition(" of ")[0]
    assert f"no key covers, by {read}, on function 'f0'" in str(found)
    assert fault(checker, AskUndeclared(what)) is None


@pytest.mark.slow
@pytest.mark.parametrize("what", PURE)
def test_a_declared_pass_that_reads_nothing_is_let_alone(
    checker: ContractChecker, what: str
):
    assert fault(checker, Ask(what)) is None
