from __future__ import annotations

import pickle
import threading
from typing import Any

import pytest

from parpass.runner.follow.snapshot import Snapshot
from parpass.transform import PassContext
from tests.support.runner.pooled import POOLED
from tests.support.toy.hard_passes import propagated


def taken(**settings: Any) -> Snapshot:
    return pickle.loads(pickle.dumps(Snapshot.take(PassContext(**settings))))


def test_the_settings_arrive():
    context = taken(
        opt_level=3, required_pass=["A"], disabled_pass=["B"], config=POOLED
    ).context()
    assert context.opt_level == 3
    assert context.required_pass == ("A",)
    assert context.disabled_pass == ("B",)
    assert dict(context.config) == POOLED
    assert context.instruments == ()


def test_the_settings_are_in_force_inside_and_not_outside():
    token = propagated.set(5)
    snapshot = taken()
    propagated.reset(token)
    context = snapshot.context()
    with snapshot.activated(context, {}):
        assert PassContext.current() is context
        assert propagated.get() == 5
    assert PassContext.current() is not context
    assert propagated.get() == 0


def test_options_are_not_checked_again_where_they_are_unknown():
    snapshot = Snapshot(2, (), (), {"registered.elsewhere": 1}, {})
    assert snapshot.context().config["registered.elsewhere"] == 1


@pytest.mark.parametrize(
    ("snapshot", "path"),
    [
        (Snapshot(2, (), (), {"a.b": threading.Lock()}, {}), "config['a.b']: "),
        (
            Snapshot(2, (), (), {}, {"v": [threading.Lock()]}),
            "the propagated contextvar 'v'[0]: ",
        ),
    ],
)
def test_what_cannot_be_pickled_is_named(snapshot: Snapshot, path: str):
    reason = snapshot.find_unpicklable()
    assert reason is not None
    assert reason.startswith(path)


def test_settings_that_can_be_pickled_have_no_reason():
    assert taken(config=POOLED).find_unpicklable() is None
