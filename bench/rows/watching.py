"""Row `watching`: what it costs to watch a run, by what watches it."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import parpass
from bench.measure import Setting, clocked, interleaved, ratio
from bench.table import Goal, Line, Row
from bench.work import PAIRS, USE_WORKERS, Swap, Work, no_pass
from parpass import PassContext, Sequential, relay
from parpass.instrument import PassInstrument, PrintChanged, RemarksInstrument
from parpass.runner import Runner
from parpass.transform import FunctionPass, PassInfo

_FUNCTIONS = (1_000, 10_000)
_NODES = 30
_GOALS = {"a trace": Goal(1.05), "changes, of which none is wanted": Goal(1.3)}


def _watching(setting: Setting) -> Iterator[Line]:
    passes = Sequential([Swap(PAIRS), Swap(PAIRS), Swap(PAIRS)])
    for count in _FUNCTIONS:
        functions = setting.scaled(count, 50)
        mod = Work(functions, _NODES, no_pass).module()
        with (
            tempfile.TemporaryDirectory() as folder,
            parpass.open_runner(workers=setting.workers) as runner,
        ):
            file = Path(folder, "trace.json")

            def run() -> object:
                return runner.run_sync(mod, passes)  # noqa: B023 -- used at once

            watched = _sides(run, runner, file)
            sides = {name: clocked(one) for name, one in watched.items()}
            interleaved(sides, 1)  # not counted: what is loaded once
            times = interleaved(sides, max(3, setting.repeat))
            size = file.stat().st_size / functions / 3
        for name in sides:
            if name != "nothing":
                yield Line(
                    f"three light passes on {functions:,} functions of {_NODES} nodes",
                    f"a run that is watched by {name} : by nothing",
                    ratio(times, name, "nothing"),
                    _GOALS.get(name),
                    note=f"{size:.0f} bytes of trace for a pass on a function"
                    if name == "a trace"
                    else "",
                )
        yield from _unchanged(mod, setting)


def _unchanged(mod: parpass.IRModule, setting: Setting) -> Iterator[Line]:
    """Yield what it costs to watch all changes of a pass that makes none."""
    visit = Sequential([Visit(), Visit(), Visit()])
    with parpass.open_runner(workers=setting.workers) as runner:

        def run(*instruments: PassInstrument) -> object:
            with PassContext(config=USE_WORKERS, instruments=instruments):
                return runner.run_sync(mod, visit)

        sides = {
            "nothing": clocked(run),
            "changes": clocked(lambda: run(PrintChanged(stream=io.StringIO()))),
        }
        interleaved(sides, 1)  # not counted: what is loaded once
        times = interleaved(sides, max(3, setting.repeat))
    yield Line(
        f"three passes that change nothing on {len(mod.functions):,} functions of "
        f"{_NODES} nodes",
        "a run whose changes are all watched : by nothing",
        ratio(times, "changes", "nothing"),
        Goal(1.3),
    )


class Visit(FunctionPass):
    """Visits each node, and changes nothing."""

    pass_info = PassInfo(0, "Visit")

    def transform_function(
        self, func: relay.Function, mod: parpass.IRModule, ctx: PassContext
    ) -> relay.Function:
        """Visit the function."""
        relay.ExprVisitor().visit(func)
        return func


def _sides(
    run: Callable[[], object], runner: Runner, file: Path
) -> Mapping[str, Callable[[], object]]:
    """Return what runs it, by what watches."""

    def traced() -> object:
        with PassContext(config=USE_WORKERS), runner.trace(file):
            return run()

    def recorded() -> object:
        with PassContext(config=USE_WORKERS), runner.record():
            return run()

    def profiled(*, memory: bool) -> Callable[[], object]:
        def watched() -> object:
            with (
                PassContext(config=USE_WORKERS) as context,
                runner.profile(context, memory=memory),
            ):
                return run()

        return watched

    def by(*instruments: PassInstrument) -> Callable[[], object]:
        def watched() -> object:
            with PassContext(config=USE_WORKERS, instruments=instruments):
                return run()

        return watched

    return {
        "nothing": by(),
        "a trace": traced,
        "changes, of which none is wanted": by(PrintChanged(functions=["none"])),
        "changes, which are printed": by(PrintChanged(stream=io.StringIO())),
        "remarks, of which there are none": by(RemarksInstrument()),
        "a profile": profiled(memory=False),
        "a profile with memory": profiled(memory=True),
        "what records for a page": recorded,
    }


ROWS = (Row("watching", _watching),)
