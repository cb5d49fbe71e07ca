"""Rows `loops` and `loop_node`: passes on PrimFuncs, in parallel and for each node."""

from __future__ import annotations

from collections.abc import Iterator

from bench.loop_work import Exchange, LoopWork, loop_passes
from bench.measure import Setting, clocked, interleaved, median, ratio
from bench.peers.loop_rewriters import LOOP_PEERS
from bench.peers.rewriters import PEERS
from bench.rows.throughput import to_limit_and_serial
from bench.table import Goal, Line, Row
from bench.work import random_program
from parpass.ir.node import breadth_first

_STATEMENTS = 60
_NODES = 300  # of each of a peer's functions


def _loops(setting: Setting) -> Iterator[Line]:
    work = LoopWork(setting.scaled(10_000, setting.workers), _STATEMENTS)
    names = ", ".join(type(one).__name__ for one in loop_passes())
    what = f"{names} on {work.functions:,} PrimFuncs of {_STATEMENTS} statements"
    goal = Goal(at_most=1.12)
    yield from to_limit_and_serial(work, what, setting, setting.fewer, to_limit=goal)


def _loop_node(setting: Setting) -> Iterator[Line]:
    count = setting.scaled(100)
    mod, a_pass = LoopWork(count, _STATEMENTS).module(), Exchange()
    functions = mod.functions_by_name.values()
    nodes = sum(len(breadth_first(function)) for function in functions)
    sides = {"parpass": clocked(lambda: a_pass(mod))}
    peer = PEERS[0]
    programs = [random_program(at, _NODES) for at in range(count)]
    run = peer.make(programs)
    if not isinstance(run, str):
        sides[peer.name] = clocked(run)
    notes = dict[str, str]()
    for one in LOOP_PEERS:
        made = one.make(list(functions))
        if isinstance(made, str):
            notes[one.name] = made
        else:
            sides[one.name] = clocked(made)
    times = interleaved(sides, setting.repeat)
    what = f"a pass that exchanges sums and differences, {nodes:,} nodes of loops"
    figure = median(times["parpass"]).times(1e6 / nodes, "us")
    yield Line(what, "parpass, serial, for each node", figure, times=times)
    for one in LOOP_PEERS:
        compares, why = f"parpass : {one.name}", notes.get(one.name)
        found = None if why else ratio(times, "parpass", one.name)
        yield Line(what, compares, found, Goal(1), note=why or "")
    compares = f"parpass : {peer.name} on tensors, for each node"
    if isinstance(run, str):
        yield Line(what, compares, None, note=run)
        return
    found = ratio(times, "parpass", peer.name).times(count * _NODES / nodes, "x")
    yield Line(what, compares, found, Goal(1))


ROWS = (Row("loops", _loops), Row("loop_node", _loop_node))
