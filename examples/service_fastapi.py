"""A compile service by FastAPI: a program comes in and goes out as text.

    uvicorn --app-dir examples service_fastapi:app --port 8080
    curl --data-binary @model.relay 'localhost:8080/compile?pipeline=FoldConstant'

`docs/services.md` tells why each part is there.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable
from typing import Annotated

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.responses import PlainTextResponse

import parpass
from parpass import PassContext, relay
from parpass.errors import (
    ConfigError,
    DiagnosticError,
    ParseError,
    PipelineSyntaxError,
    UnknownPassError,
)
from parpass.runner import Runner

AT_ONCE = 2  # compiles; each of them may use all workers
REQUEST_SECONDS = 30.0  # for all of a request
FUNCTION_SECONDS = 5.0  # for a pass on one function
FUNCTION_BYTES = 1 << 30  # likewise
REQUEST_BYTES = 16 << 20  # of the program's text

CLIENT_ERRORS = (
    ConfigError,
    DiagnosticError,
    ParseError,
    PipelineSyntaxError,
    UnknownPassError,
)


@contextlib.asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
    """Keep the runner as long as the service."""
    async with parpass.open_runner(isolated=True) as runner:
        app.state.runner = runner
        app.state.turn = asyncio.Semaphore(AT_ONCE)
        # So that no request waits for the processes.
        await runner.run(relay.parse("def @main(%x: float32) { %x }"), "InferType")
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/compile", response_class=PlainTextResponse)
async def compile_one(
    request: Request,
    pipeline: str = "DefaultPipeline",
    level: Annotated[int, Query(ge=0, le=4)] = 2,
) -> str:
    """Answer with what a pipeline makes of the program in the request's body."""
    text = await body_of(request)
    try:
        async with asyncio.timeout(REQUEST_SECONDS), app.state.turn:
            run = compiled(app.state.runner, text, pipeline, level)
            return await unless_gone(request, run)
    except CLIENT_ERRORS as error:
        raise HTTPException(400, str(error)) from error
    except TimeoutError as error:
        raise HTTPException(504, "the request took too long") from error
    except Exception as error:  # a pass may raise anything
        where = "".join(f", {note}" for note in getattr(error, "__notes__", ()))
        raise HTTPException(500, f"{error}{where}") from error


async def body_of(request: Request) -> str:
    """Return the text of a request, of limited size."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > REQUEST_BYTES:
            raise HTTPException(413, f"expected at most {REQUEST_BYTES} bytes")
    return body.decode()


async def compiled(runner: Runner, text: str, pipeline: str, level: int) -> str:
    """Return what a pipeline makes of a program; raises what a pass raised."""
    mod = await asyncio.to_thread(relay.parse, text, "request")
    new = await runner.run(
        mod,
        pipeline,
        context=PassContext(opt_level=level),
        function_timeout=FUNCTION_SECONDS,
        memory_limit=FUNCTION_BYTES,
    )
    return await asyncio.to_thread(new.astext)


async def unless_gone(request: Request, work: Awaitable[str]) -> str:
    """Return what is awaited, or cancel it when the client closes the connection."""
    running = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(request.receive())  # its next message says so
    try:
        await asyncio.wait([running, gone], return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            raise HTTPException(499, "the client is gone")
        return await running
    finally:
        for task in (running, gone):
            task.cancel()
        await asyncio.wait([running, gone])
