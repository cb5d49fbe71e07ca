"""What is led through here is the process's: it is put back as it was found."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Generator
from typing import Any

import pytest

from parpass.transform.interception import filters_in_force, intercepting, keeping


def state() -> tuple[Any, ...]:
    filters: Any = warnings.filters
    return (
        logging.Logger.handle,
        logging.getLogRecordFactory(),
        warnings.showwarning,
        id(filters),
        list(filters),
    )


@pytest.fixture(autouse=True)
def own_warnings() -> Generator[list[str]]:
    shown: list[str] = []

    def show(message: Warning | str, *_: Any) -> None:
        shown.append(str(message))

    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield shown


def warn(text: str) -> None:
    warnings.warn(text, stacklevel=1)


def test_all_is_as_it_was_when_the_last_has_left():
    before = state()
    with (
        pytest.raises(ValueError, match="failed"),
        intercepting(),
        intercepting(),
        keeping(),
    ):
        raise ValueError("failed" if state() != before else "nothing was changed")
    assert state() == before


def test_many_threads_leave_all_as_it_was():
    before = state()

    def keep() -> None:
        for _ in range(300):
            with intercepting(), keeping() as tape:
                warn("kept")
                logging.getLogger("tests.interception").error("kept")
            assert len(tape.take()) == 2

    threads = [threading.Thread(target=keep) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert state() == before


def test_what_nobody_keeps_is_shown_by_the_filters_in_force(own_warnings: list[str]):
    with intercepting():
        for _ in range(2):
            with keeping() as tape:
                warn("once")
            assert len(tape.take()) == 1
        for _ in range(2):
            warn("once")
    assert own_warnings == ["once"]


def test_filters_that_are_changed_meanwhile_stay_changed():
    filters = warnings.filters
    with intercepting():
        warnings.simplefilter("ignore", ResourceWarning)
        changed = filters_in_force()
    assert changed[0][:3] == ("ignore", None, ResourceWarning)
    assert warnings.filters is filters
    assert warnings.filters == changed


def test_filters_that_are_saved_meanwhile_and_restored_later_have_no_traces():
    before = list(warnings.filters)
    saving = warnings.catch_warnings()
    with intercepting():
        saving.__enter__()
        warnings.simplefilter("error")
    assert warnings.filters[1:] == before
    saving.__exit__(None, None, None)
    assert warnings.filters == before


def test_a_function_of_ours_that_was_saved_meanwhile_is_not_built_upon(
    own_warnings: list[str],
):
    saving = warnings.catch_warnings()
    with intercepting():
        saving.__enter__()
    saving.__exit__(None, None, None)
    with intercepting():
        pass
    warn("seen")
    assert own_warnings == ["seen"]


def test_who_wraps_the_handling_of_records_meanwhile_is_called_ever_after(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(logging.Logger, "handle", logging.Logger.handle)
    wrapped: list[str] = []
    with intercepting():
        inner: Any = logging.Logger.handle

        def wrapper(self: logging.Logger, record: logging.LogRecord) -> None:
            wrapped.append(record.getMessage())
            inner(self, record)

        logging.Logger.handle = wrapper
    with intercepting():
        logging.getLogger("tests.interception").error("inside")
        with keeping() as tape:
            logging.getLogger("tests.interception").error("kept")
        assert len(tape.take()) == 1
    logging.getLogger("tests.interception").error("outside")
    assert wrapped == ["inside", "outside"]
    assert caplog.messages == ["inside", "outside"]


def test_a_process_forked_meanwhile_has_all_as_it_was():
    before = state()
    with intercepting(), keeping():
        child = os.fork()
        if child == 0:
            os._exit(int(state() == before))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
