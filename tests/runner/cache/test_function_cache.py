"""What is recalled, what is run again, and what is never kept."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from parpass.errors import ArgumentError, CacheMismatchWarning
from parpass.object_store import ObjectStore
from parpass.runner import (
    FunctionCache,
    Runner,
    open_runner,
    propagate,
    run_pipeline_sync,
)
from parpass.runner.observers import CacheFigures
from parpass.transform import (
    FunctionPass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    register_adapter,
)
from parpass.transform.config import ON_FAILURE
from tests.runner.cache.storeless_ir import StorelessProgram
from tests.support.runner.pooled import POOLED
from tests.support.toy.ir import (
    Fn,
    Program,
    ReadOnlyProgram,
    ToyAdapter,
    program,
    values_of,
)
from tests.support.toy.passes import Add, AddFrom, Duplicate, FailOn, Say, Toil
from tests.support.toy.signed_ir import Change, SignedProgram
from tests.support.toy.talking import LOGGER, Talk


def open_nothing() -> Any:
    return open(os.devnull)


def iter_once() -> Iterator[int]:
    yield 1


@pytest.fixture
def cached() -> Iterator[Runner]:
    """Give a runner without workers that has a cache, in which something was run."""
    with open_runner(workers=0, cache=FunctionCache()) as runner:
        runner.run_sync(program(0), Add(0))  # what a first run imports is known
        yield runner


def figures(runner: Runner) -> CacheFigures:
    """Return what the cache gave to the last run."""
    report = runner.last_report
    assert report is not None
    assert report.cache is not None
    return report.cache


def counted(runner: Runner) -> tuple[int, int]:
    """Return how many functions the last run recalled, and how many it computed."""
    found = figures(runner)
    return found.recalled, found.computed


def run(runner: Runner, mod: Any, *passes: Pass) -> tuple[int, int]:
    """Run passes; return how many functions were recalled, and how many computed."""
    result = runner.run_sync(mod, Sequential(passes))
    assert result == Sequential(passes)(mod)
    return counted(runner)


def test_only_what_was_edited_is_run_again(cached: Runner):
    mod = program(*range(20))
    assert run(cached, mod, Add(1), Say()) == (0, 20)
    assert run(cached, mod, Add(1), Say()) == (20, 0)
    edited = Program({**mod.functions, "f7": Fn((99,))})
    assert run(cached, edited, Add(1), Say()) == (19, 1)
    assert run(cached, program(*range(21)), Add(1), Say()) == (20, 1)


def test_stages_after_a_module_pass_are_recalled_too(cached: Runner):
    passes = Add(1), Duplicate(), Add(2)
    assert run(cached, program(1, 2), *passes) == (0, 6)
    assert run(cached, program(1, 3), *passes) == (3, 3)


def test_another_option_setting_or_pass_is_another_result(cached: Runner):
    mod = program(1, 2)
    assert run(cached, mod, Add(1)) == (0, 2)
    assert run(cached, mod, Add(2)) == (0, 2)
    assert run(cached, mod, Add(1), Add(0)) == (0, 2)
    with PassContext(opt_level=3):
        assert run(cached, mod, Add(1)) == (0, 2)
    assert run(cached, mod, Add(1)) == (2, 0)


AMOUNT: ContextVar[int] = propagate(ContextVar("tests.cached_amount", default=1))


class AddAmount(FunctionPass):
    """Adds what a contextvar says."""

    pass_info = PassInfo(0, "AddAmount")
    cacheable = "1"

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values(value + AMOUNT.get() for value in func.values)


def test_the_value_of_a_contextvar_is_a_setting(cached: Runner):
    assert run(cached, program(1), AddAmount()) == (0, 1)
    token = AMOUNT.set(5)
    try:
        assert run(cached, program(1), AddAmount()) == (0, 1)
    finally:
        AMOUNT.reset(token)
    assert run(cached, program(1), AddAmount()) == (1, 0)


def test_who_reads_a_body_is_run_again_where_that_changed(cached: Runner):
    assert run(cached, program(1, 2, 3), AddFrom("f0")) == (0, 3)
    assert run(cached, program(1, 2, 4), AddFrom("f0")) == (2, 1)
    assert run(cached, program(5, 2, 4), AddFrom("f0")) == (0, 3)
    assert run(cached, program(1, 2, 4), AddFrom("f0")) == (3, 0)


def test_who_reads_a_signature_is_run_again_where_that_changed(cached: Runner):
    reads = _Ask("f0")

    def signed(*values: int) -> SignedProgram:
        return SignedProgram({"f0": Fn(values), "f1": Fn((1,)), "f2": Fn((2,))})

    assert run(cached, signed(1, 2), reads) == (0, 3)
    # The body changed, and not what it states: the others are as before.
    assert run(cached, signed(1, 3), reads) == (2, 1)
    assert run(cached, signed(2, 3), reads) == (0, 3)


class _Ask(FunctionPass):
    """Appends what another function states."""

    pass_info = PassInfo(0, "Ask")
    cacheable = "1"

    def __init__(self, name: str) -> None:
        self.name = name

    def transform_function(self, func: Fn, mod: Any, ctx: PassContext) -> Fn:
        if ctx.function_name == self.name:
            return func
        ask = getattr(mod.functions, "signature", None)
        found = mod[self.name].values[0] if ask is None else ask(self.name)
        return func.with_values((*func.values, found))


def test_a_signature_that_changes_in_a_stage_is_noticed_by_recalled_functions(
    cached: Runner,
):
    passes = Change(["f0"]), _Ask("f0")
    mods = [SignedProgram({"f0": Fn((at, 7)), "f1": Fn((1,))}) for at in (1, 2, 1, 2)]
    found = [run(cached, mod, *passes) for mod in mods]
    assert found[2:] == [(2, 0), (2, 0)]


def test_errors_are_never_kept_and_what_others_gave_is(cached: Runner):
    mod, failing = program(1, 2, 3), Sequential([Add(0), FailOn(2)])
    for _ in range(2):
        with pytest.raises(ValueError, match="met 2"):
            cached.run_sync(mod, failing)
    assert figures(cached).recalled == 1  # f0; a serial run does not come to f2
    assert run(cached, program(1, 4, 3), Add(0), FailOn(2)) == (1, 2)


def test_log_records_and_warnings_are_of_now(
    cached: Runner, caplog: pytest.LogCaptureFixture
):
    def talked() -> list[tuple[str, float, str]]:
        caplog.clear()
        with (
            caplog.at_level(logging.INFO, LOGGER),
            pytest.warns(UserWarning, match="odd"),
        ):
            cached.run_sync(program(1, 3), Talk())
        return [(r.message, r.created, r.levelname) for r in caplog.records]

    first = talked()
    between = time.time()
    again = talked()
    assert [(m, level) for m, _, level in again] == [
        (m, level) for m, _, level in first
    ]
    assert all(created >= between for _, created, _ in again)
    assert figures(cached).recalled == 2


class _Numbered(logging.LogRecord):
    """A record that has the number of the request, as programs add it."""

    request = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = _Numbered.request


def test_records_are_made_by_the_factory_of_now(
    cached: Runner,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
):
    def requests() -> list[int | None]:
        caplog.clear()
        with (
            caplog.at_level(logging.INFO, LOGGER),
            pytest.warns(UserWarning, match="odd"),
        ):
            cached.run_sync(program(1), Talk())
        return [getattr(one, "request", None) for one in caplog.records]

    assert requests() == [None]
    logging.setLogRecordFactory(_Numbered)
    try:
        for number in (1, 2):
            monkeypatch.setattr(_Numbered, "request", number)
            assert requests() == [number]
    finally:
        logging.setLogRecordFactory(logging.LogRecord)
    assert requests() == [None]


class _Interrupted(FunctionPass):
    """Is interrupted by the user."""

    pass_info = PassInfo(0, "Interrupted")
    cacheable = "1"

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        raise KeyboardInterrupt


def test_an_interrupt_is_told_of_with_pass_and_function(cached: Runner):
    with pytest.raises(KeyboardInterrupt) as caught:
        cached.run_sync(program(1), _Interrupted())
    assert caught.value.__notes__ == ["in pass 'Interrupted', on function 'f0'"]


def test_another_log_level_is_another_result(
    cached: Runner, caplog: pytest.LogCaptureFixture
):
    with (
        caplog.at_level(logging.WARNING, LOGGER),
        pytest.warns(UserWarning, match="odd"),
    ):
        cached.run_sync(program(1), Talk())
    caplog.clear()
    with caplog.at_level(logging.INFO, LOGGER), pytest.warns(UserWarning, match="odd"):
        cached.run_sync(program(1), Talk())
    assert [one.message for one in caplog.records] == ["met 1"]


class _Careless(FunctionPass):
    """Counts its calls, which no key has."""

    pass_info = PassInfo(0, "Careless")
    cacheable = "1"
    calls = 0

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        _Careless.calls += 1
        return func.with_values((*func.values, self.calls))


def test_verified_results_that_differ_are_told_and_dropped():
    cache = FunctionCache(verify=1.0)
    told = pytest.warns(CacheMismatchWarning, match="on function 'f0' 'Careless'")
    with told, open_runner(workers=0, cache=cache) as runner:
        first = runner.run_sync(program(1), _Careless())
        second = runner.run_sync(program(1), _Careless())
    assert values_of(first) != values_of(second)


class _CountsOdd(_Careless):
    """Remarks otherwise each time."""

    pass_info = PassInfo(0, "CountsOdd")
    cacheable = "1"

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        _Careless.calls += 1
        ctx.count("calls", self.calls)
        return func


def test_verification_compares_effects_and_names_their_pass():
    cache = FunctionCache(verify=1.0)
    told = pytest.warns(CacheMismatchWarning, match="'f0' 'CountsOdd' gave diagn")
    with told, open_runner(workers=0, cache=cache) as runner:
        for _ in range(2):
            runner.run_sync(program(1), Sequential([Add(1), _CountsOdd(), Add(1)]))


class ReadEnvironment(FunctionPass):
    """Appends, or counts, what the environment has, which its key does not."""

    pass_info = PassInfo(0, "ReadEnvironment")
    cacheable = "1"

    def __init__(self, *, counts: bool) -> None:
        self.counts = counts

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        found = int(os.environ["TEST_AMOUNT"])
        if self.counts:
            ctx.count("found", found)
            return func
        return func.with_values((*func.values, found))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("counts", [False, True])
def test_the_pass_that_depends_on_more_is_named_exactly(
    monkeypatch: pytest.MonkeyPatch, workers: int, counts: bool
):
    passes = [Add(1), ReadEnvironment(counts=counts), Add(2), Say()]
    cache = FunctionCache(verify=1.0)
    told = pytest.warns(CacheMismatchWarning)  # once, as filters are a setting
    with told as caught, open_runner(workers=workers, cache=cache) as runner:
        for amount in "112":
            assert not caught.list
            monkeypatch.setenv("TEST_AMOUNT", amount)
            context = PassContext(config=POOLED)
            made = runner.run_sync(program(1, 2), passes, context=context)
            assert made == Sequential(passes)(program(1, 2))
    what = "diagnostics" if counts else "another"
    said = [f"on function 'f{at}' 'ReadEnvironment' gave {what}" for at in range(2)]
    assert [str(one.message)[: len(said[0])] for one in caught] == said


def test_after_a_result_that_differed_passes_are_told_apart(
    monkeypatch: pytest.MonkeyPatch,
):
    passes = [Add(1), ReadEnvironment(counts=False), Add(2)]
    cache = FunctionCache(verify=1 - 1e-9)
    told = pytest.warns(CacheMismatchWarning)
    with told as caught, open_runner(workers=0, cache=cache) as runner:
        for amount in "1234":
            monkeypatch.setenv("TEST_AMOUNT", amount)
            runner.run_sync(program(1), passes)
    several, _, one = (str(one.message) for one in caught)
    assert "'f0' 'Add' or 'ReadEnvironment' or 'Add' gave another" in several
    assert "results from now on tell these passes apart" in several
    assert "'f0' 'ReadEnvironment' gave another" in one
    assert "from now on" not in one


class AddLength(FunctionPass):
    """Appends the length of `f0`, which it leaves with the module where it has it."""

    pass_info = PassInfo(0, "AddLength")
    cacheable = "1"

    def transform_function(
        self, func: Fn, mod: ReadOnlyProgram, ctx: PassContext
    ) -> Fn:
        left: dict[str, int] = vars(mod).setdefault("left", {})
        left[str(ctx.function_name)] = len(func.values)
        if "f0" not in left:
            left["f0"] = len(mod["f0"].values)
        return func.with_values((*func.values, left["f0"]))


def test_verification_finds_what_one_function_leaves_for_the_next():
    cache = FunctionCache(verify=1.0)
    told = pytest.warns(CacheMismatchWarning, match="'f1' 'AddLength' gave another")
    with told, open_runner(workers=0, cache=cache) as runner:
        for values in ((), (1,)):
            mod = Program({"f0": Fn(values), "f1": Fn(())})
            assert runner.run_sync(mod, AddLength()) == AddLength()(mod)


@pytest.mark.parametrize("verify", [0.0, 1.0])
def test_an_adapter_whose_store_codec_raises_has_its_results_in_memory(verify: float):
    mod = StorelessProgram(program(1, 2).functions)
    with open_runner(workers=0, cache=FunctionCache(verify=verify)) as runner:
        for recalled in (0, 0 if verify else 2):
            assert run(runner, mod, Add(1))[0] == recalled


def test_results_that_are_verified_and_hold_are_said_nothing_of():
    with open_runner(workers=0, cache=FunctionCache(verify=1.0)) as runner:
        for _ in range(3):
            assert run(runner, program(1, 2), Add(1), Say())[0] == 0


def test_the_report_says_which_pass_is_not_kept_and_why(cached: Runner):
    for _ in range(2):
        cached.run_sync(program(*range(50)), Sequential([Add(1), Toil(0.002), Add(2)]))
    assert counted(cached) == (100, 50)
    uncached = figures(cached).uncached
    assert list(uncached) == ["Toil"]
    assert "cacheable = True" in uncached["Toil"]
    report = cached.last_report
    assert report is not None
    assert any("pass 'Toil' are not cached" in one for one in report.advice)


class _Holder(FunctionPass):
    """Declares it, and has what no process can tell from another one."""

    pass_info = PassInfo(0, "Holder")
    cacheable = "1"

    def __init__(self, held: Any) -> None:
        self.held = held

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func


@pytest.mark.parametrize("make", [threading.Lock, open_nothing, iter_once])
def test_what_has_no_value_is_a_miss_and_never_a_hit(cached: Runner, make: Any):
    held = make()
    for _ in range(2):
        cached.run_sync(program(1, 2), _Holder(held))
    assert counted(cached) == (0, 2)
    assert "no value" in figures(cached).uncached["Holder"]
    getattr(held, "close", int)()


class _HoldingProgram(Program):
    """A module whose adapter has a lock."""


class _HoldingAdapter(ToyAdapter):
    def __init__(self) -> None:
        self.lock = threading.Lock()

    def with_functions(self, mod: Program, functions: Any) -> Program:
        return _HoldingProgram(functions)


def test_an_adapter_that_has_no_value_is_named(cached: Runner):
    register_adapter(_HoldingProgram, _HoldingAdapter())
    for _ in range(2):
        cached.run_sync(_HoldingProgram({"f": Fn((1,))}), Add(1))
    assert counted(cached) == (0, 1)
    why = "the adapter has no key: lock has no value"
    assert figures(cached).uncached == {"Add": why}


class _MoreThanAdd(Add):
    """Extends a pass that is declared, and is not itself."""


def test_what_extends_a_declared_pass_is_not_declared(cached: Runner):
    for _ in range(2):
        cached.run_sync(program(1, 2), _MoreThanAdd(1))
    assert counted(cached) == (0, 2)


def test_what_may_be_skipped_is_not_kept(cached: Runner):
    with PassContext(config={ON_FAILURE: "skip"}):
        for _ in range(2):
            cached.run_sync(program(1, 2), FailOn(2))
    assert figures(cached).recalled == 0


def test_a_limit_alone_does_not_keep_from_it():
    with open_runner(workers=1, cache=FunctionCache()) as runner:
        for _ in range(3):
            with PassContext(config={"parpass.function_timeout": 60.0}):
                runner.run_sync(program(1, 2), Add(1))
    assert figures(runner).recalled == 2


def test_it_holds_so_many_results_and_drops_the_oldest():
    cache = FunctionCache(max_entries=10)
    with open_runner(workers=0, cache=cache) as runner:
        run(runner, program(0), Add(1))
        for first in (0, 8, 0):
            run(runner, program(*range(first, first + 8)), Add(1))
            assert len(cache) <= 10
    cache.clear()
    assert len(cache) == 0


@pytest.mark.parametrize("of", [str, Path])
def test_a_path_opens_the_cache_in_that_folder(tmp_path: Path, of: Any):
    folder = of(tmp_path / "kept")
    for recalled in (0, 1):
        with open_runner(workers=0, cache=folder) as runner:
            assert run(runner, program(1), Add(0)) == (recalled, 1 - recalled)
    made = run_pipeline_sync(program(1), Add(0), cache=folder)
    assert made == program(1)


def test_results_of_a_stage_lie_side_by_side_on_disk(tmp_path: Path):
    stages, keys = list[set[str]](), list[str]()
    with open_runner(workers=0, cache=FunctionCache(tmp_path)) as runner:
        for level in range(4):
            context = PassContext(opt_level=level)
            runner.run_sync(program(*range(20)), Add(0), context=context)
            with closing(sqlite3.connect(tmp_path / "objects.sqlite")) as table:
                rows = table.execute("select key from object order by key").fetchall()
            keys = [key for (key,) in rows]
            stages.append({*keys}.difference(*stages))
    assert [len(one) for one in stages] == [20] * 4
    for stage in stages:
        first = min(map(keys.index, stage))
        assert {*keys[first : first + 20]} == stage


class _Generous:
    """A layer that gives all that it has, whatever it is asked for."""

    is_writable = True

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def get(self, keys: Iterable[str]) -> Mapping[str, bytes]:
        return self.objects

    def put(self, objects: Mapping[str, bytes]) -> None:
        self.objects.update(objects)

    def renew_patience(self) -> None:
        """It waits for nothing."""


def test_of_a_layer_that_gives_more_only_what_is_asked_for_is_taken(tmp_path: Path):
    layer = _Generous()
    for folder, mod, counts in (
        (None, program(1, 2), (0, 2)),
        (tmp_path, program(1), (1, 0)),
    ):
        cache = FunctionCache(folder, lower=[layer])
        with open_runner(workers=0, cache=cache) as runner:
            assert run(runner, mod, Add(0)) == counts
    assert len(layer.objects) == 2
    assert ObjectStore(tmp_path).state().size.objects == 1


@pytest.mark.parametrize("wrong", [True, "", "http://a", 3])
def test_what_is_no_cache_and_no_folder_is_an_error(wrong: Any):
    with pytest.raises(ArgumentError, match="FunctionCache or the path of a folder"):
        open_runner(cache=wrong)


def test_runs_in_threads_share_it():
    cache, found = FunctionCache(), list[Any]()
    with open_runner(workers=0, cache=cache) as runner:

        def many() -> None:
            for at in range(20):
                mod = program(*range(at, at + 5))
                found.append(runner.run_sync(mod, Add(1)) == Add(1)(mod))

        threads = [threading.Thread(target=many) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert found == [True] * 80


@pytest.mark.parametrize("bad", [{"max_entries": 0}, {"verify": 2.0}, {"verify": -1.0}])
def test_arguments_out_of_range_are_errors(bad: dict[str, Any]):
    with pytest.raises(ArgumentError, match=f"expected {next(iter(bad))}"):
        FunctionCache(**bad)
