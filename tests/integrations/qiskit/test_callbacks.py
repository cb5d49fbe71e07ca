"""What a pass manager calls back, kept and called again."""

from __future__ import annotations

import gc
import pickle
import weakref
from typing import Any

from qiskit.passmanager import BaseController
from qiskit.transpiler import PassManager
from qiskit.transpiler.passes import Depth, RemoveBarriers, Size

from parpass.integrations.qiskit.callbacks import Recorder, call_back, passes_of
from tests.integrations.qiskit.quantum import EndOn, circuits, for_a_line


def called_back(manager: PassManager, recorder: Recorder) -> list[dict[str, Any]]:
    """Return the arguments of what is called back."""
    calls: list[dict[str, Any]] = []

    def callback(**arguments: Any) -> None:
        calls.append(arguments)

    call_back(callback, manager, recorder.calls)
    return calls


def test_passes_have_the_same_places_in_a_copy():
    manager = for_a_line(3)
    copied = pickle.loads(pickle.dumps(PassManager([Depth(), EndOn("raise", "")])))
    assert [type(one).__name__ for one in passes_of(copied)][1:] == ["Depth", "EndOn"]
    assert len(passes_of(manager)) > 40
    assert [*map(id, passes_of(manager))][1:] == [*map(id, passes_of(manager))][1:]


def test_what_cannot_be_pickled_of_a_property_set_stays_behind():
    manager = PassManager([EndOn("raise", "")])
    recorder = Recorder(manager)
    [given] = circuits(1)
    manager.run(given, callback=recorder)
    [call] = called_back(manager, recorder)
    assert call["pass_"] is manager.to_flow_controller().tasks[0]
    assert call["property_set"]["seen"] == given.size()
    assert "lock" not in call["property_set"]


def test_a_graph_that_no_pass_has_changed_is_kept_once():
    manager = PassManager([Depth(), Size(), RemoveBarriers(), Depth(recurse=True)])
    recorder, seen = Recorder(manager), list[Any]()
    [given] = circuits(1)
    given.barrier()

    def callback(**arguments: Any) -> None:
        recorder(**arguments)
        seen.append(pickle.loads(pickle.dumps(arguments["dag"])))

    manager.run(given, callback=callback)
    kept = [call.graph is not None for call in recorder.calls]
    assert kept == [True, False, True, False]
    assert [call["dag"] for call in called_back(manager, recorder)] == seen
    assert seen[0] != seen[-1]


class MakesUp(BaseController):  # pyright: ignore[reportMissingTypeArgument]
    """Has a pass that is in no list."""

    def iter_tasks(self, state: Any) -> Any:
        yield RemoveBarriers()


def test_a_pass_that_a_controller_makes_up_is_brought_along():
    manager = PassManager([MakesUp()])
    recorder = Recorder(manager)
    manager.run(circuits(1)[0], callback=recorder)
    calls = called_back(manager, recorder)
    assert [type(call["pass_"]) for call in calls] == [RemoveBarriers]


def test_no_other_pass_can_take_the_place_of_one_that_was_dropped():
    made: list[weakref.ref[Any]] = []

    class Watched(PassManager):
        def to_flow_controller(self) -> Any:
            controller = super().to_flow_controller()
            made.append(weakref.ref(controller))
            return controller

    recorder = Recorder(Watched([Depth()]))
    gc.collect()
    assert recorder.calls == []
    assert [one() for one in made if one() is None] == []
