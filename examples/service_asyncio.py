"""A compile service on asyncio, by aiohttp: a program comes in and goes out as text.

    python examples/service_asyncio.py --port 8080
    curl --data-binary @model.relay 'localhost:8080/compile?pipeline=FoldConstant'

In a browser http://localhost:8080/ shows meanwhile how far a compile is.
`docs/services.md` tells why each part is there.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import socket
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from pathlib import Path
from typing import Any

from aiohttp import web

import parpass
from parpass import IRModule, PassContext, relay
from parpass.errors import (
    ConfigError,
    DiagnosticError,
    ParseError,
    PipelineSyntaxError,
    UnknownPassError,
)
from parpass.runner import Progress, Runner, RunReport

AT_ONCE = 2  # compiles; each of them may use all workers
WAITING = 8  # requests that wait for their turn; more are told to come again
REQUEST_SECONDS = 30.0  # for all of a request
FUNCTION_SECONDS = 5.0  # for a pass on one function
FUNCTION_BYTES = 1 << 30  # likewise
REQUEST_BYTES = 16 << 20  # of the program's text
PAGE = Path(__file__).with_name("service_page.html")
SHUTDOWN_SECONDS = 10.0  # that requests under way have when the service is to end

CLIENT_ERRORS = (
    ConfigError,
    DiagnosticError,
    ParseError,
    PipelineSyntaxError,
    UnknownPassError,
)


class Gate:
    """Lets in so many at once, has some wait, and refuses the others."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._turn = asyncio.Semaphore(at_once)
        self._places = at_once + waiting

    @contextlib.asynccontextmanager
    async def entered(self) -> AsyncGenerator[None]:
        """Wait for a turn, and keep it meanwhile."""
        if not self._places:
            raise web.HTTPServiceUnavailable(
                text="too many requests are waiting; try again later\n",
                headers={"Retry-After": "1"},
            )
        self._places -= 1
        try:
            async with self._turn:
                yield
        finally:
            self._places += 1


class Service:
    """Compiles on one runner, whose processes all requests share."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.gate = Gate(AT_ONCE, WAITING)
        self.counted: defaultdict[str, float] = defaultdict(float)

    async def compiled(
        self,
        text: str,
        pipeline: str,
        level: int,
        told: Callable[[Progress], object] | None = None,
    ) -> str:
        """Return what a pipeline makes of a program; raises what a pass raised."""
        mod = await asyncio.to_thread(relay.parse, text, "request")
        new = await self.runner.run(
            mod,
            pipeline,
            context=PassContext(opt_level=level),
            function_timeout=FUNCTION_SECONDS,
            memory_limit=FUNCTION_BYTES,
            report=self.count,
            progress=told,
        )
        return await asyncio.to_thread(new.astext)

    def count(self, report: RunReport) -> None:
        """Add up where the time of runs went; called when one has ended, however."""
        self.counted["runs_total"] += 1
        self.counted["run_seconds_total"] += report.seconds
        self.counted["worker_seconds_total"] += report.busy
        self.counted["worker_processor_seconds_total"] += report.processor
        self.counted["worker_queued_seconds_total"] += report.queued


SERVICE = web.AppKey("service", Service)


async def compile_one(request: web.Request) -> web.Response:
    """Answer `POST /compile?pipeline=...&level=2`.

    Who goes away has this cancelled, and with it the run.
    """
    return await answer_to(request)


async def stream_one(request: web.Request) -> web.StreamResponse:
    """Answer `POST /stream` as `/compile`, by events that tell how far the run is."""
    await request.read()
    events: asyncio.Queue[tuple[str, object]] = asyncio.Queue()

    def told(progress: Progress) -> None:
        events.put_nowait(("progress", progress_json(progress)))

    async def run() -> None:
        try:
            answer = await answer_to(request, told)
        except web.HTTPException as refused:
            answer = refused
        kind = "compiled" if answer.status == 200 else "failed"
        events.put_nowait((kind, answer.text))

    stream = web.StreamResponse(headers={"Cache-Control": "no-store"})
    stream.content_type = "text/event-stream"
    await stream.prepare(request)
    running = asyncio.create_task(run())
    try:
        kind = "progress"
        while kind == "progress":
            kind, value = await events.get()
            event = f"event: {kind}\ndata: {json.dumps(value)}\n\n"
            await stream.write(event.encode())
    finally:  # who goes away has the run cancelled
        running.cancel()
        await asyncio.wait([running])
    return stream


def progress_json(progress: Progress) -> dict[str, Any]:
    """Return how far a run is, for the page."""
    workers = [
        {
            "worker": one.worker,
            "pass": one.pass_name,
            "function": one.function,
            "seconds": one.seconds,
        }
        for one in progress.workers
    ]
    return {
        "stage": progress.stage,
        "passes": progress.passes,
        "done": progress.done,
        "functions": progress.functions,
        "seconds": progress.seconds,
        "eta": progress.eta,
        "workers": workers,
        "slow": [one.function for one in progress.slow],
    }


async def page(_: web.Request) -> web.FileResponse:
    """Answer `GET /` with the page that compiles and shows how far that is."""
    return web.FileResponse(PAGE)


async def answer_to(
    request: web.Request, told: Callable[[Progress], object] | None = None
) -> web.Response:
    """Compile what a request has, and tell how far that is."""
    service = request.app[SERVICE]
    pipeline = request.query.get("pipeline", "DefaultPipeline")
    level = request.query.get("level", "2")
    if not level.isdecimal():
        raise web.HTTPBadRequest(text=f"expected a number for level, got {level!r}\n")
    text = await request.text()
    outcome, limit = "cancelled", asyncio.timeout(REQUEST_SECONDS)
    try:
        async with limit, service.gate.entered():
            made = await service.compiled(text, pipeline, int(level), told)
        outcome = "compiled"
        return web.Response(text=made)
    except web.HTTPServiceUnavailable:
        outcome = "refused"
        raise
    except CLIENT_ERRORS as error:
        outcome = "client_error"
        return web.Response(status=400, text=f"{error}\n")
    except Exception as error:  # noqa: BLE001 -- a pass may raise anything
        if isinstance(error, TimeoutError) and limit.expired():
            outcome = "too_long"
            return web.Response(status=504, text="the request took too long\n")
        outcome = "failed"
        where = "".join(f", {note}" for note in getattr(error, "__notes__", ()))
        return web.Response(status=500, text=f"{error}{where}\n")
    finally:
        service.counted[f"requests_{outcome}_total"] += 1


async def metrics(request: web.Request) -> web.Response:
    """Answer `GET /metrics`, in the text format that Prometheus reads."""
    counted = request.app[SERVICE].counted
    lines = [f"parpass_{name} {value:g}\n" for name, value in sorted(counted.items())]
    return web.Response(text="".join(lines))


async def kept_open(app: web.Application) -> AsyncIterator[None]:
    """Keep the runner as long as the service; requests are over before it is closed."""
    async with parpass.open_runner(isolated=True) as runner:
        app[SERVICE] = Service(runner)
        # So that no request waits for the processes.
        x = relay.var("x", shape=(1,))
        await runner.run(IRModule.from_expr(relay.Function((x,), x)), "InferType")
        yield


def application() -> web.Application:
    """Return the service, to be run by any of aiohttp's ways."""
    app = web.Application(client_max_size=REQUEST_BYTES)
    app.cleanup_ctx.append(kept_open)
    app.add_routes(
        [
            web.get("/", page),
            web.post("/compile", compile_one),
            web.post("/stream", stream_one),
            web.get("/metrics", metrics),
        ]
    )
    return app


def main() -> None:
    """Serve until SIGTERM or Ctrl-C."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, default=8080)
    listening = socket.create_server(("127.0.0.1", parser.parse_args().port))
    print(f"on port {listening.getsockname()[1]}", flush=True)
    web.run_app(
        application(),
        sock=listening,
        handler_cancellation=True,  # who goes away has its request cancelled
        shutdown_timeout=SHUTDOWN_SECONDS,
        print=None,
    )


if __name__ == "__main__":
    main()
