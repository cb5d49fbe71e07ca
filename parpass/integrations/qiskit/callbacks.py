"""Callbacks of a pass manager in a worker, kept for the process of the caller.

Qiskit's callbacks receive the pass, the circuit as a graph and the property set, all of
which are in the worker. The pass is identified by its position in the caller's pass
manager; the others are pickled, which may take as long as a light pass. A graph that
has not changed since the last call, as after each analysis pass, is not pickled again.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from qiskit.passmanager import PropertySet
from qiskit.transpiler import PassManager

from parpass.spi import dumps

Callback = Callable[..., object]


class Call(NamedTuple):
    """A call of a callback, as bytes.

    Attributes:
        graph: The circuit as a graph; None if it is the previous call's.
        others: The place of the pass, and the other arguments.
    """

    graph: bytes | None
    others: bytes


def passes_of(pass_manager: PassManager) -> list[Any]:
    """Return the passes of a pass manager, in an order that is the same in a copy.

    Those that a controller makes up as it goes are not among them.
    """
    found: list[Any] = []
    left: list[Any] = [pass_manager.to_flow_controller()]
    while left:
        one = left.pop()
        found.append(one)
        inner = *getattr(one, "tasks", ()), *getattr(one, "requires", ())
        left += reversed(inner)
    return found


class Recorder:
    """A callback that keeps what it is called with, in `calls`."""

    def __init__(self, pass_manager: PassManager) -> None:
        self._passes = passes_of(pass_manager)  # kept, as are the numbers that follow
        self._places = {id(one): at for at, one in enumerate(self._passes)}
        self._graph: Any = None  # of the last call, and its bytes
        self._bytes = b""
        self.calls: list[Call] = []

    def __call__(self, *, pass_: Any, dag: Any, **others: Any) -> None:
        """Keep the arguments of a call as they are now."""
        place = self._places.get(id(pass_))
        arguments = others if place is not None else {**others, "pass_": pass_}
        graph = self._changed(pass_, dag)
        self.calls.append(Call(graph, _pickled(place, arguments)))

    def _changed(self, pass_: Any, dag: Any) -> bytes | None:
        """Return a graph as bytes, None if it is as it was at the last call."""
        only_analyses = getattr(pass_, "is_analysis_pass", False)
        if dag is self._graph and only_analyses:
            return None
        content = pickle.dumps(dag, protocol=5)
        is_same = content == self._bytes
        self._graph, self._bytes = dag, content
        return None if is_same else content


def _pickled(place: int | None, arguments: dict[str, Any]) -> bytes:
    """Return what a call has as bytes, but what cannot be pickled of the properties."""
    try:
        return pickle.dumps((place, arguments), protocol=5)
    except Exception:  # noqa: BLE001 -- whatever passes left there, lambdas say
        properties = arguments["property_set"]
        kept = PropertySet(
            {key: value for key, value in properties.items() if _is_picklable(value)}
        )
        return dumps((place, {**arguments, "property_set": kept}))


def _is_picklable(value: Any) -> bool:
    try:
        dumps(value)
    except Exception:  # noqa: BLE001 -- whatever it raises
        return False
    return True


def call_back(
    callback: Callback, pass_manager: PassManager, calls: Iterable[Call]
) -> None:
    """Call a callback with what a recorder kept, in the order in which it came."""
    passes, dag = passes_of(pass_manager), None
    for graph, others in calls:  # written by a process of ours
        dag = dag if graph is None else pickle.loads(graph)
        place, arguments = pickle.loads(others)
        known = {} if place is None else {"pass_": passes[place]}
        callback(dag=dag, **known, **arguments)
