"""A thousand requests to a service, 20 at once, some of which go wrong in each way."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable

import aiohttp
import pytest
from aiohttp import web

from examples import service_asyncio
from parpass import IRModule, relay
from tests.stress.test_stress import held, nothing_left, resident, times
from tests.support.runner.serving import PROGRAM

pytestmark = pytest.mark.stress

Report = Callable[[str, str], None]

AT_ONCE = 20
TICK = 0.01
WARM = 0.2  # of the requests, after which memory is to stay as it is

# What clients do, and how often of 100 times.
SMALL, LARGE, WRONG, CRASH, HANG, LEAVE = (
    "small",
    "large",
    "wrong",
    "crash",
    "hang",
    "leave",
)
KINDS = {SMALL: 70, LARGE: 15, WRONG: 4, CRASH: 3, HANG: 1, LEAVE: 7}

ANSWERS = {SMALL: 200, LARGE: 200, WRONG: 400, CRASH: 500, HANG: 500, LEAVE: 200}


def large_program() -> str:
    """Return the text of 40 functions."""
    x = relay.var("x", shape=(8, 8))
    body = x
    for _ in range(10):
        body = relay.nn.relu(relay.add(body, relay.multiply(x, x)))
    layer = relay.Function((x,), body)
    return IRModule({f"layer{at}": layer for at in range(40)}).astext()


class Load:
    """Clients, and what became of their requests."""

    def __init__(self, client: aiohttp.ClientSession, requests: int) -> None:
        draw = random.Random(11)
        kinds = list(KINDS)
        self.client = client
        self.left = draw.choices(kinds, weights=list(KINDS.values()), k=requests)
        self.requests = requests
        self.draw = draw
        self.large = large_program()
        self.outcomes: Counter[tuple[str, int]] = Counter()
        self.seconds: list[float] = []
        self.at_first = held(), resident()
        self.at_last = self.at_first
        self.lateness: list[float] = []
        self.unexpected: list[str] = []

    async def run(self) -> None:
        ticking = asyncio.create_task(self.tick())
        await asyncio.gather(*[self.ask() for _ in range(AT_ONCE)])
        ticking.cancel()

    async def tick(self) -> None:
        """Take down how late the loop is for what is due each 10 ms."""
        due = time.perf_counter() + TICK
        while True:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            self.lateness.append(time.perf_counter() - due)
            due = max(due + TICK, time.perf_counter())

    async def ask(self) -> None:
        while self.left:
            kind = self.left.pop()
            if len(self.left) == round(self.requests * (1 - WARM)):
                self.at_first = held(), resident()
            began = time.perf_counter()
            status = await self.answer_to(kind)
            self.outcomes[kind, status] += 1
            if kind == SMALL:
                self.seconds.append(time.perf_counter() - began)

    async def answer_to(self, kind: str) -> int:
        """Return the status of the answer to a request, 0 if nobody waited for it."""
        match kind:
            case "large" | "leave":
                pipeline, text = "DefaultPipeline", self.large
            case "wrong":
                pipeline, text = "InferType", "def @main("
            case "crash":
                pipeline, text = "Crashes", PROGRAM
            case "hang":
                pipeline, text = "Hangs", PROGRAM
            case _:
                pipeline, text = "InferType,FoldConstant", PROGRAM
        patience = self.draw.uniform(0.0, 0.2) if kind == LEAVE else None
        with contextlib.suppress(TimeoutError):
            async with (
                asyncio.timeout(patience),
                self.client.post(
                    "/compile", params={"pipeline": pipeline}, data=text
                ) as answer,
            ):
                text = await answer.text()
                if answer.status != ANSWERS[kind]:
                    self.unexpected.append(f"{kind}: {answer.status} {text}")
                return answer.status
        return 0


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))]


def test_a_service_under_load_answers_each_and_grows_by_nothing(
    monkeypatch: pytest.MonkeyPatch, report: Report
):
    requests, began = max(100, times(1000)), time.monotonic()
    monkeypatch.setattr(service_asyncio, "AT_ONCE", 4)
    # Who has just left still has a place for a moment.
    monkeypatch.setattr(service_asyncio, "WAITING", 2 * AT_ONCE)
    # What hangs is found, and what waits for busy cores is not taken for that.
    monkeypatch.setattr(service_asyncio, "FUNCTION_SECONDS", 5.0)
    monkeypatch.setattr(service_asyncio, "REQUEST_SECONDS", 600.0)

    async def main() -> Load:
        app = service_asyncio.application()
        served = web.AppRunner(app, handler_cancellation=True)
        await served.setup()
        await web.TCPSite(served, "127.0.0.1", 0).start()
        host, port = served.addresses[0]
        try:
            async with aiohttp.ClientSession(f"http://{host}:{port}") as client:
                load = Load(client, requests)
                await load.run()
                load.at_last = held(), resident()
        finally:
            await served.cleanup()
        return load

    with nothing_left():
        load = asyncio.run(main())
    spent = time.monotonic() - began
    (early, at_first), (late, at_last) = load.at_first, load.at_last
    grown = (at_last - at_first) / 1e6
    worst, p99 = max(load.lateness), percentile(load.lateness, 0.99)
    report(
        f"{requests:,} requests to a service, {AT_ONCE} at once",
        f"{spent:.0f} s; the loop is late by {p99 * 1e3:.0f} ms (p99), "
        f"{worst * 1e3:.0f} ms at most; small ones take "
        f"{percentile(load.seconds, 0.5) * 1e3:.0f} ms (median), "
        f"{percentile(load.seconds, 0.99) * 1e3:.0f} ms (p99); memory {grown:+.1f} MB, "
        f"processes, descriptors, threads {early} to {late}; "
        + ", ".join(
            f"{count} {kind}: {status or 'gone'}"
            for (kind, status), count in sorted(load.outcomes.items())
        ),
    )
    assert load.unexpected == []
    assert sum(load.outcomes.values()) == requests
    assert grown < 40
    assert late[0] <= early[0] + 1  # one that was killed may not be gone yet
