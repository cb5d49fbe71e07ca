"""The request of one call: its arguments, as the surface passes them to the session.

A file of its own, as the surface, which loads nothing, makes one, and the session that
it loads reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from parpass.runner.report.report import RunReport
    from parpass.runner.report.timeline import Tracing
    from parpass.runner.stage.progress import Progress
    from parpass.transform import Pass, PassContext


class RunRequest(NamedTuple):
    """One call of `Runner.run` or `Runner.run_sync`.

    Attributes:
        mod: The module, or what an adapter lifts to one.
        pipeline: A pass, a sequence of passes, or pipeline text.
        context: The settings; None for the current ones.
        limits: `function_timeout`, `memory_limit` and `on_failure`; None for each that
            is not given.
        on_report: Called with the report of the run.
        on_progress: Called while it runs, with how far it is.
        began: The time of the call, by `time.perf_counter()`.
        tracing: What records the run; None if nothing does.
    """

    mod: Any
    pipeline: Pass | Sequence[Pass] | str
    context: PassContext | None
    limits: tuple[float | None, int | None, str | None]
    on_report: Callable[[RunReport], object] | None
    on_progress: Callable[[Progress], object] | None
    began: float
    tracing: Tracing | None = None
