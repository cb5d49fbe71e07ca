"""What a pass leaves behind besides its result: diagnostics and counters."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Generator, Iterable
from contextvars import ContextVar
from typing import Any

from parpass.diagnostic import Diagnostic, DiagnosticContext, DiagnosticLevel

_recorder: ContextVar[Recorder | None] = ContextVar("parpass_recorder", default=None)


class Recorder:
    """Takes down what a pass body says while it runs.

    Args:
        module: The module that the pass runs on.

    Attributes:
        diag_ctx: Where the body emits diagnostics.
        counters: The counters that the body keeps by `PassContext.count`.
        function_name: The function that a function pass is running on.
    """

    def __init__(self, module: Any) -> None:
        # A body that renders ends itself by an error; what it said is shown after it.
        self.diag_ctx = DiagnosticContext(module, _shown_later)
        self.counters: Counter[str] = Counter()
        self.function_name: str | None = None


def has_error(diagnostics: Iterable[Diagnostic]) -> bool:
    """Return whether one of these is an error: it ends the run after the pass."""
    return any(one.level == DiagnosticLevel.ERROR for one in diagnostics)


def _shown_later(_diag_ctx: DiagnosticContext) -> None:
    pass


def current_recorder() -> Recorder | None:
    """Return the recorder of the pass that is running here, None outside of passes."""
    return _recorder.get()


@contextlib.contextmanager
def recording(recorder: Recorder) -> Generator[None]:
    """Make `recorder` the current one."""
    token = _recorder.set(recorder)
    try:
        yield
    finally:
        _recorder.reset(token)
