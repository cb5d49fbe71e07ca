"""What is at home in a program's main module comes back as itself."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import pytest

from parpass.transform.capture import emission
from parpass.transform.capture.emission import pickle_for_parent, unpickle_from_worker


class Own:
    """As a program defines it in its main module."""

    class Inner:
        """Within it."""


@pytest.fixture(autouse=True)
def of_main(monkeypatch: pytest.MonkeyPatch) -> None:
    for one in (Own, Own.Inner):
        monkeypatch.setattr(one, "__module__", "__main__")
    monkeypatch.setattr(emission, "_known", {})


def packed(value: Any) -> bytes:
    found = pickle_for_parent(value)
    assert found is not None
    return found


def test_a_class_of_main_is_named_where_it_is_not_at_home_and_found_where_it_is(
    monkeypatch: pytest.MonkeyPatch,
):
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(Own)
    sent = packed([Own, Own.Inner])
    monkeypatch.setattr(emission, "_known", {})
    monkeypatch.setattr(sys.modules["__main__"], "Own", Own, raising=False)
    assert unpickle_from_worker(sent) == [Own, Own.Inner]


def test_one_that_is_unknown_at_home_cannot_be_read_there(
    monkeypatch: pytest.MonkeyPatch,
):
    sent = packed(Own)
    monkeypatch.setattr(emission, "_known", {})
    with pytest.raises(KeyError, match="Own"):
        unpickle_from_worker(sent)


def test_what_cannot_be_read_again_is_not_packed():
    class Local:
        pass

    assert pickle_for_parent(Local) is None
    assert pickle_for_parent(lambda: 1) is None
