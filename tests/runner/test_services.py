"""The services of the examples, driven over sockets as clients do."""

from __future__ import annotations

import asyncio
import functools
import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trio
import uvicorn
from aiohttp import web

import parpass
from examples import service_asyncio, service_fastapi, service_trio
from parpass import relay
from parpass.runner import open_runner
from tests.support.docs.steps import snippets
from tests.support.runner.pooled import (
    child_processes,
    folders,
    new_pipe,
    settled_processes,
)
from tests.support.runner.serving import BEGUN, ONE_FUNCTION, PROGRAM

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "services.md"
COMPILED = relay.transform.InferType()(relay.parse(PROGRAM)).astext()


@contextmanager
def nothing_left() -> Generator[None]:
    processes, kept = settled_processes(), folders()
    yield
    assert child_processes() <= processes
    assert folders() <= kept


# On asyncio.


def test_on_asyncio_a_page_is_told_how_far_a_compile_is():
    async def streamed(
        client: aiohttp.ClientSession, pipeline: str
    ) -> list[tuple[str, Any]]:
        query = {"pipeline": pipeline}
        async with client.post("/stream", params=query, data=PROGRAM) as answer:
            assert answer.content_type == "text/event-stream"
            events = (await answer.text()).removesuffix("\n\n").split("\n\n")
        pairs = [re.fullmatch("event: (.*)\ndata: (.*)", one) for one in events]
        return [(one[1], json.loads(one[2])) for one in pairs if one]

    async def main() -> None:
        async with asyncio_service() as client:
            async with client.get("/") as answer:
                assert "/stream" in await answer.text()
            *told, made = await streamed(client, "InferType")
            assert made == ("compiled", COMPILED)
            kind, last = told[-1]
            assert kind == "progress"
            assert last["passes"] == ["InferType"]
            assert last["done"] == last["functions"]
            assert (await streamed(client, "Unknown"))[-1][0] == "failed"

    with nothing_left():
        asyncio.run(main())


@asynccontextmanager
async def asyncio_service() -> AsyncGenerator[aiohttp.ClientSession]:
    served = web.AppRunner(service_asyncio.application(), handler_cancellation=True)
    await served.setup()
    await web.TCPSite(served, "127.0.0.1", 0).start()
    host, port = served.addresses[0]
    try:
        async with aiohttp.ClientSession(f"http://{host}:{port}") as client:
            yield client
    finally:
        await served.cleanup()


async def post(
    client: aiohttp.ClientSession, pipeline: str, text: str = PROGRAM
) -> tuple[int, str]:
    query = {"pipeline": pipeline}
    async with client.post("/compile", params=query, data=text) as answer:
        return answer.status, await answer.text()


async def metrics(client: aiohttp.ClientSession) -> dict[str, float]:
    async with client.get("/metrics") as answer:
        lines = (await answer.text()).splitlines()
    return {name: float(value) for name, value in map(str.split, lines)}


def requests_ended(counted: dict[str, float]) -> float:
    return sum(
        count for name, count in counted.items() if name.startswith("parpass_requests_")
    )


@pytest.mark.slow
def test_on_asyncio_what_one_client_does_is_no_concern_of_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    two_workers = functools.partial(parpass.open_runner, workers=2)
    monkeypatch.setattr(parpass, "open_runner", two_workers)
    monkeypatch.setattr(service_asyncio, "FUNCTION_SECONDS", 200.0)

    async def main() -> None:
        async with asyncio_service() as client:
            status, text = await post(client, "InferType")
            assert (status, text) == (200, COMPILED)
            for pipeline, program in [("Nope", PROGRAM), ("InferType", "def @main(")]:
                status, text = await post(client, pipeline, program)
                assert status == 400
            status, text = await post(client, "Crashes")
            assert status == 500
            assert "SIGSEGV" in text
            assert "in pass 'Crashes', on function 'first'" in text
            begun = new_pipe(tmp_path)
            monkeypatch.setenv(BEGUN, str(begun))
            gone = asyncio.ensure_future(post(client, "Hangs", ONE_FUNCTION))
            await asyncio.to_thread(begun.read_bytes)
            assert (await post(client, "InferType"))[0] == 200
            assert not gone.done(), gone.result()
            gone.cancel()
            while requests_ended(counted := await metrics(client)) < 6:
                pass
            assert counted.get("parpass_requests_cancelled_total") == 1, counted
            assert (await post(client, "InferType"))[0] == 200
            counted = await metrics(client)
        assert counted["parpass_requests_failed_total"] == 1
        assert counted["parpass_requests_client_error_total"] == 2
        assert counted["parpass_run_seconds_total"] > 0

    with nothing_left():
        asyncio.run(main())


@pytest.mark.slow
def test_on_asyncio_more_requests_than_may_wait_are_refused_and_long_ones_end(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(service_asyncio, "AT_ONCE", 1)
    monkeypatch.setattr(service_asyncio, "WAITING", 2)
    monkeypatch.setattr(service_asyncio, "FUNCTION_SECONDS", 200.0)
    monkeypatch.setattr(service_asyncio, "REQUEST_SECONDS", 200.0)

    async def main() -> None:
        async with asyncio_service() as client:
            left = [asyncio.ensure_future(post(client, "Hangs")) for _ in range(5)]
            for _ in range(2):
                await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
                (refused,) = [one for one in left if one.done()][:1]
                assert refused.result()[0] == 503
                left.remove(refused)
            for one in left:
                assert not one.done()
                one.cancel()
            while requests_ended(await metrics(client)) < 5:
                pass
            monkeypatch.setattr(service_asyncio, "REQUEST_SECONDS", 0.5)
            found = await asyncio.gather(*[post(client, "Hangs") for _ in range(3)])
            assert [status for status, _ in found] == [504] * 3

    with nothing_left():
        asyncio.run(main())


# By FastAPI.


@asynccontextmanager
async def fastapi_service() -> AsyncGenerator[aiohttp.ClientSession]:
    server = uvicorn.Server(uvicorn.Config(service_fastapi.app, log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        host, port = listening.getsockname()
        async with aiohttp.ClientSession(f"http://{host}:{port}") as client:
            yield client
        server.should_exit = True
        await serving


@pytest.mark.slow
def test_by_fastapi_what_one_client_does_is_no_concern_of_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    two_workers = functools.partial(parpass.open_runner, workers=2)
    monkeypatch.setattr(parpass, "open_runner", two_workers)
    monkeypatch.setattr(service_fastapi, "FUNCTION_SECONDS", 200.0)
    monkeypatch.setattr(service_fastapi, "AT_ONCE", 1)

    async def main() -> None:
        async with fastapi_service() as client:
            assert await post(client, "InferType") == (200, COMPILED)
            assert (await post(client, "Nope"))[0] == 400
            status, text = await post(client, "Crashes")
            assert (status, "on function 'first'" in text) == (500, True)
            begun = new_pipe(tmp_path)
            monkeypatch.setenv(BEGUN, str(begun))
            gone = asyncio.ensure_future(post(client, "Hangs", ONE_FUNCTION))
            await asyncio.to_thread(begun.read_bytes)
            gone.cancel()  # the only turn is free when its run was cancelled
            assert await post(client, "InferType") == (200, COMPILED)
            monkeypatch.setattr(service_fastapi, "REQUEST_SECONDS", 0.0)
            assert (await post(client, "InferType"))[0] == 504
            monkeypatch.setattr(service_fastapi, "REQUEST_BYTES", 1)
            assert (await post(client, "InferType"))[0] == 413

    with nothing_left():
        asyncio.run(main())


# On trio.


@asynccontextmanager
async def trio_service() -> AsyncGenerator[tuple[service_trio.Service, int]]:
    async with (
        open_runner(workers=2, isolated=True) as runner,
        trio.open_nursery() as nursery,
    ):
        service = service_trio.Service(runner)
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, service.serve, listeners)
        yield service, listeners[0].socket.getsockname()[1]
        nursery.cancel_scope.cancel()


async def ask(port: int, **request: Any) -> dict[str, Any]:
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(json.dumps(request).encode() + b"\n")
        answer = b""
        while not answer.endswith(b"\n"):
            answer += await stream.receive_some()
    return json.loads(answer)


@pytest.mark.slow
async def test_on_trio_what_one_client_does_is_no_concern_of_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(service_trio, "FUNCTION_SECONDS", 200.0)
    with nothing_left():
        async with trio_service() as (service, port):
            good = {"text": PROGRAM, "pipeline": "InferType"}
            answer = await ask(port, **good)
            assert answer == {"outcome": "compiled", "text": COMPILED}
            answer = await ask(port, text="def @main(", pipeline="InferType")
            assert answer["error"].startswith("ParseError: ")
            answer = await ask(port, text=PROGRAM, pipeline="Crashes")
            assert "SIGSEGV" in answer["error"]
            assert "in pass 'Crashes', on function 'first'" in answer["notes"]
            begun = new_pipe(tmp_path)
            monkeypatch.setenv(BEGUN, str(begun))
            async with trio.open_nursery() as nursery:
                hanging = {"text": ONE_FUNCTION, "pipeline": "Hangs"}
                nursery.start_soon(lambda: ask(port, **hanging))
                await trio.to_thread.run_sync(begun.read_bytes)
                assert (await ask(port, **good))["outcome"] == "compiled"
                nursery.cancel_scope.cancel()
            while not service.counted["cancelled"]:
                await trio.lowlevel.checkpoint()
            answer = await ask(port, metrics=True)
            assert (answer["failed"], answer["cancelled"]) == (2, 1)


@pytest.mark.slow
async def test_on_trio_more_requests_than_may_wait_are_refused_and_long_ones_end(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(service_trio, "AT_ONCE", 1)
    monkeypatch.setattr(service_trio, "WAITING", 2)
    monkeypatch.setattr(service_trio, "FUNCTION_SECONDS", 200.0)
    monkeypatch.setattr(service_trio, "REQUEST_SECONDS", 200.0)
    outcomes: list[str] = []

    async def one(port: int) -> None:
        answer = await ask(port, text=PROGRAM, pipeline="Hangs")
        outcomes.append(answer["outcome"])

    with nothing_left():
        async with trio_service() as (service, port):
            async with trio.open_nursery() as nursery:
                for _ in range(5):
                    nursery.start_soon(one, port)
                while len(outcomes) < 2:
                    await trio.lowlevel.checkpoint()
                nursery.cancel_scope.cancel()
            assert outcomes == ["refused"] * 2
            while service.counted["cancelled"] < 3:
                await trio.lowlevel.checkpoint()
            monkeypatch.setattr(service_trio, "REQUEST_SECONDS", 0.5)
            async with trio.open_nursery() as nursery:
                for _ in range(3):
                    nursery.start_soon(one, port)
    assert outcomes[2:] == ["too_long"] * 3


# As programs.


@contextmanager
def program(name: str) -> Generator[int]:
    """Run one of the examples on a free port, until it is told to end."""
    command = [sys.executable, f"examples/{name}.py", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        try:
            yield int(one.stdout.readline().removeprefix("on port "))
        finally:
            one.send_signal(signal.SIGTERM)
        assert one.wait() == 0


@pytest.mark.slow
def test_the_program_on_asyncio_serves_until_it_is_told_to_end():
    with nothing_left(), program("service_asyncio") as port:
        url = f"http://127.0.0.1:{port}/compile?pipeline=InferType"
        with urllib.request.urlopen(url, PROGRAM.encode()) as answer:
            assert answer.read().decode() == COMPILED
        with pytest.raises(urllib.error.HTTPError, match="400") as caught:
            urllib.request.urlopen(url, b"def @main(")
        caught.value.close()


@pytest.mark.slow
async def test_the_program_on_trio_serves_until_it_is_told_to_end():
    with nothing_left(), program("service_trio") as port:
        answer = await ask(port, text=PROGRAM, pipeline="InferType")
        assert answer["text"] == COMPILED


def test_what_the_page_shows_is_in_the_programs():
    hosts = ("asyncio", "fastapi", "trio")
    files = [ROOT / "examples" / f"service_{host}.py" for host in hosts]
    programs = [unindented(file.read_text()) for file in files]
    shown = [unindented(one.text) for one in snippets(PAGE)]
    assert len(shown) > 5
    for block in shown:
        assert any(block in text for text in programs), block


def unindented(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())
