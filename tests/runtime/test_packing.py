from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from parpass.diagnostic import Diagnostic, DiagnosticLevel
from parpass.errors import DiagnosticError, PassResultError, WorkerError
from parpass.runtime.packing import (
    WorkerTraceback,
    pack_error,
    pack_message,
    unpack_error,
    unpack_message,
)


class TwoArguments(Exception):  # noqa: N818 -- a user's
    """Can be pickled but not unpickled, as many exceptions of users."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


class Unprintable(Exception):  # noqa: N818 -- a user's
    def __str__(self) -> str:
        raise ValueError("no text")


class BecomesText(Exception):  # noqa: N818 -- a user's
    def __reduce__(self) -> tuple[Any, ...]:
        return str, ("something else",)


def travelled(error: Exception) -> Exception:
    try:
        raise error
    except Exception as raised:  # noqa: BLE001 -- to have a traceback
        return unpack_error(pack_error(raised))


def test_an_error_arrives_as_itself_with_its_attributes():
    error = travelled(PassResultError("bad", pass_name="P", function="f"))
    assert isinstance(error, PassResultError)
    assert (str(error), error.pass_name, error.function) == ("bad", "P", "f")


def test_diagnostics_travel_with_their_error():
    said = Diagnostic(DiagnosticLevel.ERROR, None, "wrong")
    error = travelled(DiagnosticError("wrong", [said]))
    assert isinstance(error, DiagnosticError)
    assert error.diagnostics == (said,)


def test_notes_arrive_once():
    error = ValueError("x")
    error.add_note("first")
    error.add_note("second")
    assert travelled(error).__notes__ == ["first", "second"]


def test_the_traceback_of_the_worker_is_the_cause():
    cause = travelled(ValueError("x")).__cause__
    assert isinstance(cause, WorkerTraceback)
    assert "raise error" in str(cause)
    assert "ValueError: x" in str(cause)


def test_a_class_that_cannot_be_imported_arrives_as_itself():
    module = types.ModuleType("__main__")
    made = type("UserError", (Exception,), {"__module__": "__main__"})
    module.UserError = made  # pyright: ignore[reportAttributeAccessIssue] -- a new name
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "__main__", module)
        assert type(travelled(made("x"))) is made


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (TwoArguments("a", "b"), "TwoArguments: a and b"),
        (ValueError(lambda: 1, sys.stderr), "ValueError: "),
        (BecomesText("x"), "BecomesText: x"),
    ],
)
def test_an_error_that_cannot_travel_is_told_of_by_another(error: Exception, text: str):
    error.add_note("a note")
    found = travelled(error)
    assert isinstance(found, WorkerError)
    assert text in str(found)
    assert found.__notes__ == ["a note"]
    assert isinstance(found.__cause__, WorkerTraceback)


def test_an_error_without_a_text_comes_through():
    assert type(travelled(Unprintable())) is Unprintable


def test_what_the_coordinator_cannot_unpack_is_told_of_by_its_text():
    module = types.ModuleType("only_in_the_worker")
    made = type("TheirError", (Exception,), {"__module__": module.__name__})
    module.TheirError = made  # pyright: ignore[reportAttributeAccessIssue] -- a new name
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, module.__name__, module)
        packed = pack_error(made("x"))
    found = unpack_error(packed)
    assert isinstance(found, WorkerError)
    assert "TheirError: x" in str(found)


def test_messages_carry_lambdas_and_closures():
    amount = 3
    assert unpack_message(pack_message(lambda x: x + amount))(4) == 7  # pyright: ignore[reportUnknownLambdaType] -- a lambda on purpose
