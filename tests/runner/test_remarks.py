"""Remarks come in the order of a serial run, wherever the passes ran."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from parpass.errors.core import safe_getattr
from parpass.runner import Runner
from parpass.transform import (
    FunctionPass,
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
)
from parpass.transform.config import ASKING_WORKERS_SECONDS, ISOLATED, ON_FAILURE
from tests.support.runner.pooled import HERE, POOLED
from tests.support.toy.ir import Fn, Program, program
from tests.support.toy.passes import Add, AddFrom, Duplicate, FailOn, Say
from tests.support.watching import Blind, RemarkLog

pytestmark = pytest.mark.slow

SETTINGS: list[dict[str, Any]] = [
    POOLED,
    {ASKING_WORKERS_SECONDS: 2e-5},
    {ISOLATED: True},
    HERE,
    {**POOLED, ON_FAILURE: "skip"},
    {**POOLED, ON_FAILURE: "retry"},
]


class Nest(FunctionPass):
    """Remarks, runs a pass in its body, and remarks again."""

    pass_info = PassInfo(0, "Nest")

    def __init__(self, inner: Pass) -> None:
        self.inner = inner

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        ctx.remark("analysis", "begins", values=func.values)
        after = self.inner(Program({"inner": func}))
        ctx.remark("passed", "ends")
        return after["inner"]


class NestWhole(ModulePass):
    """Does so on the whole module."""

    pass_info = PassInfo(0, "NestWhole")

    def __init__(self, inner: Pass) -> None:
        self.inner = inner

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        ctx.remark("analysis", "begins")
        after = self.inner(mod)
        ctx.remark("passed", "ends")
        return after


class RemarkThenFail(FailOn):
    """Remarks before it raises."""

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        ctx.remark("analysis", "looks", values=func.values)
        return super().transform_function(func, mod, ctx)


class Enabled(FunctionPass):
    """Appends whether remarks are wanted."""

    pass_info = PassInfo(0, "Enabled")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        own = PassContext.current()
        assert own.remarks_enabled is ctx.remarks_enabled
        with PassContext() as inner:
            nested = inner.remarks_enabled
        return func.with_values((*func.values, ctx.remarks_enabled, nested))


class LogBetween(FunctionPass):
    """Logs a record between two remarks."""

    pass_info = PassInfo(0, "LogBetween")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        ctx.remark("analysis", "before")
        logging.getLogger("remarking").warning("%s", func.values[0])
        ctx.remark("analysis", "after")
        return func


def seen(run: Any, root: Pass, config: dict[str, Any]) -> tuple[Any, list[str]]:
    log = RemarkLog()
    with PassContext(instruments=[log], config=config):
        try:
            result: Any = str(run(program(*range(9)), root))
        except (ValueError, LookupError) as error:
            notes = safe_getattr(error, "__notes__")
            result = type(error), str(error), notes
    return result, log.log


def serially(mod: Program, root: Pass) -> Program:
    return root(mod)


@pytest.mark.parametrize("config", SETTINGS, ids=str)
@pytest.mark.parametrize(
    "root",
    [
        Sequential([Say(), Add(1), Say(), Duplicate(), Say()]),
        Sequential([Say(), AddFrom("f2"), Say()]),
        Sequential([Nest(Sequential([Say(), Add(1), Say()])), NestWhole(Say())]),
        Sequential([Say(), RemarkThenFail(6), Say()]),
        Sequential([Say(), Nest(RemarkThenFail(6)), Say()]),
        NestWhole(RemarkThenFail(6)),
    ],
    ids=["several", "on demand", "nested", "failing", "nested failing", "whole"],
)
def test_remarks_are_those_of_a_serial_run(
    runner: Runner, root: Pass, config: dict[str, Any]
) -> None:
    policy = {key: one for key, one in config.items() if key == ON_FAILURE}
    serial = seen(serially, root, policy)
    assert seen(runner.run_sync, root, config) == serial
    assert any(line.startswith("remark of") for line in serial[1])


def test_passes_in_workers_learn_whether_they_are_wanted(runner: Runner) -> None:
    for instruments, wanted in (([Blind()], False), ([RemarkLog()], True)):
        context = PassContext(config=POOLED, instruments=instruments)
        after = runner.run_sync(program(1), Enabled(), context=context)
        assert after["f0"].values == (1, wanted, False)


def test_remarks_end_where_a_handler_of_log_records_raises(runner: Runner) -> None:
    class Strict(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            if record.getMessage() == "5":
                raise LookupError("refused")
            return True

    logger, handler = logging.getLogger("remarking"), Strict()
    logger.addHandler(handler)
    logger.propagate = False
    try:
        root = Sequential([Add(0), LogBetween()])
        serial = seen(serially, root, {})
        assert seen(runner.run_sync, root, POOLED) == serial
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
    assert sum("remark of" in line for line in serial[1]) == 11
    assert "before" in serial[1][-3]


@pytest.mark.parametrize("root", [Say(), RemarkThenFail(4)], ids=["ok", "failing"])
def test_a_hook_that_raises_ends_a_run_but_hides_no_failure(
    runner: Runner, root: Pass
) -> None:
    def refuse(_remark: object) -> None:
        raise LookupError("refused")

    errors: list[Any] = []
    for run in (serially, runner.run_sync):
        log = RemarkLog(refuse)
        with PassContext(instruments=[log], config={} if run is serially else POOLED):
            try:
                run(program(*range(9)), root)
            except (ValueError, LookupError) as error:
                errors.append((type(error), safe_getattr(error, "__notes__"), log.log))
    assert errors[0] == errors[1]
    kind, notes, _ = errors[0]
    if isinstance(root, Say):
        assert kind is LookupError
        assert notes == ["in on_remark of instrument 'RemarkLog', of pass 'Say'"]
    else:
        assert (kind, notes[0]) == (ValueError, "then LookupError: refused")
