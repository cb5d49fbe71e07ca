"""What a pass leaves behind besides its result: diagnostics and counters."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Generator
from contextvars import ContextVar

from parpass.diagnostic import DiagnosticContext

_recorder: ContextVar[Recorder | None] = ContextVar("parpass_recorder", default=None)


class Recorder:
    """Takes down what a pass body says while it runs.

    Attributes:
        diag_ctx: Where the body emits diagnostics.
        counters: The counters that the body keeps by `PassContext.count`.
        function_name: The function that a function pass is running on.
    """

    def __init__(self, diag_ctx: DiagnosticContext) -> None:
        self.diag_ctx = diag_ctx
        self.counters: Counter[str] = Counter()
        self.function_name: str | None = None


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
