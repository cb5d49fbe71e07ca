"""Reading and running of reproducers, in this process or in a child that may die.

Either process enforces the budgets of passes itself (`transform.budget`).
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import re
import select
import signal
import sys
import warnings
from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from parpass.cli.files.irs import (
    ir_named,
    load_plugin,
    parse_program,
    unknown_ir_message,
)
from parpass.cli.output.failure import InputError, unreadable
from parpass.diagnostic import override_renderer
from parpass.errors import (
    DiagnosticError,
    ParseError,
    PipelineSyntaxError,
    ReproducerError,
)
from parpass.instrument import PassInstrument
from parpass.runner import run_pipeline_sync
from parpass.runner.executor import exit_cause
from parpass.transform import (
    PassContext,
    PassInfo,
    ProgramFormat,
    Sequential,
    adapter_of,
    parse_pipeline,
)
from parpass.transform.budget import (
    Budget,
    enforcing_budgets,
    interrupting,
    or_exit,
)
from parpass.transform.config import CHECK_CONTRACT
from parpass.transform.debug.locate import load_object, register_located
from parpass.transform.debug.reproducer import Reproducer

_GRACE = 2.0  # seconds for Python code to be interrupted; C code is not
_MAX_MESSAGE_CHARS = 400


@contextlib.contextmanager
def interrupting_or_exit(budget: Budget) -> Generator[None]:
    """Enforce a budget; end the process if C code takes too long."""
    file = sys.__stderr__
    with (
        contextlib.nullcontext()
        if file is None
        else or_exit(budget, file, 1.0, _GRACE),
        interrupting(budget),
    ):
        yield


@dataclass(frozen=True)
class TrialResult:
    """The result of a trial run: `passed`, `raised`, `died`, `hung`, or `malformed`.

    `error` is the type of the error, or the cause of death.
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
    """Records the innermost pass that failed."""

    observes_ir = False

    def __init__(self) -> None:
        self.pass_name: str | None = None

    def run_after_failed_pass(self, mod: Any, info: PassInfo, error: Exception) -> None:
        del mod, error
        self.pass_name = self.pass_name or info.name


def read_reproducer(file: Path) -> tuple[Reproducer, Any]:
    """Return a reproducer and its module, after loading the modules that it names."""
    try:
        reproducer = Reproducer.from_text(file.read_text(encoding="utf-8"))
        return reproducer, parse_program(
            load_ir(reproducer), reproducer.program(), str(file)
        )
    except (ParseError, ReproducerError) as error:
        raise InputError(f"{file}: {error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: expected a reproducer, got no text") from None
    except OSError as error:
        raise unreadable(file, error) from None


def load_ir(reproducer: Reproducer) -> ProgramFormat:
    """Load the modules of a reproducer, and return its program format.

    Raises:
        ReproducerError: There is none, or a module cannot be loaded.
    """
    for name in reproducer.load:
        load_plugin(name)
    programs = ir_named(reproducer.ir)
    if programs is None:
        raise ReproducerError(unknown_ir_message(reproducer.ir))
    return programs


def load_passes(reproducer: Reproducer) -> Sequential:
    """Load the passes of a reproducer, and return its pipeline.

    Raises:
        ReproducerError: It has none, or a pass cannot be loaded.
    """
    import_module("parpass.runner.driver.session")
    if not reproducer.pipeline:
        raise ReproducerError(f"it has no pipeline: {reproducer.unprintable}")
    load_ir(reproducer)
    register_located(reproducer.passes)
    try:
        return parse_pipeline(reproducer.pipeline)
    except PipelineSyntaxError as error:
        raise ReproducerError(f"the pipeline cannot be read: {error}") from None


def load_instruments(reproducer: Reproducer) -> list[PassInstrument]:
    """Return the instrument that raised the error of a reproducer, if one did.

    Raises:
        ReproducerError: It cannot be loaded.
    """
    if not reproducer.instrument:
        return []
    try:
        return [load_object(reproducer.instrument)()]
    except TypeError as error:
        raise ReproducerError(
            f"instrument '{reproducer.instrument}' cannot be made: {error}"
        ) from None


def run_passes(
    pipeline: Sequential,
    mod: Any,
    context: PassContext,
    instruments: Sequence[PassInstrument] = (),
) -> tuple[TrialResult, Exception | None]:
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
        return TrialResult(
            "raised", type(error).__name__, failed.pass_name, message
        ), error
    return TrialResult("passed"), None


@dataclass(frozen=True)
class FailurePredicate:
    """A predicate that holds for results with the failure of a reproducer.

    That is an error of the same type in the same pass; a death by any signal, if a
    worker died; a hang, if a time limit was exceeded.
    """

    error_type: str
    pass_name: str | None
    pattern: str | None = None

    @classmethod
    def from_reproducer(
        cls, reproducer: Reproducer, pattern: str | None = None
    ) -> FailurePredicate:
        """Return the predicate of a reproducer; its message must match a pattern."""
        by_pass = not reproducer.instrument  # those may raise at any pass
        name = reproducer.pass_name if by_pass else None
        return cls(reproducer.error_type, name, pattern)

    def __call__(self, result: TrialResult) -> bool:
        if self.pattern is not None and not re.search(self.pattern, str(result)):
            return False
        if result.kind == "raised":
            is_there = self.pass_name in (None, result.pass_name)
            return is_there and result.error == self.error_type
        if result.kind == "died":
            return self.error_type == "WorkerDiedError"
        return result.kind == "hung" and "Timeout" in self.error_type


def run_trial(job: bytes) -> bytes:
    """Run a reproducer in a child of this process; takes and returns JSON.

    The entry point in workers. The worker stays whole whatever happens.
    """
    message = json.loads(job)
    reproducer = Reproducer.from_text(message["text"])
    if not hasattr(os, "fork"):
        return _encoded(_run_candidate(reproducer))
    _preload(reproducer)
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, none of which the child needs
        child = os.fork()
    if child == 0:
        _run_child(reproducer, write)
    os.close(write)
    return _encoded(_wait_for_child(child, read, message["seconds"]))


def _encoded(result: TrialResult) -> bytes:
    bounded = replace(result, message=result.message[:_MAX_MESSAGE_CHARS])
    return json.dumps(asdict(bounded)).encode()


def _preload(reproducer: Reproducer) -> None:
    # Children inherit what is loaded here; what fails here fails there again.
    with contextlib.suppress(Exception), _quiet():
        # It takes longer to make a grammar than to try most candidates.
        load_ir(reproducer).parse("", "")
    with contextlib.suppress(Exception), _quiet():
        load_passes(reproducer)


def _run_child(reproducer: Reproducer, write: int) -> None:
    faulthandler.disable()  # many candidates are meant to die
    try:
        with _quiet(), os.fdopen(write, "wb") as pipe:
            pipe.write(_encoded(_run_candidate(reproducer)))
    finally:
        os._exit(0)


def _run_candidate(reproducer: Reproducer) -> TrialResult:
    try:
        pipeline = load_passes(reproducer)
        mod = parse_program(load_ir(reproducer), reproducer.text, "candidate")
        adapter = adapter_of(mod, "replay")
        context = reproducer.context()
        instruments = load_instruments(reproducer)
        for function in adapter.functions(mod).values():  # which may be text until now
            if faults := adapter.faults(function, mod):
                return TrialResult("malformed", message=faults[0])
    except Exception as error:  # noqa: BLE001 -- a candidate that is no program
        return TrialResult("raised", type(error).__name__, None, str(error))
    override_renderer(lambda _: None)
    with enforcing_budgets(interrupting):
        result, _ = run_passes(pipeline, mod, context, instruments)
    return result


def _wait_for_child(child: int, read: int, seconds: float) -> TrialResult:
    ready: list[Any] = []
    with os.fdopen(read, "rb", buffering=0) as pipe:
        try:
            ready, _, _ = select.select([pipe], [], [], max(seconds, 0))
        finally:  # it may be interrupted
            if not ready:
                os.kill(child, signal.SIGKILL)
        answer = pipe.read() if ready else b""
    _, status = os.waitpid(child, 0)
    if answer:
        return TrialResult(**json.loads(answer))
    if not ready:
        return TrialResult("hung")
    return TrialResult("died", exit_cause(os.waitstatus_to_exitcode(status)))


@contextlib.contextmanager
def _quiet() -> Any:
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        yield
