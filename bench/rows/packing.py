"""Row `packing`: the cost of encoding and of decoding a function."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from bench.measure import Figure, Setting, Times, clocked, interleaved, median, ratio
from bench.table import Goal, Line, Row
from bench.work import Work, generated_function, no_pass
from parpass import IRModule, relay
from parpass.runner.ipc.batch import EncodedFunction
from parpass.runner.ipc.module_store import FunctionHandle, ModuleStore, gc_paused
from parpass.transform import Optimizations, adapter_of

_NODES = 30_000  # of all functions together
_GOAL = Goal(15)  # us, for functions of ten nodes


class _Side:
    """Encodes and decodes functions, together or each alone."""

    def __init__(self, mod: IRModule, functions: Sequence[relay.Function], how: bool):
        self._store = ModuleStore(adapter_of(mod, "bench"), Optimizations(batches=how))
        self._mod = mod
        self._functions = functions
        self.packed = self.pack()

    def pack(self) -> list[EncodedFunction]:
        encoder, held = self._store.encoder(), map(FunctionHandle, self._functions)
        packed = [self._store.encode(one, encoder) for one in held]
        encoder.close()
        return packed

    def unpack(self) -> list[relay.Function]:
        held = [FunctionHandle(encoded=packed) for packed in self.packed]
        return [self._store.load(one, self._mod) for one in held]

    def bytes_each(self) -> float:
        bundles = dict.fromkeys(packed.batch for packed in self.packed)
        return sum(len(one.payload) for one in bundles) / len(self._functions)

    def close(self) -> None:
        self._store.close()


def _packing(setting: Setting) -> Iterator[Line]:
    for nodes in (10, 30, 300):
        count = setting.scaled(_NODES // nodes)
        mod = Work(count, nodes, no_pass).module()
        fresh = [generated_function(at, nodes) for at in range(count)]
        typed = list(mod.functions_by_name.values())
        for kind, functions in (("fresh", fresh), ("typed", typed)):
            what = f"{count:,} {kind} functions of {nodes} nodes"
            yield from _measured(what, mod, functions, nodes, 2 * setting.repeat)


def _measured(
    what: str, mod: IRModule, functions: Sequence[relay.Function], nodes: int, runs: int
) -> Iterator[Line]:
    together, alone = (_Side(mod, functions, how) for how in (True, False))
    sides = {
        "encoded": clocked(together.pack, time.thread_time),
        "encoded alone": clocked(alone.pack, time.thread_time),
        "decoded": clocked(together.unpack, time.thread_time),
        "decoded alone": clocked(alone.unpack, time.thread_time),
    }
    with gc_paused:  # as the runner does for each function
        times: Times = interleaved(sides, runs)
    for done in ("encoded", "decoded"):
        yield Line(
            what,
            f"{done}: processor time per function",
            median(times[done]).times(1e6 / len(functions), "us"),
            _GOAL if nodes == 10 else None,
            note=f"{_brief(ratio(times, f'{done} alone', done))} faster than alone; "
            f"{together.bytes_each():,.0f} bytes, alone {alone.bytes_each():,.0f}",
            times={done: times[done]},
        )
    together.close()
    alone.close()


def _brief(figure: Figure) -> str:
    return f"{figure.value:.1f} x"


ROWS = (Row("packing", _packing),)
