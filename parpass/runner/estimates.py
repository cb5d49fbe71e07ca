"""The expected cost of a stage in this process, by its passes and functions.

The cost model has what passes take for a node. The nodes of a stage are counted, or
estimated by some of its functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from parpass.runner.cost_model import (
    BYTES_PER_NODE,
    COST_MODEL,
    WARM_OVERHEAD_SECONDS,
)
from parpass.runner.ipc.module_store import FunctionHandle, StoredModule
from parpass.transform import ModuleAdapter, Pass

_MANY_NODES = 50_000  # of a stage that runs in this process by an estimate, unprobed
_SAMPLED_MARGIN = 2.0  # times as much work as a sample shows may be there at the most
_SAMPLE_NODES = 5_000  # nodes of functions that tell those of all
_SAMPLE_SIZE = 64  # functions whose nodes are counted, about, to estimate those of all
_NEGLIGIBLE_NODES = 100  # nodes of two functions that are not worth workers
_SAMPLE_IF_LARGE = 8  # functions, if they are large


class Estimate(msgspec.Struct, frozen=True):
    """The expected costs of a stage.

    Attributes:
        seconds: The time in this process.
        nodes: The nodes of its functions, about.
        functions: How many functions there are.
        longest: The time of the largest function, of those that were counted.
        margin: How many times as much work may be there; 1 if that is known.
        in_workers: The time in the workers; 0 if they are not worth it.
    """

    seconds: float
    nodes: float = 0.0
    functions: int = 0
    longest: float = 0.0
    margin: float = 1.0
    in_workers: float = 0.0

    @property
    def work(self) -> tuple[float, float, int]:
        """The seconds, nodes and functions, as a `SpeedupModel` takes them."""
        return self.seconds, self.nodes, self.functions


def estimate(
    steps: Sequence[Pass], functions: Mapping[str, Any], adapter: ModuleAdapter
) -> Estimate | None:
    """Return what passes are expected to take on functions; None if that is unknown.

    Args:
        steps: The passes.
        functions: The functions by name, as objects or as handles of the store.
        adapter: Counts their nodes.
    """
    pace = COST_MODEL.of(steps)
    if pace is None:
        return None
    nodes, largest = _estimate_size(functions, adapter, pace)
    margin = 1.0 if nodes < _MANY_NODES else _SAMPLED_MARGIN
    return Estimate(pace * nodes, nodes, len(functions), pace * largest, margin)


def _estimate_size(
    functions: Mapping[str, Any], adapter: ModuleAdapter, pace: float
) -> tuple[float, int]:
    """Return how many nodes functions have, about, and the largest that was counted."""
    count = len(functions)
    if count > _SAMPLE_IF_LARGE:
        # There may be one giant; it does not stand for others.
        *others, largest = sorted(_sample_sizes(functions, adapter, pace))
        mean = 1 + sum(others) / len(others)
        return 1 + largest + mean * (count - 1), largest
    nodes = largest = 0
    for one in functions.values():
        size = _node_count(one, adapter)
        nodes += size + 1  # an adapter may not know
        if size > largest:
            largest = size
        if count == 2 and nodes <= _NEGLIGIBLE_NODES:
            return 2.0 * nodes, size  # workers would save no more than this one takes
    return float(nodes), largest


def _sample_sizes(
    functions: Mapping[str, Any], adapter: ModuleAdapter, pace: float
) -> list[int]:
    """Return sizes that tell those of all functions.

    A few do if several are large, or if all is too little work for workers.
    """
    few = {
        name: _node_count(functions[name], adapter)
        for name in _stride_sample(functions, _SAMPLE_IF_LARGE)
    }
    seconds = pace * sum(few.values()) * len(functions) / len(few)
    others = sum(few.values()) - max(few.values())
    # To count a node takes up to a tenth of what a pass takes on it.
    if others >= _SAMPLE_NODES or seconds < WARM_OVERHEAD_SECONDS:
        return list(few.values())
    enough = 2 * _SAMPLE_NODES * len(few) // max(1, others)
    return [
        few[name] if name in few else _node_count(functions[name], adapter)
        for name in _stride_sample(functions, min(_SAMPLE_SIZE, enough))
    ]


def _stride_sample(functions: Mapping[str, Any], most: int) -> Iterator[str]:
    # An odd step, so that of functions that come in pairs both kinds are seen.
    return islice(functions, 0, None, len(functions) // most | 1)


def total_nodes(mod: Any, adapter: ModuleAdapter) -> int:
    """Return how many nodes the functions of a module have, which may be held."""
    held = mod.handles if type(mod) is StoredModule else adapter.functions(mod)
    found = [_node_count(one, adapter, 1 << 60) for one in held.values()]
    return sum(found) + len(found)


def _node_count(one: Any, adapter: ModuleAdapter, limit: int = _MANY_NODES) -> int:
    """Return how many nodes a function has, which may be held, and encoded."""
    if type(one) is not FunctionHandle:
        return adapter.size(one, limit)
    if one.function is not None:
        return one.size(adapter, limit)
    return 0 if one.encoded is None else one.encoded.size // BYTES_PER_NODE
