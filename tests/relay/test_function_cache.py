"""The function cache on Relay: the law, references, early cut-off, and the disk."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import relay, tir
from parpass.errors import CacheMismatchWarning, SlowerRunWarning
from parpass.ir.module import IRModule
from parpass.ir.structural import structural_equal
from parpass.runner import FunctionCache, Runner, open_runner, run_pipeline_sync
from parpass.transform import (
    FunctionPass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    module_pass,
)
from tests.relay.kept_functions import PIPELINE, TEXT
from tests.support.flipping import damages
from tests.support.profiles import examples
from tests.support.relay.comparing import check_relay
from tests.support.relay.pipelines import relay_pipelines
from tests.support.relay.programs import modules
from tests.support.runner.comparing import law_on
from tests.support.runner.pooled import POOLED
from tests.support.watching import Blind, RemarkLog

pytestmark = pytest.mark.usefixtures("no_program")


@pytest.mark.parametrize("package", [relay.transform, tir.transform])
def test_all_shipped_function_passes_declare_that_they_may_be_kept(package: Any):
    exported = [getattr(package, name) for name in package.__all__]
    passes = [
        one
        for one in exported
        if isinstance(one, type) and issubclass(one, Pass) and one.is_functionwise
    ]
    others = [one.__name__ for one in passes if "cacheable" not in vars(one)]
    assert len(passes) >= len(others) + 8
    # Bases, and what calls a function that it is given.
    assert {*others} <= {"Apply", "FunctionPass", "PrimFuncPass"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder that all examples of a law keep their results in."""
    return tmp_path_factory.mktemp("results")


@pytest.mark.slow
@law_on(2)
@given(
    workers=st.sampled_from([2, 0]),
    verify=st.sampled_from([0.0, 0.0, 1.0]),
    mod=modules(),
    pipeline=relay_pipelines(),
)
def test_results_of_earlier_processes_are_those_of_a_serial_run(
    folder: Path, workers: int, verify: float, mod: IRModule, pipeline: Sequential
):
    for _ in range(2):
        cache = FunctionCache(folder, verify=verify)  # as another process has it
        calls: Any = PooledCalls(workers, cache)
        check_relay(pipeline, mod, lambda: [Blind()], calls, POOLED)


@given(mod=modules())
@examples(10)
def test_a_result_that_is_recalled_brings_the_digest_that_it_has(
    folder: Path, mod: IRModule
):
    def run(before: IRModule, pipeline: str) -> tuple[IRModule, dict[str, Any]]:
        cache = FunctionCache(folder)  # as another process has it
        with open_runner(workers=0, cache=cache) as runner:
            after = runner.run_sync(before, pipeline)
        functions = before if pipeline == "InferType" else after
        names = functions.functions_by_name
        return after, {name: cache.digests.get(one) for name, one in names.items()}

    run(mod, PIPELINE)
    made, brought = run(mod, PIPELINE)
    _, digested = run(made, "InferType")
    for name, function in made.functions_by_name.items():
        if function is not mod[name]:
            assert brought[name].digest == digested[name].digest


class PooledCalls:
    """Runs pipelines by single calls, which share their workers."""

    def __init__(self, workers: int, cache: FunctionCache | None) -> None:
        self._workers, self._cache = workers, cache

    def run_sync(self, mod: IRModule, root: Pass) -> IRModule:
        return run_pipeline_sync(mod, root, workers=self._workers, cache=self._cache)


@pytest.fixture
def cached() -> Iterator[Runner]:
    """Give a runner without workers that has a cache in memory."""
    with open_runner(workers=0, cache=FunctionCache()) as runner:
        runner.run_sync(relay.parse(TEXT.replace("abs", "exp")), PIPELINE)
        yield runner


def recalled(runner: Runner, mod: IRModule, pipeline: str = PIPELINE) -> int:
    """Run a pipeline; return how many functions were not run."""
    made = runner.run_sync(mod, pipeline)
    with open_runner(workers=0) as fresh:
        expected = fresh.run_sync(mod, pipeline)
    assert structural_equal(made, expected)
    assert made.astext() == expected.astext()
    report = runner.last_report
    assert report is not None
    assert report.cache is not None
    return report.cache.recalled


def test_modules_that_were_read_again_refer_to_their_own_functions(cached: Runner):
    recalled(cached, relay.parse(TEXT))
    assert recalled(cached, relay.parse(TEXT)) == 3
    made = cached.run_sync(relay.parse(TEXT), PIPELINE)
    assert made["g"].body.args[0].op is made.get_global_var("f")


def test_results_of_modules_that_are_gone_are_those_of_later_ones(cached: Runner):
    recalled(cached, relay.parse(TEXT))
    for at in range(10):  # more than are kept alive
        recalled(cached, relay.parse(TEXT.replace("(2)", f"({at + 3})")))
    assert recalled(cached, relay.parse(TEXT)) == 3


def test_a_body_that_states_the_same_type_ends_there(cached: Runner):
    mod = relay.parse(TEXT)
    recalled(cached, mod, "InferType")
    x = relay.var("x", shape=(2,))
    kind = relay.TensorType((2,), "float32")
    mod["f"] = relay.Function((x,), relay.exp(x), kind)
    assert recalled(cached, mod, "InferType") == 2  # g, which calls it


def test_constants_are_told_by_their_values(cached: Runner):
    def mod(value: float) -> IRModule:
        x = relay.var("x", shape=(64, 128))
        large = np.full((64, 128), value, "float32")
        large[0, 0] = 1
        return IRModule({"main": relay.Function((x,), x + relay.const(large))})

    assert [recalled(cached, mod(at)) for at in (1.0, 2.0, 1.0)] == [0, 0, 1]


class Busy(FunctionPass):
    """Keeps a processor busy, and returns the function."""

    pass_info = PassInfo(0, "Busy")
    cacheable = "1"  # so that the key has none of the modules that tests have loaded

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def transform_function(
        self, func: Any, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        """Return the function."""
        end = time.thread_time() + self.seconds
        while time.thread_time() < end:
            pass
        return func


def _recalled_of_two_runs(runner: Runner, pipeline: Pass) -> list[int]:
    """Run passes on a function with 32 MB of weights, and again on an equal one."""
    found: list[int] = []
    for _ in range(2):
        values = relay.const(np.arange(1 << 23, dtype="float32"))
        x = relay.var("x", shape=(1 << 23,))
        runner.run_sync(IRModule({"main": relay.Function((x,), x + values)}), pipeline)
        assert runner.last_report is not None
        assert runner.last_report.cache is not None
        found.append(runner.last_report.cache.recalled)
    return found


@pytest.mark.slow
def test_where_light_passes_run_weights_are_not_digested(cached: Runner):
    assert _recalled_of_two_runs(cached, Busy(0.0)) == [0, 0]


@pytest.mark.slow
def test_where_heavy_passes_run_they_are_also_if_light_ones_ran_before(cached: Runner):
    @module_pass(opt_level=0, name="Barrier")
    def barrier(mod: IRModule, ctx: PassContext) -> IRModule:
        return mod

    first, second = _recalled_of_two_runs(
        cached, Sequential([Busy(0.0), barrier, Busy(0.4)])
    )
    assert first == 0
    assert second >= 1


SCRIPT = textwrap.dedent(
    """
    import sys
    from parpass import FunctionCache, open_runner, relay
    from tests.relay.kept_functions import PIPELINE, TEXT
    mod = relay.parse(TEXT + "".join(
        f"def @p{at}(%x: Tensor[({at + 1}), float32]) {{ add(%x, add(1f, 2f)) }}\\n"
        for at in range(30)
    ))
    for _ in range(int(sys.argv[2])):
        cache = FunctionCache(sys.argv[1])  # as another process has it
        with open_runner(workers=0, cache=cache) as runner:
            made = runner.run_sync(mod, PIPELINE)
            print(runner.last_report.cache.recalled, hash(made.astext()), flush=True)
    """
)


def process(folder: Path, runs: int = 1) -> subprocess.Popen[str]:
    """Start a process that runs the pipeline on a module of 33 functions."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder), str(runs)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )


def test_processes_that_fill_it_at_once_and_are_killed_leave_whole_results(
    tmp_path: Path,
):
    both = [process(tmp_path) for _ in range(2)]
    texts = {one.communicate(timeout=100)[0].split()[1] for one in both}
    killed = process(tmp_path, 1000)
    assert killed.stdout is not None
    killed.stdout.readline()
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=100)
    count, text = process(tmp_path).communicate(timeout=100)[0].split()
    assert {*texts, text} == {text}
    assert int(count) == 33


def test_damaged_results_are_computed_again(tmp_path: Path):
    found: list[int] = []
    told = pytest.warns(SlowerRunWarning, match="damaged")
    with told:  # all of it, as the filters of warnings are a setting
        found.extend(_recalled_before_and_after_damage(tmp_path))
    assert found == [3, 0]


def _recalled_before_and_after_damage(folder: Path) -> Iterator[int]:
    with open_runner(workers=0, cache=FunctionCache(folder)) as runner:
        recalled(runner, relay.parse(TEXT))
    for damage in (False, True):
        if damage:
            with sqlite3.connect(folder / "objects.sqlite") as table:
                table.execute("update object set data = x'c0'")
            table.close()
        with open_runner(workers=0, cache=FunctionCache(folder)) as runner:
            yield recalled(runner, relay.parse(TEXT))


@given(st.data())
@examples(0.8)
def test_a_damaged_row_is_a_result_the_less(data: st.DataObject):
    mod = relay.parse(TEXT)
    with (
        tempfile.TemporaryDirectory() as name,
        warnings.catch_warnings(),
        open_runner(workers=0, cache=FunctionCache(name)) as filling,
    ):
        warnings.filterwarnings("ignore", "cached objects damaged", SlowerRunWarning)
        expected = filling.run_sync(mod, PIPELINE).astext()
        with closing(sqlite3.connect(Path(name, "objects.sqlite"))) as table, table:
            rows = table.execute("select key, digest, data from object").fetchall()
            # Keys may differ from one cache to the next by what other tests registered.
            rows.sort(key=lambda row: row[2])
            key, *columns = data.draw(st.sampled_from(rows))
            at = data.draw(st.integers(0, 1))
            values = data.draw(damages(columns[at])), key
            column = ("digest", "data")[at]
            table.execute(f"update object set {column} = ? where key = ?", values)
        with open_runner(workers=0, cache=FunctionCache(name)) as runner:
            assert runner.run_sync(mod, PIPELINE).astext() == expected
            report = runner.last_report
    assert report is not None
    assert report.cache is not None
    is_whole = values[0] == columns[at]
    assert report.cache.recalled == (3 if is_whole else 2)


def test_results_of_a_form_that_is_not_known_are_as_if_there_were_none(tmp_path: Path):
    cache = FunctionCache(tmp_path)
    with open_runner(workers=0, cache=cache) as runner:
        recalled(runner, relay.parse(TEXT))
        assert cache.store is not None
        with sqlite3.connect(tmp_path / "objects.sqlite") as table:
            keys = [key for (key,) in table.execute("select key from object")]
        table.close()
        cache.store.put(dict.fromkeys(keys, b"\x93\x01\x02"))
    with open_runner(workers=0, cache=FunctionCache(tmp_path)) as runner:
        assert recalled(runner, relay.parse(TEXT)) == 0


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path):
    tmp_path.chmod(0o777)
    with open_runner(workers=0, cache=FunctionCache(tmp_path)) as runner:
        with pytest.warns(SlowerRunWarning, match="written to by others"):
            recalled(runner, relay.parse(TEXT))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            runner.run_sync(relay.parse(TEXT), PIPELINE)
    assert not list(tmp_path.iterdir())


class NegateAsTold(FunctionPass):
    """Negates what functions return, if the environment says so."""

    pass_info = PassInfo(0, "NegateAsTold", required=["InferType"])
    cacheable = "1"

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        if os.environ["TEST_NEGATES"] == "no":
            return func
        body = relay.negative(func.body)
        return relay.Function(func.params, body, func.ret_type)


def test_a_pass_that_depends_on_more_is_named_by_the_next_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    simplify = relay.transform.SimplifyExpr()
    passes = [simplify, NegateAsTold(), relay.transform.FoldConstant()]
    told = pytest.warns(CacheMismatchWarning)
    with told as caught:
        for does in ("no", "yes"):
            assert not caught.list
            monkeypatch.setenv("TEST_NEGATES", does)
            cache = FunctionCache(tmp_path, verify=1.0)
            run_pipeline_sync(relay.parse(TEXT), passes, workers=0, cache=cache)
    named = [str(one.message).partition(" gave")[0] for one in caught]
    assert named == [f"on function '{name}' 'NegateAsTold'" for name in "fgh"]


class _Negate(FunctionPass):
    """Negates what functions return, and declares nothing."""

    pass_info = PassInfo(0, "Negate", required=["InferType"])

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        return relay.Function(func.params, relay.negative(func.body), func.ret_type)


def test_passes_that_are_not_declared_stay_one_stage(cached: Runner):
    cached.run_sync(relay.parse(TEXT), [_Negate(), _Negate(), _Negate()])
    report = cached.last_report
    assert report is not None
    assert report.cache is not None
    # Of three functions: InferType, which comes first, and all the rest.
    assert (report.cache.recalled, report.cache.computed) == (0, 6)


class ListVars(FunctionPass):
    """Counts, and remarks, the global variables of the module, in their order."""

    pass_info = PassInfo(0, "ListVars")
    cacheable = "1"

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        names = [var.name_hint for var in mod]
        assert len(mod.global_vars_by_name) == len(mod.get_global_vars()) == len(names)
        ctx.remark("analysis", "has", names=" ".join(names))
        return func


@pytest.mark.parametrize("workers", [0, 2])
def test_passes_that_list_global_variables_get_those_that_there_are(workers: int):
    text = [TEXT, TEXT.replace("@h", "@last"), TEXT]
    for cache in (None, FunctionCache()):
        for mod in map(relay.parse, text):
            calls: Any = PooledCalls(workers, cache)
            check_relay(ListVars(), mod, lambda: [RemarkLog()], calls, POOLED)
