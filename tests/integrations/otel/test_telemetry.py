"""Runs have spans and metrics, the same in workers, and no exporter fails a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import trio
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from parpass.errors import WorkerDiedError
from parpass.integrations.otel import Telemetry, caller_context
from parpass.runner import FunctionCache, Runner
from parpass.transform import (
    FunctionPass,
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
)
from tests.support.runner.pooled import POOLED
from tests.support.toy.ending import EndIn
from tests.support.toy.ir import Fn, Program, program
from tests.support.toy.passes import Add, Duplicate, FailOn

PASSES = Sequential([Add(1), Duplicate(), Add(2)])


class Seen:
    """What the SDK's exporters in memory got."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.spans = TracerProvider()
        self.spans.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.metrics = MeterProvider([self.reader])
        self.telemetry = Telemetry(
            "toy", tracer_provider=self.spans, meter_provider=self.metrics
        )

    def tree(self) -> list[tuple[str, str | None]]:
        """Return the spans by start, each with the name of its parent."""
        found = sorted(self.exporter.get_finished_spans(), key=_start)
        names = {one.context.span_id: one.name for one in found if one.context}
        return [
            (one.name, names.get(one.parent.span_id) if one.parent else None)
            for one in found
        ]

    def totals(self) -> dict[str, float]:
        """Return the sum of each metric."""
        data = self.reader.get_metrics_data()
        assert data is not None
        return {
            metric.name: sum(
                getattr(point, "value", getattr(point, "sum", 0))
                for point in metric.data.data_points
            )
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


def _start(span: ReadableSpan) -> int:
    return span.start_time or 0


@pytest.fixture
def seen() -> Iterator[Seen]:
    one = Seen()
    yield one
    one.spans.shutdown()
    one.metrics.shutdown()


def run(seen: Seen, runner: Runner, root: Pass, **config: Any) -> None:
    context = PassContext(config=config, instruments=[seen.telemetry])
    report = seen.telemetry.take_report
    tracer = trace.get_tracer("caller", tracer_provider=seen.spans)
    with tracer.start_as_current_span("caller"):
        runner.run_sync(program(*range(9)), root, context=context, report=report)


@pytest.mark.slow
def test_the_spans_are_those_of_a_serial_run_below_that_of_the_caller(runner: Runner):
    trees: list[Any] = []
    for one, config in ((Runner(workers=0), {}), (runner, POOLED)):
        seen = Seen()
        run(seen, one, PASSES, **config)
        trees.append(seen.tree())
        assert seen.totals()["parpass.run.duration"] > 0
    assert trees[0] == trees[1]
    assert trees[0] == [
        ("caller", None),
        ("parpass.run sequential", "caller"),
        ("Add", "parpass.run sequential"),
        ("Duplicate", "parpass.run sequential"),
        ("Add", "parpass.run sequential"),
    ]


@pytest.mark.slow
def test_stages_in_workers_are_spans_of_the_run(seen: Seen, runner: Runner):
    with seen.telemetry.watching(runner):
        run(seen, runner, PASSES, **POOLED)
    stages = [pair for pair in seen.tree() if pair[0].startswith("stage: ")]
    assert stages == 2 * [("stage: Add", "parpass.run sequential")]


def test_a_failed_pass_has_the_error(seen: Seen):
    with pytest.raises(ValueError, match="5"):
        run(seen, Runner(workers=0), Sequential([Add(1), FailOn(5)]))
    spans = {one.name: one for one in seen.exporter.get_finished_spans()}
    failed = spans["FailOn"]
    assert failed.status.description is not None
    assert failed.status.description.startswith("ValueError: ")
    assert [event.name for event in failed.events] == ["exception"]
    assert spans["Add"].status.is_unset


class ParentOf(FunctionPass):
    """Returns the trace that the caller's span is in, as the body sees it."""

    pass_info = PassInfo(0, "ParentOf")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        span = trace.get_current_span(caller_context())
        return func.with_values([span.get_span_context().trace_id])


@pytest.mark.slow
@pytest.mark.parametrize("has_stages", [False, True])
def test_bodies_in_workers_know_the_span_of_the_caller(
    seen: Seen, runner: Runner, has_stages: bool
):
    tracer = trace.get_tracer("caller", tracer_provider=seen.spans)
    with (
        tracer.start_as_current_span("caller") as span,
        seen.telemetry.watching(runner if has_stages else None),
    ):
        context = PassContext(config=POOLED)
        made = runner.run_sync(program(1, 2), ParentOf(), context=context)
    wanted = span.get_span_context().trace_id
    assert [one.values for one in made.functions.values()] == 2 * [(wanted,)]


class Wait(ModulePass):
    """Waits until it is cancelled."""

    pass_info = PassInfo(0, "Wait")

    def __init__(self, started: trio.Event) -> None:
        self.started = started

    async def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        self.started.set()
        await trio.sleep_forever()
        return mod


async def test_a_cancelled_run_is_counted_and_its_spans_end(seen: Seen):
    started, telemetry = trio.Event(), seen.telemetry
    with Runner(workers=0) as runner, PassContext(instruments=[telemetry]):
        async with trio.open_nursery() as nursery:

            async def run() -> None:
                root, report = Wait(started), telemetry.take_report
                await runner.run(program(1), root, report=report)

            nursery.start_soon(run)
            await started.wait()
            nursery.cancel_scope.cancel()
    assert seen.totals()["parpass.run.cancellations"] == 1
    (span,) = seen.exporter.get_finished_spans()
    assert (span.name, span.status.description) == ("parpass.run Wait", "cancelled")


async def test_a_cancelled_run_is_no_parent_of_the_next(seen: Seen):
    started, telemetry = trio.Event(), seen.telemetry
    tracer = trace.get_tracer("caller", tracer_provider=seen.spans)
    with Runner(workers=0) as runner:
        async with trio.open_nursery() as nursery:

            async def run() -> None:
                context = PassContext(instruments=[telemetry])
                await runner.run(program(1), Wait(started), context=context)

            nursery.start_soon(run)
            await started.wait()
            nursery.cancel_scope.cancel()
        with tracer.start_as_current_span("caller"):
            context = PassContext(instruments=[telemetry])
            await runner.run(program(1), Add(1), context=context)
    assert seen.tree() == [
        ("parpass.run Wait", None),
        ("caller", None),
        ("parpass.run Add", "caller"),
    ]


@pytest.mark.slow
def test_workers_that_died_and_retries_are_counted(seen: Seen):
    context = PassContext(config=POOLED, instruments=[seen.telemetry])
    with Runner(workers=1) as runner, pytest.raises(WorkerDiedError):
        runner.run_sync(
            program(*range(9)),
            EndIn("segfault", 4),
            context=context,
            on_failure="retry",
            report=seen.telemetry.take_report,
        )
    totals = seen.totals()
    assert totals["parpass.worker.deaths"] >= 2  # with others, and alone
    assert totals["parpass.function.retries"] == 1
    assert totals["parpass.run.cancellations"] == 0
    assert seen.tree() == [("parpass.run EndIn", None)]


def test_instruments_of_several_requests_add_up(
    seen: Seen, caplog: pytest.LogCaptureFixture
):
    for pipeline in ("one", "other", "one"):
        telemetry = Telemetry(
            pipeline, tracer_provider=seen.spans, meter_provider=seen.metrics
        )
        with Runner(workers=0) as runner, PassContext(instruments=[telemetry]):
            runner.run_sync(program(1), PASSES, report=telemetry.take_report)
    data = seen.reader.get_metrics_data()
    assert data is not None
    (scope,) = data.resource_metrics[0].scope_metrics
    (duration,) = [one for one in scope.metrics if one.name == "parpass.run.duration"]
    counts = {
        (one.attributes or {})["parpass.pipeline"]: getattr(one, "count", 0)
        for one in duration.data.data_points
    }
    assert counts == {"one": 2, "other": 1}
    assert not caplog.records


class Broken(SpanProcessor):
    """Raises whenever a span starts."""

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        raise OSError("no collector")


def test_an_sdk_that_fails_is_one_warning_and_no_failure():
    provider = TracerProvider()
    provider.add_span_processor(Broken())
    telemetry = Telemetry(tracer_provider=provider)
    with (
        Runner(workers=0) as runner,
        PassContext(instruments=[telemetry]),
        pytest.warns(RuntimeWarning, match="OSError: no collector") as warned,
    ):
        made = runner.run_sync(program(1), PASSES, report=telemetry.take_report)
    assert str(made) == str(PASSES(program(1)))
    assert len(warned) == 1


def test_without_an_sdk_nothing_is_done():
    telemetry = Telemetry()
    with Runner(workers=0) as runner, PassContext(instruments=[telemetry]):
        runner.run_sync(program(1), PASSES, report=telemetry.take_report)


def test_what_a_cache_had_and_had_not_is_counted(seen: Seen):
    telemetry = seen.telemetry
    with Runner(workers=0, cache=FunctionCache()) as runner:
        for _ in range(3):
            with PassContext(instruments=[telemetry]):
                runner.run_sync(program(1, 2), Add(1), report=telemetry.take_report)
    totals = seen.totals()
    assert totals["parpass.cache.hits"] + totals["parpass.cache.misses"] == 6
    assert totals["parpass.cache.hits"] >= 2
