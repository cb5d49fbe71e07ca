"""Row `visitors`: the same Python pass in other people's visitors, for each node."""

from __future__ import annotations

from collections.abc import Iterator

from bench.measure import Setting, clocked, interleaved, median, ratio
from bench.peers.rewriters import PEERS
from bench.table import Goal, Line, Row
from bench.work import PAIRS, Swap, Swapper, Work, light_pass, random_program

_NODES = 300


def _visitors(setting: Setting) -> Iterator[Line]:
    count = setting.scaled(50)
    mod, swap = Work(count, _NODES, light_pass).module(), Swap(PAIRS)
    functions = list(mod.functions_by_name.values())
    programs = [random_program(at, _NODES) for at in range(count)]
    made = {peer.name: peer.make(programs) for peer in PEERS}
    peers = {name: run for name, run in made.items() if not isinstance(run, str)}
    ours = {
        "parpass": clocked(lambda: swap(mod)),
        "the visitor alone": clocked(
            lambda: [Swapper(PAIRS).visit(function) for function in functions]
        ),
    }
    theirs = {name: clocked(run) for name, run in peers.items()}
    times = interleaved({**ours, **theirs}, setting.repeat)
    what = f"a pass that exchanges all operators, {count:,} functions of {_NODES} nodes"
    per_node = 1e6 / (count * _NODES)
    for name in ours:
        figure = median(times[name]).times(per_node, "us")
        compares = f"{name}, serial, for each node"
        yield Line(what, compares, figure, times={name: times[name]})
    for name, run in made.items():
        if isinstance(run, str):
            yield Line(what, f"{name}, for each node", None, note=run)
            continue
        figure = median(times[name]).times(per_node, "us")
        compares = f"{name}, for each node"
        yield Line(what, compares, figure, times={name: times[name]})
        yield Line(what, f"parpass : {name}", ratio(times, "parpass", name), Goal(1))


ROWS = (Row("visitors", _visitors),)
