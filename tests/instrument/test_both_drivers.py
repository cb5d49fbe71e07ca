"""The shipped instruments see the same in parallel runs as in serial ones."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parpass.errors import WellFormedError
from parpass.instrument import (
    DumpIR,
    PassPrintingInstrument,
    PassStatisticsInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    WellFormedInstrument,
)
from parpass.runner import Runner
from parpass.transform import Pass, PassContext, PassInfo, Sequential
from tests.support.toy.ir import Program, checked_program, program
from tests.support.toy.passes import Add, Duplicate, Keep
from tests.support.watching import Blind, Log

Run = Callable[[Pass, Program], Program]

CONFIG = {"parpass.asking_workers_seconds": 0.0}  # the workers do it, however small


def seen(run: Run, directory: Path, pipeline: Pass) -> dict[str, Any]:
    """Return all that the instruments show of a run, by what shows it."""
    stream = io.StringIO()
    modules: list[str] = []
    log = Log(at=lambda hook, mod, name: modules.append(f"{hook} {name} {mod}") or True)
    statistics = PassStatisticsInstrument()
    instruments = [
        log,
        PrintBeforeAll(stream=stream),
        PrintAfterAll(stream=stream),
        PassPrintingInstrument(["Add"], ["Keep"], stream=stream),
        statistics,
        DumpIR(directory),
        WellFormedInstrument(),
    ]
    error = ""
    with PassContext(instruments=instruments, config=CONFIG):
        try:
            run(pipeline, checked_program(1, 2, 3))
        except WellFormedError as raised:
            error = str(raised)
    return {
        "log": log.log,
        "modules": modules,
        "printed": stream.getvalue(),
        "statistics": statistics.render(),
        "files": {path.name: path.read_text() for path in directory.iterdir()},
        "error": error,
    }


@pytest.mark.slow
def test_every_shipped_instrument_shows_the_same(tmp_path: Path, runner: Runner):
    sound = Sequential([Add(), Keep(), Add(2), Duplicate(), Add()])
    broken = Sequential([Add(), Sequential([Keep(), Add(96), Add()])])
    for number, pipeline in enumerate([sound, broken]):
        serial = seen(lambda p, m: p(m), tmp_path / f"s{number}", pipeline)
        parallel = seen(
            lambda p, m: runner.run_sync(m, p), tmp_path / f"p{number}", pipeline
        )
        assert parallel == serial
        assert bool(serial["error"]) == (pipeline is broken)
        assert serial["files"]


@pytest.mark.slow
def test_statistics_alone_do_not_part_stages(runner: Runner):
    statistics = [PassStatisticsInstrument(), PassStatisticsInstrument()]
    pipeline = Sequential([Add(), Add(2), Duplicate(), Add()])
    with PassContext(instruments=[statistics[0]]):
        pipeline(checked_program(1, 2, 3))
    context = PassContext(instruments=[statistics[1]], config=CONFIG)
    runner.run_sync(checked_program(1, 2, 3), pipeline, context=context)
    assert statistics[0].render() == statistics[1].render()
    assert statistics[0].totals


class GiveWay(Blind):
    """Has another instrument take its place when a pass has ended."""

    def __init__(self, other: Log) -> None:
        super().__init__()
        self.other = other

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        if info.name == "Add":
            PassContext.current().override_instruments([self.other])


def test_one_that_comes_in_during_a_stage_is_shown_the_module_that_it_began_with(
    runner: Runner,
):
    root, mod = Sequential([Add(1), Add(2), Add(4)]), program(1, 2)

    def shown(run: Run) -> list[str]:
        found: list[str] = []

        def note(hook: str, mod: Any, name: str) -> bool:
            found.append(f"{hook} {name} {mod}")
            return True

        log = Log(at=note)
        with PassContext(instruments=[GiveWay(log)], config=CONFIG):
            run(root, mod)
        return found

    serial = shown(lambda root, mod: root(mod))
    assert shown(lambda root, mod: runner.run_sync(mod, root)) == serial
    assert f"before Add {mod}" in serial
    assert serial[-2] == f"after sequential {root(mod)}"
