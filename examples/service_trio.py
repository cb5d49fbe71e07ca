"""A compile service on trio: a request is a line of JSON, and so is the answer.

    python examples/service_trio.py --port 8081
    {"pipeline": "FoldConstant", "text": "def @main() { ... }"}
    {"text": "def @main() { ... }"}

`docs/services.md` tells why each part is there.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
from collections import defaultdict
from collections.abc import AsyncGenerator
from typing import Any

import trio

import parpass
from parpass import IRModule, PassContext, relay
from parpass.runner import Runner, RunReport

AT_ONCE = 2  # compiles; each of them may use all workers
WAITING = 8  # requests that wait for their turn; more are told to come again
REQUEST_SECONDS = 30.0  # for all of a request
FUNCTION_SECONDS = 5.0  # for a pass on one function
FUNCTION_BYTES = 1 << 30  # likewise
REQUEST_BYTES = 16 << 20  # of a line
SHUTDOWN_SECONDS = 10.0  # that requests under way have when the service is to end

Request = dict[str, Any]
Answer = dict[str, Any]


class BusyError(Exception):
    """As many requests wait as may."""


class Gate:
    """Lets in so many at once, has some wait, and refuses the others."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._turn = trio.Semaphore(at_once)
        self._places = at_once + waiting

    @contextlib.asynccontextmanager
    async def entered(self) -> AsyncGenerator[None]:
        """Wait for a turn, and keep it meanwhile."""
        if not self._places:
            raise BusyError("too many requests are waiting; try again later")
        self._places -= 1
        try:
            async with self._turn:
                yield
        finally:
            self._places += 1


class Lines:
    """The lines that a client sends; it may go away while the last one is answered."""

    def __init__(self, stream: trio.abc.ReceiveStream) -> None:
        self._stream = stream
        self._received = bytearray()

    async def next(self) -> bytes | None:
        """Return the next line, None when there are no more."""
        while (end := self._received.find(b"\n")) < 0:
            if not await self._receive():
                return None
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line

    async def wait_for_the_end(self) -> None:
        """Wait until the client is gone; what it sends meanwhile is kept."""
        while await self._receive():
            pass

    async def _receive(self) -> bool:
        if len(self._received) > REQUEST_BYTES:
            return False
        try:
            received = await self._stream.receive_some()
        except trio.BrokenResourceError:
            return False
        self._received += received
        return bool(received)


class Service:
    """Compiles on one runner, whose processes all clients share."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.gate = Gate(AT_ONCE, WAITING)
        self.counted: defaultdict[str, float] = defaultdict(float)
        self._idle: set[trio.CancelScope] = set()
        self._is_ending = False

    async def serve(self, stream: trio.SocketStream) -> None:
        """Answer the requests of a client, one by one, until it is gone."""
        lines = Lines(stream)
        while (line := await self._next_request(lines)) is not None:
            answers: list[Answer] = []
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._cancel_at_the_end, lines, nursery.cancel_scope)
                answers.append(await self.answer(line))
                nursery.cancel_scope.cancel()
            if not answers:
                self.counted["cancelled"] += 1
                return
            [answer] = answers
            self.counted[answer["outcome"]] += 1
            with contextlib.suppress(trio.BrokenResourceError):
                await stream.send_all(json.dumps(answer).encode() + b"\n")

    async def _next_request(self, lines: Lines) -> bytes | None:
        """Return the next line, None when there are no more, or none are wanted."""
        if self._is_ending:
            return None
        with trio.CancelScope() as scope:
            self._idle.add(scope)
            try:
                return await lines.next()
            finally:
                self._idle.discard(scope)
        return None

    def end(self) -> None:
        """Have no more requests begin, so that clients are done with their last."""
        self._is_ending = True
        for scope in self._idle:
            scope.cancel()

    async def _cancel_at_the_end(self, lines: Lines, scope: trio.CancelScope) -> None:
        await lines.wait_for_the_end()
        scope.cancel()

    async def answer(self, line: bytes) -> Answer:
        """Return the answer to a request: errors are answers, too."""
        try:
            request: Request = json.loads(line)
            if request.get("metrics"):
                return {"outcome": "metrics", **self.counted}
            with trio.fail_after(REQUEST_SECONDS):
                async with self.gate.entered():
                    return {"outcome": "compiled", "text": await self.compiled(request)}
        except BusyError as error:
            return {"outcome": "refused", "error": str(error)}
        except trio.TooSlowError:
            return {"outcome": "too_long", "error": "the request took too long"}
        except Exception as error:  # noqa: BLE001 -- a pass may raise anything
            notes = getattr(error, "__notes__", [])
            kind = type(error).__name__
            return {"outcome": "failed", "error": f"{kind}: {error}", "notes": notes}

    async def compiled(self, request: Request) -> str:
        """Return what a pipeline makes of a program; raises what a pass raised."""
        mod = await trio.to_thread.run_sync(relay.parse, request["text"], "request")
        new = await self.runner.run(
            mod,
            request.get("pipeline", "DefaultPipeline"),
            context=PassContext(opt_level=request.get("level", 2)),
            function_timeout=FUNCTION_SECONDS,
            memory_limit=FUNCTION_BYTES,
            report=self.count,
        )
        return await trio.to_thread.run_sync(new.astext)

    def count(self, report: RunReport) -> None:
        """Add up where the time of runs went; called when one has ended, however."""
        self.counted["runs"] += 1
        self.counted["run_seconds"] += report.seconds
        self.counted["worker_seconds"] += report.busy
        self.counted["worker_processor_seconds"] += report.processor
        self.counted["worker_queued_seconds"] += report.queued


async def end_on_signal(
    service: Service, listening: trio.CancelScope, clients: trio.CancelScope
) -> None:
    """Stop listening when told to end, and soon what is still under way."""
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            listening.cancel()
            service.end()
            clients.deadline = trio.current_time() + SHUTDOWN_SECONDS
            return


async def serve(port: int) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    async with parpass.open_runner(isolated=True) as runner:
        # So that no request waits for the processes.
        x = relay.var("x", shape=(1,))
        await runner.run(IRModule.from_expr(relay.Function((x,), x)), "InferType")
        service, listening = Service(runner), trio.CancelScope()
        async with trio.open_nursery() as clients:
            scopes = listening, clients.cancel_scope
            clients.start_soon(end_on_signal, service, *scopes)
            with listening:
                listeners = await trio.open_tcp_listeners(port, host="127.0.0.1")
                print(f"on port {listeners[0].socket.getsockname()[1]}", flush=True)
                await trio.serve_listeners(
                    service.serve, listeners, handler_nursery=clients
                )


def main() -> None:
    """Read the arguments, and serve."""
    parser = argparse.ArgumentParser(description=serve.__doc__)
    parser.add_argument("--port", type=int, default=8081)
    trio.run(serve, parser.parse_args().port)


if __name__ == "__main__":
    main()
