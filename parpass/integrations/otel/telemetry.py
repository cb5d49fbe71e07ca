"""Telemetry: an instrument that makes OpenTelemetry spans and metrics of runs.

It needs the API of OpenTelemetry alone. Where the program has no SDK, the API does
nothing; where an SDK fails, that is one warning, and the runs go on.

Spans of passes have the times at which a serial run would have called the hooks, so the
tree of spans is the same with and without workers. A stage in the workers is a span
beside those of its passes.
"""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Generator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

from opentelemetry import metrics, trace
from opentelemetry.context import Context, get_current
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import (
    TraceContextTextMapPropagator,
)

from parpass import Runner, RunReport, propagate
from parpass.instrument import PassInstrument, hook_time
from parpass.spi import warn
from parpass.transform import PassInfo

_NAME = "parpass"
_PROPAGATOR = TraceContextTextMapPropagator()

# The span of the caller, in the form of W3C's header `traceparent`.
_carrier: ContextVar[Mapping[str, str] | None] = propagate(
    ContextVar("parpass_telemetry", default=None)
)


def caller_context() -> Context:
    """Return the context of the span in which the run was called.

    Use it in the body of a pass, which may run in a worker: a span started with
    `tracer.start_as_current_span(name, context=caller_context())` becomes a child of
    that span. Empty outside of `Telemetry.watching`.
    """
    return _PROPAGATOR.extract(dict(_carrier.get() or {}))


class _Meters(NamedTuple):
    """The metrics of runs, as a meter has them."""

    duration: metrics.Histogram
    queued: metrics.Histogram
    deaths: metrics.Counter
    retries: metrics.Counter
    cancelled: metrics.Counter
    hits: metrics.Counter
    misses: metrics.Counter


# One for each meter: an SDK may warn about each that is created again, and a service
# has a `Telemetry` for each request.
_created: weakref.WeakKeyDictionary[metrics.Meter, _Meters] = (
    weakref.WeakKeyDictionary()
)
_creating = threading.Lock()


def _meters(meter: metrics.Meter) -> _Meters:
    with _creating:
        known = _created.get(meter)
        if known is None:
            known = _created[meter] = _Meters(
                meter.create_histogram("parpass.run.duration", "s", "Duration of runs"),
                meter.create_histogram(
                    "parpass.worker.queued",
                    "s",
                    "Time in which workers waited for a processor",
                ),
                meter.create_counter(
                    "parpass.worker.deaths",
                    description="Workers that died or were killed",
                ),
                meter.create_counter(
                    "parpass.function.retries",
                    description="Functions run again, as their worker died",
                ),
                meter.create_counter(
                    "parpass.run.cancellations",
                    description="Runs that were cancelled",
                ),
                meter.create_counter(
                    "parpass.cache.hits",
                    description="Functions that stages took from a function cache",
                ),
                meter.create_counter(
                    "parpass.cache.misses",
                    description="Functions that a function cache did not have",
                ),
            )
        return known


@dataclass
class _Open:
    """A span that is open, and the context of spans in it."""

    span: Span
    context: Context


class Telemetry(PassInstrument):
    """Creates spans and metrics for runs under the contexts that contain it.

    The outermost pass is the run; its parent is the caller's current span. Concurrent
    runs need one instrument each.

    Args:
        pipeline: The name of the pipeline, an attribute of spans and metrics.
        tracer_provider: The receiver of spans; by default the program's provider.
        meter_provider: The receiver of metrics; by default the program's provider.
    """

    observes_ir = False

    def __init__(
        self,
        pipeline: str = "",
        *,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
    ) -> None:
        self._attributes = {"parpass.pipeline": pipeline}
        self._tracer = trace.get_tracer(_NAME, tracer_provider=tracer_provider)
        meter = metrics.get_meter(_NAME, meter_provider=meter_provider)
        self._meters = _meters(meter)
        self._open: list[_Open] = []
        self._open_at_enter: list[int] = []
        self._lock = threading.Lock()
        self._has_failed = False
        # From the clock of hooks to that of spans.
        self._epoch = time.time_ns() - int(time.perf_counter() * 1e9)

    @contextlib.contextmanager
    def watching(self, runner: Runner | None = None) -> Generator[None]:
        """Send the caller's span to workers, and add spans of stages to the run.

        See `caller_context`.

        Args:
            runner: The runner, for spans of stages; they cost as much as a trace. It
                must not execute other runs in the block, because it reports the stages
                of all. None for no such spans.
        """
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier)
        token = _carrier.set(carrier)
        try:
            if runner is None:
                yield
            else:
                with runner.traced_to(self._take_recorded):
                    yield
        finally:
            _carrier.reset(token)

    def enter_pass_ctx(self) -> None:
        """Record which spans are open around the context."""
        self._open_at_enter.append(len(self._open))

    def exit_pass_ctx(self) -> None:
        """End the spans that are still open.

        Passes that were cancelled are not reported in any other way.
        """
        # An instrument of the default context is left without having been entered.
        depth = self._open_at_enter.pop() if self._open_at_enter else 0
        if len(self._open) > depth:
            self._safely(self._end_cancelled, depth)

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Start the span of a pass, or of a run."""
        del mod
        self._safely(self._start, info.name, hook_time())

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """End the span of a pass, or of a run."""
        del mod, info
        self._safely(self._end, hook_time())

    def run_after_failed_pass(self, mod: Any, info: PassInfo, error: Exception) -> None:
        """End the span of a pass that failed, with its error."""
        del mod, info
        self._safely(self._end, hook_time(), error)

    def take_report(self, report: RunReport) -> None:
        """Record the metrics of a run; pass `report=telemetry.take_report` to it.

        If a run's span is still open, the run was cancelled, and the span is ended.
        """
        self._safely(self._record, report)

    def _start(self, name: str, at: float) -> None:
        is_run = not self._open
        parent = get_current() if is_run else self._open[-1].context
        span = self._tracer.start_span(
            f"parpass.run {name}" if is_run else name,
            parent,
            SpanKind.INTERNAL,
            {**self._attributes, "parpass.pass": name},
            start_time=self._nanoseconds(at),
        )
        context = trace.set_span_in_context(span, parent)
        self._open.append(_Open(span, context))

    def _end(self, at: float, error: Exception | None = None) -> None:
        span = self._open.pop().span
        if error is not None:
            span.record_exception(error)
            span.set_status(
                Status(StatusCode.ERROR, f"{type(error).__name__}: {error}")
            )
        span.end(self._nanoseconds(at))

    def _end_cancelled(self, depth: int) -> None:
        """End the innermost spans, down to a depth."""
        while len(self._open) > depth:
            span = self._open.pop().span
            span.set_status(Status(StatusCode.ERROR, "cancelled"))
            span.end()

    def _record(self, report: RunReport) -> None:
        is_cancelled = bool(self._open)
        self._end_cancelled(0)
        outcome = {"parpass.cancelled": is_cancelled}
        meters = self._meters
        meters.duration.record(report.seconds, {**self._attributes, **outcome})
        meters.queued.record(report.queued, self._attributes)
        meters.deaths.add(report.deaths, self._attributes)
        meters.retries.add(report.retries, self._attributes)
        meters.cancelled.add(int(is_cancelled), self._attributes)
        if report.cache is not None:
            meters.hits.add(report.cache.recalled, self._attributes)
            meters.misses.add(report.cache.computed, self._attributes)

    def _take_recorded(self, recorded: Any) -> None:
        for one in recorded.slices:
            if one.category == "stage" and self._open:
                self._safely(self._add_stage, one)

    def _add_stage(self, one: Any) -> None:
        span = self._tracer.start_span(
            one.name,
            self._open[0].context,
            SpanKind.INTERNAL,
            {**self._attributes, "parpass.stage": one.detail},
            start_time=self._nanoseconds(one.began),
        )
        span.end(self._nanoseconds(one.ended))

    def _nanoseconds(self, at: float) -> int:
        return self._epoch + int(at * 1e9)

    def _safely(self, action: Callable[..., None], *args: Any) -> None:
        """Do something with the SDK; the first time that it fails is a warning."""
        if self._has_failed:
            return
        try:
            with self._lock:
                action(*args)
        except Exception as error:  # noqa: BLE001 -- of an SDK, or of its exporter
            self._has_failed = True
            warn(
                f"OpenTelemetry failed and gets no more of these runs, which go on: "
                f"{type(error).__name__}: {error}",
                RuntimeWarning,
            )
