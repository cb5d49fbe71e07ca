"""Running reproducers: here, or in a child of a worker that may die of it."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import re
import select
import signal
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import Any

from parpass.cli.files.irs import ir_named, no_such_ir, parsed
from parpass.cli.files.loading import load
from parpass.cli.work.enforcing import interrupting
from parpass.diagnostic import override_renderer
from parpass.errors import DiagnosticError, PipelineSyntaxError, ReproducerError
from parpass.instrument import PassInstrument
from parpass.runner import run_pipeline_sync
from parpass.transform import (
    PassContext,
    PassInfo,
    Sequential,
    Textual,
    adapter_of,
    parse_pipeline,
)
from parpass.transform.config import CHECK_CONTRACT
from parpass.transform.debug.origin import found_at, register_origins
from parpass.transform.debug.reproducer import Reproducer
from parpass.transform.plan.within_budget import enforced_by


@dataclass(frozen=True)
class Result:
    """What became of a run: `passed`, `raised`, `died`, `hung`, or was `malformed`.

    Attributes:
        kind: Which of them.
        error: The type of the error, or how the process died.
        pass_name: The pass that failed.
        message: What the error says.
    """

    kind: str
    error: str = ""
    pass_name: str | None = None
    message: str = ""

    def __str__(self) -> str:
        match self.kind:
            case "raised":
                where = f" in pass '{self.pass_name}'" if self.pass_name else ""
                return f"{self.error}{where}: {self.message}"
            case "died":
                return f"the process died ({self.error})"
            case "hung":
                return "it took too long"
            case "malformed":
                return f"the program is not well formed: {self.message}"
            case _:
                return "nothing failed"


class _FailedPass(PassInstrument):
    """Remembers the innermost pass that failed."""

    observes_ir = False

    def __init__(self) -> None:
        self.pass_name: str | None = None

    def run_after_failed_pass(self, mod: Any, info: PassInfo, error: Exception) -> None:
        del mod, error
        self.pass_name = self.pass_name or info.name


def load_ir(reproducer: Reproducer) -> Textual:
    """Return what knows the text of a reproducer, after loading what it names.

    Raises:
        ReproducerError: It cannot be had.
    """
    for name in reproducer.load:
        load(name)
    programs = ir_named(reproducer.ir)
    if programs is None:
        raise ReproducerError(no_such_ir(reproducer.ir))
    return programs


def load_passes(reproducer: Reproducer) -> Sequential:
    """Return the pipeline of a reproducer, after loading what registers its passes.

    Raises:
        ReproducerError: It cannot be had.
    """
    import_module("parpass.runner.driving.runs")
    if not reproducer.pipeline:
        raise ReproducerError(f"it has no pipeline: {reproducer.unprintable}")
    load_ir(reproducer)
    register_origins(reproducer.passes)
    try:
        return parse_pipeline(reproducer.pipeline)
    except PipelineSyntaxError as error:
        raise ReproducerError(f"the pipeline cannot be read: {error}") from None


def load_instruments(reproducer: Reproducer) -> list[PassInstrument]:
    """Return the instrument that raised the error of a reproducer, if one did.

    Raises:
        ReproducerError: It cannot be had.
    """
    if not reproducer.instrument:
        return []
    try:
        return [found_at(reproducer.instrument)()]
    except TypeError as error:
        raise ReproducerError(
            f"instrument '{reproducer.instrument}' cannot be made: {error}"
        ) from None


def run_passes(
    pipeline: Sequential,
    mod: Any,
    context: PassContext,
    instruments: Sequence[PassInstrument] = (),
) -> tuple[Result, Exception | None]:
    """Run each pass in this process, whatever its level."""
    failed = _FailedPass()
    watched = PassContext.restored(
        context.opt_level, context.required_pass, context.disabled_pass, context.config
    )
    watched.override_instruments([failed, *instruments])
    try:
        with watched:
            for a_pass in pipeline.passes:
                if a_pass is not None and context.config.get(CHECK_CONTRACT):
                    # It is a runner that checks, in processes of its own.
                    mod = run_pipeline_sync(mod, a_pass, workers=0)
                elif a_pass is not None:
                    mod = a_pass(mod)
    except Exception as error:  # noqa: BLE001 -- what came of it is the answer
        message = str(error)
        if isinstance(error, DiagnosticError):
            message = "; ".join(one.message for one in error.diagnostics)
        return Result("raised", type(error).__name__, failed.pass_name, message), error
    return Result("passed"), None


@dataclass(frozen=True)
class Same:
    """Which results are the failure of a reproducer come back.

    An error of the same type, in the same pass; a death, whatever its signal, for a
    worker that died; a hang where a time limit was exceeded.
    """

    error_type: str
    pass_name: str | None
    pattern: str | None = None

    @classmethod
    def failure_as(cls, reproducer: Reproducer, pattern: str | None = None) -> Same:
        """Return the failure of a reproducer, its message matching a pattern."""
        by_pass = not reproducer.instrument  # those may raise at any pass
        name = reproducer.pass_name if by_pass else None
        return cls(reproducer.error_type, name, pattern)

    def __call__(self, result: Result) -> bool:
        """Return whether a result is that failure."""
        if self.pattern is not None and not re.search(self.pattern, str(result)):
            return False
        if result.kind == "raised":
            is_there = self.pass_name in (None, result.pass_name)
            return is_there and result.error == self.error_type
        if result.kind == "died":
            return self.error_type == "WorkerDiedError"
        return result.kind == "hung" and "Timeout" in self.error_type


def try_text(job: bytes) -> bytes:
    """Run a reproducer in a child of this process; takes and returns JSON.

    The entry point in workers. The worker stays whole whatever happens.
    """
    message = json.loads(job)
    if not hasattr(os, "fork"):
        return json.dumps(asdict(_tried(message["text"]))).encode()
    Reproducer.from_text(message["text"])
    _preload(message["text"])
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, none of which the child needs
        child = os.fork()
    if child == 0:
        _child(message["text"], write)
    os.close(write)
    return json.dumps(asdict(_parent(child, read, message["seconds"]))).encode()


def _preload(text: str) -> None:
    # What is imported and made here, children need not; what fails, fails there again.
    reproducer = Reproducer.from_text(text)
    with contextlib.suppress(Exception), _quiet():
        # It takes longer to make a grammar than to try most candidates.
        load_ir(reproducer).parse("", "")
    with contextlib.suppress(Exception), _quiet():
        load_passes(reproducer)


def _child(text: str, write: int) -> None:
    faulthandler.disable()  # dying is what many candidates are for
    try:
        with _quiet():
            os.write(
                write, json.dumps(asdict(_tried(text))).encode()[: select.PIPE_BUF]
            )
    finally:
        os._exit(0)


def _tried(text: str) -> Result:
    reproducer = Reproducer.from_text(text)
    try:
        pipeline = load_passes(reproducer)
        mod = parsed(load_ir(reproducer), reproducer.text, "candidate")
        adapter = adapter_of(mod, "replay")
        context = reproducer.context()
        instruments = load_instruments(reproducer)
        for function in adapter.functions(mod).values():  # which may be text until now
            if faults := adapter.faults(function, mod):
                return Result("malformed", message=faults[0])
    except Exception as error:  # noqa: BLE001 -- a candidate that is no program
        return Result("raised", type(error).__name__, None, str(error))
    override_renderer(lambda _: None)
    with enforced_by(interrupting):
        result, _ = run_passes(pipeline, mod, context, instruments)
    return replace(result, message=result.message[:400])


def _parent(child: int, read: int, seconds: float) -> Result:
    until = time.monotonic() + seconds
    with os.fdopen(read, "rb", buffering=0) as pipe:
        ready, _, _ = select.select([pipe], [], [], max(until - time.monotonic(), 0))
        if not ready:
            os.kill(child, signal.SIGKILL)
        answer = pipe.read() if ready else b""
    _, status = os.waitpid(child, 0)
    if answer:
        return Result(**json.loads(answer))
    return Result("died", how_it_died(status)) if ready else Result("hung")


def how_it_died(status: int) -> str:
    """Return how a process ended by its status, in a word."""
    code = os.waitstatus_to_exitcode(status)
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


@contextlib.contextmanager
def _quiet() -> Any:
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        yield


__all__ = [
    "Result",
    "Same",
    "load_instruments",
    "load_ir",
    "load_passes",
    "run_passes",
    "try_text",
]
