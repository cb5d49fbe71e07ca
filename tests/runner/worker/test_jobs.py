from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from parpass.runner import Runner
from parpass.runner.follow.payload import (
    UnloadableError,
    UnsendableError,
    encode_payload,
)
from parpass.runner.follow.snapshot import Snapshot
from parpass.runner.ipc.batch import (
    EncodedFunction,
    EncodedFunctions,
    FunctionEncoder,
    decode,
)
from parpass.runner.ipc.function_file import (
    FunctionIndex,
    append_batch,
    function_file_name,
    index_file_name,
    spec_file_name,
)
from parpass.runner.ipc.function_outcome import Cutoff
from parpass.runner.ipc.messages import Job, JobResult, StageSpec
from parpass.runner.ipc.module_store import ModuleStore
from parpass.runner.ipc.status_board import StatusBoard
from parpass.runner.worker import jobs as worker
from parpass.transform import FunctionPass, ModuleAdapter, Pass, PassContext, PassInfo
from parpass.transform.checked_adapter import checked
from tests.support.runner.pooled import pooled
from tests.support.toy.ending import EndsOnTheWay
from tests.support.toy.hard_passes import Remember
from tests.support.toy.ir import Fn, Program, RunAdapter, ToyAdapter, program
from tests.support.toy.passes import Add, AddFrom, FailOn

ADAPTER = ToyAdapter()
NOWHERE = Cutoff(sys.maxsize)


class Run:
    """A run as the coordinator would publish it, for jobs that are run here."""

    def __init__(self, adapter: ModuleAdapter = ADAPTER) -> None:
        self.adapter = checked(adapter)
        self.store = ModuleStore(self.adapter)
        self.folder = self.store.folder

    def publish(
        self, stage: int, steps: Sequence[Pass], mod: Program, known: int | None = None
    ) -> None:
        snapshot = Snapshot.take(PassContext())
        shell = self.adapter.encode_shell(mod)
        spec = StageSpec(steps, snapshot, self.adapter, shell, list(mod.functions))
        self.folder.publish(
            spec_file_name(stage), encode_payload(steps, spec.adapter, spec)
        )
        writer = self.folder.open_writer(function_file_name(stage))
        self.slots = FunctionIndex.create(
            self.folder, index_file_name(stage), len(mod.functions)
        )
        encoder = FunctionEncoder(self.adapter, self.store.blobs.put)
        packed = [encoder.encode(function) for function in mod.functions.values()]
        encoder.close()
        batches = dict.fromkeys(one.batch for one in packed)
        slots = {batch: append_batch(writer, batch) for batch in batches}
        self.written = [slots[one.batch]._replace(at=one.at) for one in packed]
        self.fill(*range(len(packed) if known is None else known))
        writer.close()

    def send_whole(
        self, stage: int, steps: Sequence[Pass], mod: Program, *functions: int
    ) -> JobResult:
        """Run a job that has all of its stage, which is published nowhere."""
        shell = self.adapter.encode_shell(mod)
        snapshot = Snapshot.take(PassContext())
        spec = StageSpec(steps, snapshot, self.adapter, shell, list(mod.functions))
        encoder = FunctionEncoder(self.adapter, self.store.blobs.put)
        packed = [encoder.encode(function) for function in mod.functions.values()]
        encoder.close()
        encoded = encode_payload(steps, spec.adapter, spec)
        job = Job(
            os.fsencode(self.folder.path),
            stage,
            functions,
            NOWHERE,
            attached=EncodedFunctions(dict(enumerate(packed))),
            spec=encoded,
        )
        return JobResult.decoded(worker.run_job(job.encoded()))

    def fill(self, *functions: int) -> None:
        for function in functions:
            self.slots[function] = self.written[function]

    def work(self, stage: int, *functions: int, cutoff: Cutoff = NOWHERE) -> JobResult:
        job = Job(os.fsencode(self.folder.path), stage, functions, cutoff)
        return JobResult.decoded(worker.run_job(job.encoded()))

    def _decoded(self, function: EncodedFunction) -> Fn:
        return decode(function, self.adapter, self.store.blobs.source, None)

    def values(self, result: JobResult) -> list[Any]:
        return [
            None if made is None else self._decoded(made).values
            for made in map(result.functions.get, result.outcomes)
        ]


@pytest.fixture
def run() -> Iterator[Run]:
    run = Run()
    yield run
    run.store.close()


@pytest.fixture
def other() -> Iterator[Run]:
    run = Run()
    yield run
    run.store.close()


def test_a_job_gives_an_outcome_for_each_of_its_functions(run: Run):
    run.publish(1, [Add(1)], program(1, 2, 3))
    result = run.work(1, 2, 0)
    assert list(result.outcomes) == [2, 0]
    assert run.values(result) == [(4,), (2,)]


def test_a_job_that_has_all_of_its_stage_needs_no_files_also_for_what_passes_read(
    run: Run,
):
    mod = program(1, 2, 3)
    result = run.send_whole(1, [Add(1), AddFrom("f2")], mod, 0, 1)
    assert list(result.outcomes) == [0, 1]
    assert run.values(result) == [(2, 4), (3, 4)]
    again = run.send_whole(2, [Add(1)], mod, 0)
    assert run.values(again) == [(2,)]
    assert run.folder.names("spec-") == []


def test_a_function_that_came_out_as_the_same_object_is_a_mark(run: Run):
    run.publish(1, [Add(0)], program(1))
    result = run.work(1, 0)
    (outcome,) = result.outcomes.values()
    assert not result.functions
    assert outcome.failure is None


def test_a_failure_is_packed_and_no_pass_is_run_that_comes_after_it(run: Run):
    run.publish(1, [Add(), FailOn(2), Add()], program(0, 1, 2))
    result = run.work(1, 1, 2, 0)
    failed, later, earlier = result.outcomes.values()
    assert str(failed.failure) == "met 2"
    assert [len(one.seconds) for one in (failed, later, earlier)] == [2, 1, 2]
    assert later.failure is None
    assert 2 not in result.functions


def test_what_comes_after_a_failure_elsewhere_is_not_even_unpickled(run: Run):
    odd: Any = EndsOnTheWay("raise", 0)
    run.publish(1, [Add()], program(1, f1=Fn((odd,))))
    result = run.work(1, 1, cutoff=Cutoff(0, 0))
    (outcome,) = result.outcomes.values()
    assert not outcome.seconds
    assert outcome.failure is None
    assert not result.functions


def test_jobs_of_two_runs_may_alternate(run: Run, other: Run):
    run.publish(1, [Add(1)], program(1, 2))
    other.publish(1, [Add(10)], program(5))
    assert run.values(run.work(1, 0)) == [(2,)]
    assert other.values(other.work(1, 0)) == [(15,)]
    assert run.values(run.work(1, 1)) == [(3,)]


def test_a_later_stage_takes_the_place_of_the_one_before(run: Run):
    run.publish(1, [Add(1)], program(1))
    run.work(1, 0)
    run.publish(2, [Add(5)], program(1))
    assert run.values(run.work(2, 0)) == [(6,)]


def test_what_belongs_to_a_run_that_ended_is_forgotten_with_the_next(
    run: Run, other: Run
):
    run.publish(1, [Add(1)], program(1))
    run.work(1, 0)
    path = run.folder.path
    assert path in worker._runs  # pyright: ignore[reportPrivateUsage] -- to see what is kept
    run.store.close()
    other.publish(1, [Add(1)], program(1))
    other.work(1, 0)
    assert path not in worker._runs  # pyright: ignore[reportPrivateUsage] -- to see what is kept


def test_another_function_is_waited_for_until_all_are_published(run: Run):
    run.publish(1, [AddFrom("f1")], program(1, 2, 3), known=1)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(run.work, 1, 0)
        run.fill(1)
        assert run.values(answer.result(timeout=60)) == [(1, 2)]


_order: list[tuple[str, int]] = []


class TakeDown(FunctionPass):
    """Takes down on which function it is run, by its number."""

    pass_info = PassInfo(0, "TakeDown")

    def __init__(self, word: str) -> None:
        self.word = word

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        _order.append((self.word, func.values[0]))
        return func


def test_a_pass_is_run_on_several_small_functions_before_the_next_one_is(run: Run):
    large = Fn((2, *[0] * 200_000))
    mod = program(-1, 0, 1, f3=large, f4=Fn((3,)))
    run.publish(1, [TakeDown("a"), TakeDown("b")], mod)
    _order.clear()
    run.work(1, 0, 1, 2, 3, 4)
    first, small = [("a", -1), ("b", -1)], [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert _order == [*first, *small, ("a", 2), ("b", 2), ("a", 3), ("b", 3)]


def test_a_pass_in_a_worker_sees_another_function_of_its_job_as_it_was_before_it(
    run: Run,
):
    steps = [AddFrom("f1"), Add(1), AddFrom("f0")]
    run.publish(1, steps, program(1, 2))
    together = run.values(run.work(1, 0, 1))
    run.publish(2, steps, program(1, 2))
    assert run.values(run.work(2, 1)) + run.values(run.work(2, 0)) == together[::-1]


def test_what_a_pass_changes_of_itself_is_named_in_one_job_or_over_several(run: Run):
    run.publish(1, [Add(1), Remember()], program(1, 2, 3))
    assert run.work(1, 0).findings.written == []  # it may have made it, to keep it
    assert run.work(1, 1).findings.written == [("Remember", "last")]
    run.publish(2, [Add(1), Remember()], program(1, 2))
    assert run.work(2, 0, 1).findings.written == [("Remember", "last")]


class Unloadable:
    """Raises where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("no number",)


def test_of_a_bundle_the_function_that_cannot_be_unpickled_is_named():
    odd: Any = Unloadable()
    run = Run(RunAdapter())
    functions = {"f0": Fn((1,)), "f1": Fn((odd,)), "f2": Fn((3,)), "f3": Fn((4,))}
    run.publish(1, [Add(1)], Program(functions))
    assert run.values(run.work(1, 0)) == [(2,)]
    for function in (3, 1):
        with pytest.raises(UnloadableError, match=r"^function 'f1' .*no number"):
            run.work(1, function)
    run.store.close()


def test_so_is_that_of_a_job_which_has_all_of_its_stage():
    odd: Any = Unloadable()
    run = Run(RunAdapter())
    mod = Program({"f0": Fn((1,)), "f1": Fn((odd,)), "f2": Fn((3,))})
    with pytest.raises(UnloadableError, match=r"^function 'f1' .*no number"):
        run.send_whole(1, [AddFrom("f2")], mod, 0)
    run.store.close()


def test_the_note_is_idle_after_a_job(run: Run):
    run.publish(1, [Add(1)], program(1))
    run.work(1, 0)
    assert StatusBoard(run.folder).read() == []


def test_a_function_that_cannot_be_sent_back_is_named(run: Run):
    run.publish(1, [Add(0), Returns(Fn((1,)), threading.Lock)], program(1))
    with pytest.raises(UnsendableError, match=r"function 'f0'.*: cannot pickle .*lock"):
        run.work(1, 0)


class Returns(Add):
    """Returns a function that holds something."""

    def __init__(self, function: Fn, make: Callable[[], Any]) -> None:
        super().__init__()
        self.function = function
        self.make = make

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return self.function.with_values((self.make(),))


IMPORTS = """
import sys
import {module}
heavy = {{"trio", "loky", "onnx", "numpy", "rich", "click"}} & set(sys.modules)
print(sorted(heavy))
"""


@pytest.mark.slow
@pytest.mark.parametrize("module", ["parpass", "parpass.runner.worker.jobs"])
def test_importing_is_light(module: str):
    ran = subprocess.run(
        [sys.executable, "-c", IMPORTS.format(module=module)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "[]\n"


def test_a_job_in_somebody_elses_process_leaves_its_collector_alone(run: Run):
    run.publish(1, [Add(1)], program(1))
    gc.disable()
    try:
        run.work(1, 0)
        assert not gc.isenabled()
    finally:
        gc.enable()


class Works(FunctionPass):
    """Counts the functions on which the garbage collector works."""

    pass_info = PassInfo(0, "Works")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        ctx.count("works", int(gc.isenabled()))
        return func


def test_in_a_worker_the_collector_rests_while_passes_run(runner: Runner):
    context = pooled()
    runner.run_sync(program(1, 2), Works(), context=context)
    assert context.statistics["Works"]["works"] == 0
    assert gc.isenabled()
