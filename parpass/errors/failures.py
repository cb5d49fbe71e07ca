"""The failures of workers: what ends a pass from outside, and what they report besides.

A worker dies, or a pass exceeds a limit of time or memory on a function.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from parpass.errors.core import ParpassError, safe_getattr
from parpass.errors.hints import Hint, HintedMessage

__all__ = [
    "FunctionFailure",
    "FunctionTimeoutError",
    "MemoryLimitError",
    "WorkerDiedError",
    "WorkerError",
    "other_failures",
]


class FunctionFailure(ParpassError):  # noqa: N818 -- the base of errors, never raised
    """A pass on one function was ended from outside.

    Attributes:
        pass_name: The pass.
        function: The function.
        reason: The event, without the names of pass and function.
        reproducer: The path of the reproducer; None if none was written.
        traceback: The worker's stack in the format of `faulthandler`, including C code;
            empty if unknown.
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
    """A worker died, and so did the next one that ran the suspected function alone.

    Attributes:
        cause: The signal or the exit code.
        where: The worker's activity: "unpickle" (decoding the function), "pass" or
            "pickle" (encoding the result).
    """

    def __init__(
        self, *, pass_name: str, function: str, cause: str, where: str = "pass"
    ) -> None:
        doing = _ACTIVITIES[where].format(pass_name=pass_name, function=function)
        super().__init__(
            HintedMessage(
                f"a worker process died ({cause}) while {doing}, and again when it "
                "ran that function alone; ",
                Hint.REPLAY,
            ),
            pass_name=pass_name,
            function=function,
            reason=f"a worker process died ({cause})",
        )
        self.cause = cause
        self.where = where


_ACTIVITIES = {
    "pass": "pass '{pass_name}' ran on function '{function}'",
    "unpickle": "function '{function}' was unpickled for pass '{pass_name}'",
    "pickle": "function '{function}' was pickled after pass '{pass_name}'",
}


def _limit_message(pass_name: str, function: str, reason: str) -> str:
    return HintedMessage(
        f"pass '{pass_name}' on function '{function}': {reason}; raise the limit, or ",
        Hint.SKIP_FUNCTION,
    )


class FunctionTimeoutError(FunctionFailure, TimeoutError):
    """A pass exceeded its time limit on a function, such as `function_timeout`.

    It is raised after at most twice the limit, not counting other work, even if the
    pass hangs on many functions.

    Attributes:
        limit: The limit, in seconds; `reason` names it.
    """

    def __init__(
        self, *, pass_name: str, function: str, limit: float, reason: str
    ) -> None:
        super().__init__(
            _limit_message(pass_name, function, reason),
            pass_name=pass_name,
            function=function,
            reason=reason,
        )
        self.limit = limit


class MemoryLimitError(MemoryError, FunctionFailure):
    """A pass exceeded its memory limit on a function; `limit` is in bytes."""

    def __init__(
        self, *, pass_name: str, function: str, limit: int, reason: str
    ) -> None:
        # Called by name: MemoryError is first in the bases and has its own constructor.
        FunctionFailure.__init__(
            self,
            _limit_message(pass_name, function, reason),
            pass_name=pass_name,
            function=function,
            reason=reason,
        )
        self.limit = limit


_OTHERS = "_parpass_other_failures"


def other_failures(error: BaseException) -> tuple[BaseException, ...]:
    """Return the further failures of the pass that raised `error`, in module order.

    `error` is the first failure in serial order, where a serial run stops. A parallel
    run stops as soon as that failure is known; these are the failures on later
    functions that workers had reported by then. Empty for a run in one process.
    """
    return safe_getattr(error, _OTHERS, ())


def attach_others(first: BaseException, failures: Sequence[BaseException]) -> None:
    """Store `failures` other than `first` on `first`, for `other_failures`."""
    others = tuple(error for error in failures if error is not first)
    if others:
        with contextlib.suppress(Exception):  # frozen exceptions stay without
            setattr(first, _OTHERS, others)


class WorkerError(ParpassError, RuntimeError):
    """An exception in a worker that cannot be pickled; `original` is its text."""

    def __init__(self, original: str) -> None:
        super().__init__(f"{original} (the exception itself could not be pickled)")
        self.original = original
