from __future__ import annotations

import gc
import itertools
import os
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace

import pytest

from parpass.runner import open_runner
from parpass.runner.cost_model import BYTES_PER_NODE, COST_MODEL
from parpass.runner.executor import DEFAULT_START_SECONDS
from parpass.runner.follow.snapshot import Snapshot
from parpass.runner.ipc.batch import EncodedFunction, decode
from parpass.runner.ipc.function_file import (
    FunctionIndex,
    index_file_name,
    spec_file_name,
)
from parpass.runner.ipc.messages import Job, JobResult, JobTimes
from parpass.runner.ipc.module_store import FunctionHandle, ModuleStore, StoredModule
from parpass.runner.ipc.shared_dir import SharedDirectory
from parpass.runner.observers import RunObserver
from parpass.runner.pool import remote_stage, stage_writer
from parpass.runner.pool.remote_stage import RemoteStage
from parpass.runner.pool.scheduler_events import FunctionsReady
from parpass.runner.pool.worker_pool import Pool
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform import (
    BlobSink,
    FunctionPass,
    Pass,
    PassContext,
    PassInfo,
    Source,
    gc_pause,
)
from parpass.transform.checked_adapter import checked
from parpass.transform.gc_pause import MAX_GC_PAUSE_SECONDS
from parpass.transform.plan.commands import RunStage
from tests.support.runner.costs import forget_costs
from tests.support.runner.pooled import kept_folders, new_pipe, pooled
from tests.support.toy.ir import Fn, Program, RunAdapter, ToyAdapter, program
from tests.support.toy.passes import Add, FailOn

BYTES = 10_000  # of a packed function


class SlowAdapter(ToyAdapter):
    """Takes longer to pack a function than is packed before others hear of it."""

    def encode_function(self, function: Fn, blob_sink: BlobSink) -> bytes:
        until = time.perf_counter() + 0.0006
        while time.perf_counter() < until:
            pass
        return bytes(BYTES)


@pytest.fixture(autouse=True)
def _unknown_cost() -> None:
    forget_costs()


@pytest.fixture
def store() -> Iterator[ModuleStore]:
    store = ModuleStore(checked(SlowAdapter()))
    yield store
    store.close()


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleStore]:
    """A store whose functions are encoded together, however busy the machine is."""
    monkeypatch.setattr(stage_writer, "_FIRST_ENCODE_SECONDS", 60.0)
    store = ModuleStore(checked(RunAdapter()))
    yield store
    store.close()


def pooled_stage(
    store: ModuleStore,
    passes: list[Pass],
    mod: Program | StoredModule,
    *,
    workers: int = 1,
    was_warm: bool = True,
    observers: RunObserver | None = None,
) -> RemoteStage:
    held = store.wrap(mod)
    return RemoteStage(
        RunStage(tuple(passes), mod, wanted=True, is_last=True),
        held,
        Snapshot.take(PassContext()),
        store,
        StageOutcomes(list(held.handles), len(passes)),
        workers=workers,
        start_seconds=DEFAULT_START_SECONDS,
        local_seconds=None,
        was_warm=was_warm,
        observers=RunObserver() if observers is None else observers,
    )


def test_large_functions_are_packed_first_the_largest_before_others(
    store: ModuleStore,
):
    sizes = [1, 3_000, 1, 9_000, 1, 6_000]
    functions = {f"f{at}": Fn((0,) * size) for at, size in enumerate(sizes)}
    stage = pooled_stage(store, [Add(1)], Program(functions))
    order: list[int] = []
    while (ready := stage.writer.encode_some()) is not None:
        order += ready.functions
    assert order == [3, 5, 1, 0, 2, 4]


@pytest.mark.parametrize(
    ("pace", "announced"), [(None, 1), (0.03 / 25_000, 3), (1.0, 1), (1e-9, 5)]
)
def test_where_costs_are_known_the_first_functions_are_work_for_a_while(
    store: ModuleStore,
    monkeypatch: pytest.MonkeyPatch,
    pace: float | None,
    announced: int,
):
    # Packing ends after some milliseconds in any case: those of an idle machine.
    clock = SimpleNamespace(perf_counter=itertools.count(step=0.0004).__next__)
    monkeypatch.setattr(remote_stage, "time", clock)
    monkeypatch.setattr(stage_writer, "time", clock)
    passes: list[Pass] = [Add(1)]
    forget_costs()
    if pace is not None:
        COST_MODEL.update(passes, [pace * BYTES_PER_NODE], 1)
    stage = pooled_stage(store, passes, program(*range(60)))
    first, second = stage.writer.encode_some(), stage.writer.encode_some()
    forget_costs()
    assert isinstance(first, FunctionsReady)
    assert isinstance(second, FunctionsReady)
    assert [len(first.functions), second.functions[0]] == [announced, announced]


def apart(stage: RemoteStage, *functions: int) -> Mapping[int, EncodedFunction]:
    """Return those of the functions that go with their job, without their bundle."""
    job = Job.decoded(stage.job(functions))
    return job.attached


def slots_of(stage: RemoteStage) -> FunctionIndex:
    """Return the entries that workers read, of a stage that has files."""
    job = Job.decoded(stage.job([0, 1]))
    return FunctionIndex.open(
        SharedDirectory(os.fsdecode(job.folder)), index_file_name(job.stage)
    )


def test_functions_of_a_bundle_are_in_the_same_place_and_weigh_alike(runs: ModuleStore):
    functions = {f"f{at}": Fn((0,) * at) for at in range(3)}
    stage = pooled_stage(runs, [Add(1)], Program(functions))
    ready = stage.writer.encode_some()
    assert isinstance(ready, FunctionsReady)
    assert len(set(ready.weights)) == 1
    slots = [slots_of(stage)[at] for at in range(3)]
    assert [slot.at for slot in slots] == [0, 1, 2]
    assert len({slot.offset for slot in slots}) == 1
    assert not apart(stage, 0, 1, 2)


def test_a_function_that_is_run_alone_goes_without_its_bundle(runs: ModuleStore):
    stage = pooled_stage(runs, [Add(1)], program(1, 2, 3))
    stage.writer.encode_some()
    alone = apart(stage, 1)[1]
    assert decode(alone, runs.adapter, runs.blobs.source, None) == Fn((2,))


def test_others_go_with_their_bundles_until_one_is_run_alone_again(runs: ModuleStore):
    stage = pooled_stage(runs, [Add(1)], program(*range(1, 8)))
    stage.writer.encode_some()
    assert [*apart(stage, 0)] == [0]
    assert not apart(stage, 1, 2)
    assert [*apart(stage, 2)] == [2]
    assert [*apart(stage, 3, 4)] == [3, 4]


def test_a_large_function_that_is_run_alone_is_not_packed_again(runs: ModuleStore):
    large = Fn(tuple(range(10_000)))
    stage = pooled_stage(runs, [Add(1)], Program({"f0": large, "f1": Fn((1,))}))
    stage.writer.encode_some()
    assert not apart(stage, 0)


def whole(stage: RemoteStage, *functions: int) -> tuple[list[str], list[int], bool]:
    """Return the files of a stage, what a job of it has, and whether that is all."""
    job = Job.decoded(stage.job(functions))
    files = SharedDirectory(os.fsdecode(job.folder)).names("")
    stage_files = [name for name in files if name.endswith(f"-{job.stage}")]
    return stage_files, [*job.attached], job.spec is not None


def test_a_small_stage_of_one_job_has_no_files_and_each_job_has_all_of_it(
    runs: ModuleStore,
):
    passes: list[Pass] = [Add(1)]
    forget_costs()
    one = pooled_stage(runs, passes, program(1))
    one.writer.encode_some()
    assert whole(one, 0) == ([], [0], True)
    COST_MODEL.update(passes, [1e-9], 1)
    light = pooled_stage(runs, passes, program(1, 2, 3))
    light.writer.encode_some()
    assert whole(light, 0, 1, 2) == whole(light, 2) == ([], [0, 1, 2], True)
    forget_costs()
    COST_MODEL.update(passes, [1.0], 1)
    heavy = pooled_stage(runs, passes, program(1, 2, 3))
    heavy.writer.encode_some()
    files, attached, is_all = whole(heavy, 0, 1, 2)
    assert (len(files), attached, is_all) == (3, [], False)
    forget_costs()


def test_a_large_function_has_files(runs: ModuleStore):
    stage = pooled_stage(runs, [Add(1)], Program({"f0": Fn(tuple(range(40_000)))}))
    stage.writer.encode_some()
    files, attached, is_all = whole(stage, 0)
    assert (len(files), attached, is_all) == (3, [], False)


def test_all_are_packed_for_those_that_read_them_though_the_rest_stays_here(
    store: ModuleStore,
):
    stage = pooled_stage(store, [Add(1)], program(*range(40)))
    stage.writer.encode_some()
    assert not slots_of(stage).is_written(39)
    stage.is_reclaimed = True
    while stage.writer.encode_some() is not None:
        pass
    assert slots_of(stage).is_written(39)


def test_bytes_that_are_kept_from_one_stage_to_the_next_are_written_down_once(
    runs: ModuleStore,
):
    encoder = runs.encoder()
    packed = [encoder.encode(Fn((at,))) for at in range(3)]
    encoder.close()
    held = {f"f{at}": FunctionHandle(encoded=one) for at, one in enumerate(packed)}
    mod = StoredModule(program(0, 0, 0), held)
    counter = ByteCounter()
    stage = pooled_stage(runs, [Add(1)], mod, observers=counter)
    stage.writer.encode_some()
    spec = Path(runs.folder.path, spec_file_name(1)).stat().st_size
    assert 0 <= counter.sent - spec - len(packed[0].batch.payload) < 20
    assert not apart(stage, 1)  # there is no object to pack anew


class ByteCounter(RunObserver):
    """Adds up the bytes of passes and functions."""

    sent = 0

    def bytes_sent(self, size: int) -> None:
        self.sent += size


@pytest.mark.parametrize(("was_warm", "seconds"), [(False, 3.0 + 2.0 + 2.0), (True, 0)])
def test_a_worker_is_starting_until_its_first_job(
    store: ModuleStore, monkeypatch: pytest.MonkeyPatch, was_warm: bool, seconds: float
):
    clock = SimpleNamespace(perf_counter=iter([96.0, *[100.0] * 9]).__next__)
    monkeypatch.setattr(remote_stage, "time", clock)
    stage = pooled_stage(store, [Add(1)], program(0), workers=3, was_warm=was_warm)
    for process, spent in ((1, 1.0), (1, 1.0), (2, 2.0)):
        result = JobResult({}, JobTimes(spent, process=process))
        stage.accept_result(result.encoded())
    # The third one has had none.
    assert stage.starting_seconds() == seconds


class WastefulAdapter(ToyAdapter):
    """Makes more objects of a function than the collector leaves alone.

    Args:
        seconds: How long it takes for each.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.made: list[list[object]] = []

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: Program
    ) -> Fn:
        until = time.perf_counter() + self.seconds
        self.made += [[] for _ in range(2 * gc.get_threshold()[0])]
        while time.perf_counter() < until:
            pass
        return super().decode_function(encoded, sources, mod)


def collections_while_looked_at(adapter: WastefulAdapter, functions: int) -> int:
    """Return how often the collector looks while so many functions are unpacked."""
    store = ModuleStore(checked(adapter))
    mod = program(*range(functions))
    stage = pooled_stage(store, [Add(1)], mod)
    encoder = store.encoder()
    packed = [encoder.encode(function) for function in mod.functions.values()]
    encoder.close()
    seen: list[str] = []
    gc.callbacks.append(watch := lambda phase, info: seen.append(phase))
    waiting = deque([FunctionHandle(encoded=one) for one in packed])
    while waiting:
        stage.decode_some(waiting)
    gc.callbacks.remove(watch)
    store.close()
    return seen.count("stop")


def test_the_collector_looks_at_several_small_functions_at_once(
    monkeypatch: pytest.MonkeyPatch,
):
    # So long a moment that no wait for a core is longer.
    monkeypatch.setattr(gc_pause, "MAX_GC_PAUSE_SECONDS", 60.0)
    assert collections_while_looked_at(WastefulAdapter(), 30) < 15


def test_the_collector_rests_no_longer_than_a_moment():
    slow = WastefulAdapter(MAX_GC_PAUSE_SECONDS * 1.1)
    assert collections_while_looked_at(slow, 5) >= 5


class WaitsForWithdrawal(FunctionPass):
    """Waits, on all functions but the first, until a job was withdrawn."""

    pass_info = PassInfo(0, "WaitsForWithdrawal")

    def __init__(self, pipe: Path) -> None:
        self.pipe = pipe

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if 0 not in func.values:
            self.pipe.open().close()  # once there is who may write to it
        return func


class TellsOfWithdrawal(Pool):
    """A pool that opens a pipe, for good, once it has withdrawn a job."""

    def __init__(self, pipe: Path) -> None:
        super().__init__(2)
        self._pipe = pipe
        self.opened: list[int] = []

    def withdraw(self, answer: Future[bytes]) -> bool:
        is_withdrawn = super().withdraw(answer)
        if is_withdrawn:
            self.opened.append(os.open(self._pipe, os.O_RDWR))
        return is_withdrawn


@pytest.mark.slow
def test_a_directory_is_kept_though_a_job_was_withdrawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stage_writer, "_FIRST_ENCODE_SECONDS", 60.0)
    pipe, before = new_pipe(tmp_path), kept_folders()
    executor = TellsOfWithdrawal(pipe)
    steps = [WaitsForWithdrawal(pipe), FailOn(0)]
    with open_runner(executor=executor) as runner:
        with pytest.raises(ValueError, match="met 0"):
            runner.run_sync(program(*range(4)), steps, context=pooled())
        assert executor.opened
        assert len(kept_folders() - before) == 1
    executor.close()
    for descriptor in executor.opened:
        os.close(descriptor)
