"""Row `fixed`: what it costs that a function goes to a worker and comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import parpass
from bench.measure import Figure, Setting, clocked, difference, interleaved, ratio
from bench.peers.pools import PEERS
from bench.table import Goal, Line, Row
from bench.work import USE_WORKERS, Work, no_pass
from parpass import IRModule, PassContext, Sequential, relay

_NODES = 10
_PER_FUNCTION = "over serial, for each function"


def pass_on(function: relay.Function) -> relay.Function:
    """Do on a function what the pass of this row does: nothing."""
    return function


def _fixed(setting: Setting) -> Iterator[Line]:
    work = Work(setting.scaled(10_000, 100), _NODES, no_pass)
    mod, passes = work.module(), Sequential(work.passes())
    with parpass.open_runner(workers=setting.workers) as runner:

        def forced() -> IRModule:
            with PassContext(config=USE_WORKERS):
                return runner.run_sync(mod, passes)

        forced()
        ours = {
            "serial": clocked(lambda: passes(mod)),
            "parpass, all in workers": clocked(forced),
            "parpass, as it comes": clocked(lambda: runner.run_sync(mod, passes)),
        }
        yield from _lines(ours, mod, setting)


def _lines(
    ours: Mapping[str, Callable[[], float]], mod: IRModule, setting: Setting
) -> Iterator[Line]:
    functions = list(mod.functions_by_name.values())
    what = f"a no-op pass on {len(functions):,} functions of {_NODES} nodes"
    opened = {peer.name: peer.open(setting.workers) for peer in PEERS}
    peers = {name: one for name, one in opened.items() if not isinstance(one, str)}
    try:
        for peer in peers.values():
            peer.map(pass_on, functions[: 10 * setting.workers])  # starts processes
        theirs = {
            name: clocked(lambda peer=peer: peer.map(pass_on, functions))
            for name, peer in peers.items()
        }
        slow = [peer.name for peer in PEERS if peer.is_slow]
        times = interleaved({**ours, **theirs}, setting.fewer, once=slow)
    finally:
        for peer in peers.values():
            peer.close()

    def cost(name: str) -> Figure:
        return difference(times, name, "serial").times(1e6 / len(functions), "us")

    forced, by_default = list(ours)[1:]
    yield Line(what, f"{by_default}, {_PER_FUNCTION}", cost(by_default), Goal(15))
    yield Line(what, f"{forced}, {_PER_FUNCTION}", cost(forced), times=times)
    if peers:
        fastest = min(peers, key=lambda name: cost(name).value)
        compares = f"{by_default} : {fastest}, the fastest peer"
        yield Line(what, compares, ratio(times, by_default, fastest), Goal(1))
    for name, peer in opened.items():
        reason = peer if isinstance(peer, str) else ""
        figure = None if reason else cost(name)
        yield Line(what, f"{name}, {_PER_FUNCTION}", figure, note=reason)


ROWS = (Row("fixed", _fixed),)
