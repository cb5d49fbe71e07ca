"""Builds with a function cache: the same libraries, of which less is compiled."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docs.site.blocks import blocks
from parpass import relay
from parpass.errors import ArgumentError
from parpass.ir.module import IRModule
from parpass.relay.build_module import network_runs
from parpass.runner import FunctionCache, open_runner, run_pipeline_sync
from parpass.runner.cache import module_digests
from parpass.target import Target
from parpass.transform import PassContext
from tests.support.docs.steps import snippets
from tests.support.runner.pooled import POOLED
from tests.support.watching import RemarkLog

pytestmark = pytest.mark.usefixtures("no_program")

PAGE = Path(__file__).parents[2] / "docs" / "incremental.md"


def network(*widths: int) -> IRModule:
    """Return dense layers with ReLU, and an operator that numpy computes."""
    x = relay.var("x", shape=(2, 8))
    y, weights = x, list[relay.Var]()
    for at, (fan_in, width) in enumerate(pairwise((8, *widths))):
        weights.append(relay.var(f"w{at}", shape=(width, fan_in)))
        y = relay.nn.relu(relay.nn.dense(y, weights[-1]))
    return IRModule.from_expr(relay.Function([x, *weights], relay.sort(y)))


def built(
    mod: IRModule, workers: int, cache: FunctionCache | None = None
) -> tuple[Any, Any]:
    """Build a network; return all that is to be the same, and the figures of a cache.

    The second are how many kernels are recalled, and how many compiled.
    """
    target, reports = Target("llvm").resolved(), list[Any]()
    watcher = RemarkLog()
    context = PassContext(opt_level=3, config=POOLED, instruments=[watcher])
    runs = network_runs(mod, target, cache=False)
    said: list[str] = []
    made = None
    with context, target:
        while True:
            try:
                run = runs.send(made)
            except StopIteration as end:
                image = end.value.module.image
                break
            said.append(run.what)
            made = run_pipeline_sync(
                run.mod,
                run.pipeline,
                workers=workers,
                cache=cache,
                report=reports.append,
            )
    found = reports[1].cache
    told = said, watcher.log, context.statistics
    return (image, *told), found and (found.recalled, found.computed)


@pytest.mark.parametrize("workers", [2, 0])
def test_a_build_with_a_cache_differs_in_nothing_but_what_is_compiled(
    workers: int, tmp_path: Path
):
    first, edited = network(5, 6, 7), network(5, 6, 9)
    expected, other = built(first, workers)[0], built(edited, workers)[0]
    assert built(first, workers, FunctionCache(tmp_path)) == (expected, (0, 4))
    cache = FunctionCache(tmp_path)  # as another process has it
    assert built(first, workers, cache) == (expected, (4, 0))
    assert built(edited, workers, cache) == (other, (2, 2))  # a layer, and the sort
    assert built(edited, workers, cache) == (other, (4, 0))
    assert built(edited, workers, FunctionCache(tmp_path, verify=1)) == (other, (0, 4))


def test_build_takes_a_cache_unless_a_runner_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PARPASS_CACHE_DIR", str(tmp_path))
    mod, cache = network(5), FunctionCache()
    reports: list[Any] = []
    how: Any = {"workers": 0, "cache": cache, "report": reports.append}
    relay.build(mod, **how)
    asyncio.run(relay.build_async(mod, **how))
    assert [one.cache.computed for one in reports[1::2]] == [2, 0]  # of kernels
    assert not list(tmp_path.iterdir())
    own = r"open_runner\(cache=cache\)"
    with open_runner(workers=0) as runner, pytest.raises(ArgumentError, match=own):
        relay.build(mod, runner=runner, cache=cache)
    with pytest.raises(ArgumentError, match="got 3"):
        relay.build(mod, cache=3)  # pyright: ignore[reportArgumentType]


def test_what_the_page_shows_is_printed(capsys: pytest.CaptureFixture[str]):
    programs = "\n".join(one.text for one in snippets(PAGE))
    exec(programs, {})
    shown = [one.text for one in blocks(PAGE.read_text()) if one.kind == "text"]
    assert capsys.readouterr().out == "".join(shown)


def test_large_constants_are_digested_where_passes_take_longer(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(module_digests, "_LARGE_BYTES", 30_000)

    def recalled(value: float) -> int:
        """Return whether a function is recalled that has a large constant."""
        numbers = np.arange(10_000, dtype="float32") * value
        x = relay.var("x", shape=(10_000,))
        body = relay.add(x, relay.const(numbers))
        mod = IRModule.from_expr(relay.Function([x], body))
        runner.run_sync(mod, "InferType,SimplifyExpr")
        report: Any = runner.last_report
        return report.cache.recalled

    with open_runner(workers=0, cache=FunctionCache()) as runner:
        monkeypatch.setattr(module_digests, "_BYTES_PER_SECOND", 0.0)
        assert [recalled(1), recalled(1)] == [0, 0]
        monkeypatch.setattr(module_digests, "_BYTES_PER_SECOND", float("inf"))
        assert [recalled(1), recalled(1), recalled(2)] == [0, 1, 0]
