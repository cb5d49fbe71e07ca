"""What a pass manager calls back in a worker, kept for the process that wants it.

Qiskit's callbacks get the pass, the circuit as a graph and the property set, all of
which are in the worker. The pass is found again at its place in the caller's pass
manager; the others are pickled, which may take as long as a pass that does little.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any

import cloudpickle
from qiskit.passmanager import PropertySet
from qiskit.transpiler import PassManager

Callback = Callable[..., object]


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
    """A callback that keeps what it is called with, as bytes, in `calls`."""

    def __init__(self, pass_manager: PassManager) -> None:
        self._places = {id(one): at for at, one in enumerate(passes_of(pass_manager))}
        self.calls: list[bytes] = []

    def __call__(self, *, pass_: Any, **others: Any) -> None:
        """Keep the arguments of a call as they are now."""
        place = self._places.get(id(pass_))
        arguments = others if place is not None else {**others, "pass_": pass_}
        self.calls.append(_pickled(place, arguments))


def _pickled(place: int | None, arguments: dict[str, Any]) -> bytes:
    """Return a call as bytes, without what cannot be pickled of the property set."""
    try:
        return pickle.dumps((place, arguments), protocol=5)
    except Exception:  # noqa: BLE001 -- whatever passes left there, lambdas say
        properties = arguments["property_set"]
        kept = PropertySet(
            {key: value for key, value in properties.items() if _is_picklable(value)}
        )
        return cloudpickle.dumps((place, {**arguments, "property_set": kept}))


def _is_picklable(value: Any) -> bool:
    try:
        cloudpickle.dumps(value)
    except Exception:  # noqa: BLE001 -- whatever it raises
        return False
    return True


def call_back(
    callback: Callback, pass_manager: PassManager, calls: Iterable[bytes]
) -> None:
    """Call a callback with what a recorder kept, in the order in which it came."""
    passes = passes_of(pass_manager)
    for call in calls:
        place, arguments = pickle.loads(call)  # written by a process of ours
        known = {} if place is None else {"pass_": passes[place]}
        callback(**known, **arguments)
