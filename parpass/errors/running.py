"""What ends a run from outside of a pass: deaths, limits, places."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from parpass.errors.base import ParpassError, attribute_of


class RuntimeUseError(ParpassError, RuntimeError):
    """The runner is used in a place, or in a state, where it cannot run."""


class FunctionFailure(ParpassError):  # noqa: N818 -- the base of errors, never raised
    """A pass on one function was ended from outside.

    Attributes:
        pass_name: The pass.
        function: The function.
        reason: What happened, without the names of pass and function.
        reproducer: The path of the reproducer, None if none was written.
        traceback: Where the worker was, as `faulthandler` tells it, C code included;
            empty if nothing could be learned.
    """

    def __init__(
        self, message: str, *, pass_name: str, function: str, reason: str
    ) -> None:
        super().__init__(message)
        self.pass_name = pass_name
        self.function = function
        self.reason = reason
        self.reproducer: str | None = None
        self.traceback = ""


class WorkerDiedError(FunctionFailure, RuntimeError):
    """A worker died, and died again when the suspect ran alone.

    `cause` is the signal or the exit code; `where` says what the worker was at: "pass",
    or "unpickle" and "pickle" for the way of the function there and back.
    """

    def __init__(
        self, *, pass_name: str, function: str, cause: str, where: str = "pass"
    ) -> None:
        doing = _DOING[where].format(pass_name=pass_name, function=function)
        super().__init__(
            f"a worker process died ({cause}) while {doing}, and again when that "
            "function ran alone; run the pipeline with workers=0 to see it fail in "
            "this process",
            pass_name=pass_name,
            function=function,
            reason=f"a worker process died ({cause})",
        )
        self.cause = cause
        self.where = where


_DOING = {
    "pass": "pass '{pass_name}' ran on function '{function}'",
    "unpickle": "function '{function}' was unpickled for pass '{pass_name}'",
    "pickle": "function '{function}' was pickled after pass '{pass_name}'",
}


def _beyond_its_limit(pass_name: str, function: str, reason: str) -> str:
    return (
        f"pass '{pass_name}' on function '{function}': {reason}; allow it more, or "
        "set on_failure='skip' to go on without this pass on this function"
    )


class FunctionTimeoutError(FunctionFailure, TimeoutError):
    """A pass took longer on a function than `function_timeout`; `limit` in seconds."""

    def __init__(self, *, pass_name: str, function: str, limit: float) -> None:
        reason = f"it took longer than its function_timeout of {limit:g} s"
        super().__init__(
            _beyond_its_limit(pass_name, function, reason),
            pass_name=pass_name,
            function=function,
            reason=reason,
        )
        self.limit = limit


class MemoryLimitError(MemoryError, FunctionFailure):
    """A pass took more memory on a function than `memory_limit`; `limit` in bytes."""

    def __init__(self, *, pass_name: str, function: str, limit: int) -> None:
        reason = f"it took more memory than its memory_limit of {limit:,} bytes"
        # MemoryError comes first, as it has a constructor of its own.
        FunctionFailure.__init__(
            self,
            _beyond_its_limit(pass_name, function, reason),
            pass_name=pass_name,
            function=function,
            reason=reason,
        )
        self.limit = limit


_OTHERS = "_parpass_other_failures"


def other_failures(error: BaseException) -> tuple[BaseException, ...]:
    """Return what else workers reported of the same pass, in module order.

    `error` is the first failure in the order of a serial run, which stops there. So
    does a parallel run as soon as it knows of it: these are the failures that workers
    had met by then, on later functions. Where all was done in one process there are
    none.
    """
    return attribute_of(error, _OTHERS, ())


def attach_others(first: BaseException, failures: Sequence[BaseException]) -> None:
    """Have `other_failures(first)` return all of these but itself."""
    others = tuple(error for error in failures if error is not first)
    if others:
        with contextlib.suppress(Exception):  # some are frozen; they do without
            setattr(first, _OTHERS, others)


class WorkerError(ParpassError, RuntimeError):
    """An exception in a worker that cannot be pickled; `original` is its text."""

    def __init__(self, original: str) -> None:
        super().__init__(f"{original} (the exception itself could not be pickled)")
        self.original = original


class InternalError(ParpassError, RuntimeError):
    """A fault of parpass itself; please report it with the traceback."""
