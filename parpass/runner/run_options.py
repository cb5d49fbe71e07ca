"""The options of runners, and what one call asks for.

The public functions (`parpass.api`) list them as arguments, which `help`, notebooks and
the documentation show; all else has them as one record. Limits come from their table
(`parpass.limits`).

The surface, which loads nothing, makes these; the session that it loads reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from parpass.runner.cache.function_cache import FunctionCache
    from parpass.runner.executor import Executor
    from parpass.runner.observers import RunObserver
    from parpass.transform import Pass, PassContext

FailurePolicy = Literal["fail", "skip", "retry"]


class RunnerOptions(NamedTuple):
    """The options of a runner, checked; see `open_runner`."""

    workers: int | None
    executor: Executor | str | None
    isolated: bool
    cache: FunctionCache | None


class RunRequest(NamedTuple):
    """One call of `Runner.run` or `Runner.run_sync`; see `run_pipeline`.

    Attributes:
        mod: The module, or what an adapter lifts to one.
        limits: Those of `parpass.limits` that were given, and `on_failure`, by name.
    """

    mod: Any
    pipeline: Pass | Sequence[Pass] | str
    context: PassContext | None
    limits: Mapping[str, Any]
    observers: tuple[RunObserver, ...]
