"""Exceptions arrive as they were raised, whatever their classes do."""

from __future__ import annotations

import copyreg
import sys
import threading
import traceback
import types
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pytest

from parpass.diagnostic import Diagnostic, DiagnosticLevel
from parpass.errors import (
    DiagnosticError,
    PassResultError,
    WorkerError,
)
from parpass.limits import LIMITS
from parpass.runner.follow.pickling import pickle_by_value
from parpass.runner.follow.propagation import propagate
from parpass.runner.ipc.pickled_errors import decode_error, encode_error
from parpass.transform.code_unpickler import unpickle
from tests.support.reducers import reducers_put_back
from tests.support.runner.failing import UserError, cancelled


class Prefixed(Exception):  # noqa: N818 -- a user's
    """Its constructor takes something else than its `args`."""

    def __init__(self, text: str) -> None:
        super().__init__("prefix " + text)


class TwoArguments(Exception):  # noqa: N818 -- a user's
    """Can be pickled but not unpickled, as many exceptions of users."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


class NoSuchFile(OSError):  # noqa: N818 -- a user's
    """Its base keeps what it is made of out of sight of Python."""

    def __init__(self, path: str) -> None:
        super().__init__(2, "no such table", path)


class Slotted(Exception):  # noqa: N818 -- a user's
    __slots__ = ("__secret", "code")

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code
        self.__secret = code + 1

    def __str__(self) -> str:
        return f"{self.code} {self.__secret}"


@dataclass(frozen=True)
class Frozen(Exception):  # noqa: N818 -- a user's
    what: str


class Dropping(Exception):  # noqa: N818 -- a user's
    """Defines how it is pickled, and drops what it has."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.code = 7

    def __reduce__(self) -> tuple[Any, ...]:
        return Dropping, ()


class Adding(Exception):  # noqa: N818 -- a user's
    """Defines how it is pickled, and adds to what it has."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Adding, ("as it says",), {"told": True}


class Unlocked(Exception):  # noqa: N818 -- a user's
    """Can be pickled as it says alone."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Unlocked, self.args


class Registered(Exception):  # noqa: N818 -- a user's
    """Its module defines how it is pickled."""


class Unprintable(Exception):  # noqa: N818 -- a user's
    def __str__(self) -> str:
        raise ValueError("no text")


class BecomesText(Exception):  # noqa: N818 -- a user's
    def __reduce__(self) -> tuple[Any, ...]:
        return str, ("something else",)


class Unreduced(Exception):  # noqa: N818 -- a user's
    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("never")


class Remade(Exception):  # noqa: N818 -- a user's
    """Defines how it is pickled, but without its notes."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Remade, self.args


class Coded(ExceptionGroup[Exception]):
    """Its constructor takes one more than those of groups."""

    def __new__(cls, *given: Any) -> Self:
        return super().__new__(cls, given[0], given[1])

    def __init__(self, *given: Any) -> None:
        BaseException.__init__(self, *given)
        self.code = given[2]


class Asking(Exception):  # noqa: N818 -- a user's
    """Looks for what it has not in a table, and forgets what error that is to be."""

    def __getattr__(self, name: str) -> Any:
        known: dict[str, Any] = {}
        return known[name]


class Locked(Exception):  # noqa: N818 -- a user's
    def __init__(self) -> None:
        super().__init__("locked")
        self.lock = threading.Lock()


def sent(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as raised:  # noqa: BLE001 -- to have a traceback
        return decode_error(encode_error(raised))


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x", 3),
        KeyError("k"),
        UserError("bad", 7),
        Prefixed("x"),
        TwoArguments("a", "b"),
        NoSuchFile("/table"),
        Slotted(3),
        Frozen("boo"),
        Unprintable(),
        SystemExit(3),
        KeyboardInterrupt(),
        GeneratorExit(),
        StopIteration(5),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        ImportError("none", name="there", path="/there"),
        np.exceptions.AxisError(3, 2, "of it"),
        cancelled(),
        BecomesText("x"),
        Unreduced("x"),
        Coded("g", [ValueError("x")], 3),
        Dropping("x", 3),
        Adding("x"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_exception_arrives_as_itself(error: BaseException):
    found = sent(error)
    assert type(found) is type(error)
    assert repr(found.args) == repr(error.args)
    names = ("filename", "code", "value", "name", "path", "__dict__", "reason")
    told = [[getattr(one, name, None) for name in names] for one in (found, error)]
    assert told[0] == told[1]
    if not isinstance(error, Unprintable):
        assert str(found) == str(error)


def test_our_errors_arrive_with_their_attributes():
    error = sent(PassResultError("bad", pass_name="P", function="f"))
    assert isinstance(error, PassResultError)
    assert (str(error), error.pass_name, error.function) == ("bad", "P", "f")


def test_diagnostics_are_pickled_with_their_error():
    said = Diagnostic(DiagnosticLevel.ERROR, None, "wrong")
    error = sent(DiagnosticError("wrong", [said]))
    assert isinstance(error, DiagnosticError)
    assert error.diagnostics == (said,)


def test_what_is_registered_for_a_class_changes_nothing():
    def reduce(error: Registered) -> tuple[Any, ...]:
        return Registered, ("registered", *error.args)

    with reducers_put_back():  # a library may have registered another for all classes
        copyreg.pickle(Registered, reduce)
        assert sent(Registered("x")).args == ("x",)


def test_what_can_be_pickled_in_no_other_way_is_pickled_as_its_class_says():
    def reduce(error: Locked) -> tuple[Any, ...]:
        return Locked, ()

    found = sent(Unlocked("x", 3))
    assert (type(found), found.args) == (Unlocked, ("x", 3))
    with reducers_put_back():
        copyreg.pickle(Locked, reduce)
        assert type(sent(Locked())) is Locked


def test_what_a_library_registers_for_all_exceptions_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
):
    def reduced(error: BaseException) -> Any:
        return ValueError, ("of all",)

    for kind in (BaseException, Exception, Slotted, SystemExit):
        monkeypatch.setitem(copyreg.dispatch_table, kind, reduced)
    assert isinstance(sent(Slotted(3)), Slotted)
    assert vars(sent(SystemExit(3))) == {}
    assert sent(SystemExit(3)).args == (3,)


@pytest.mark.parametrize("kind", [ValueError, Remade])
def test_notes_arrive_once(kind: type[Exception]):
    error = kind("x")
    error.add_note("first")
    error.add_note("second")
    assert sent(error).__notes__ == ["first", "second"]


def raised_from(cause: Exception) -> ValueError:
    try:
        raise ValueError("bad") from cause
    except ValueError as error:
        return error


def test_cause_and_context_arrive_as_they_were():
    error = raised_from(KeyError("k"))
    error.__context__ = TwoArguments("a", "b")
    found = decode_error(encode_error(error))
    assert isinstance(found.__cause__, KeyError)
    assert isinstance(found.__context__, TwoArguments)
    assert found.__suppress_context__


def test_a_cause_that_is_pickled_as_it_says_does_not_affect_the_rest():
    error = Dropping("x")
    error.__cause__ = Unlocked("y")
    found = sent(error)
    assert (type(found), found.args) == (Dropping, ("x",))
    cause = found.__cause__
    assert isinstance(cause, Unlocked)
    assert cause.args == ("y",)


def test_a_cause_that_cannot_be_pickled_does_not_affect_the_rest():
    found = sent(raised_from(Locked()))
    assert type(found) is ValueError
    assert found.__cause__ is None


def test_groups_arrive_with_what_is_in_them():
    inner = raised_from(KeyError("k"))
    group = BaseExceptionGroup("g", [Prefixed("x"), SystemExit(3), inner])
    found: Any = sent(group)
    assert type(found) is BaseExceptionGroup
    inside: tuple[BaseException, ...] = found.exceptions
    assert [repr(one) for one in inside] == [
        "Prefixed('prefix x')",
        "SystemExit(3)",
        "ValueError('bad')",
    ]
    assert isinstance(inside[2].__cause__, KeyError)


def test_of_a_group_only_what_cannot_be_pickled_is_described():
    group = ExceptionGroup("g", [KeyError("k"), ExceptionGroup("h", [Locked()])])
    group.add_note("a note")
    group.__cause__ = ValueError("of both")
    found = sent(group)
    told_of = WorkerError(f"{__name__}.Locked: locked")
    inside = [KeyError("k"), ExceptionGroup("h", [told_of])]
    assert repr(found) == repr(ExceptionGroup("g", inside))
    assert found.__notes__ == ["a note"]
    assert repr(found.__cause__) == "ValueError('of both')"
    assert found.__traceback__ is not None


def test_a_contextvar_that_is_registered_arrives_with_its_error():
    var = propagate(ContextVar[int]("tests.not_set"))
    with pytest.raises(LookupError) as caught:
        var.get()
    found = sent(caught.value)
    assert (type(found), found.args) == (LookupError, (var,))


def fail_within(depth: int) -> None:
    if depth:
        return fail_within(depth - 1)
    raise ValueError("deep")


def failed_within(depth: int) -> ValueError:
    with pytest.raises(ValueError, match="deep") as caught:
        fail_within(depth)
    return caught.value


def test_its_traceback_is_printed_as_it_was():
    error = failed_within(2)
    here = traceback.format_exception(decode_error(encode_error(error)))
    assert here == traceback.format_exception(error)
    assert "raise ValueError" in "".join(here)


def test_of_a_very_deep_traceback_the_ends_are_kept():
    found = decode_error(encode_error(failed_within(800)))
    frames = traceback.extract_tb(found.__traceback__)
    assert len(frames) == 200
    assert frames[-1].line == 'raise ValueError("deep")'


def test_where_a_process_ended_is_shown_as_the_cause():
    error = LIMITS[0].error("P", "f", 1.0)
    error.traceback = "it was here"
    assert "it was here" in "".join(traceback.format_exception(sent(error)))


def main_with(**names: Any) -> types.ModuleType:
    """Return a module in place of the main one."""
    module = types.ModuleType("__main__")
    vars(module).update(names)
    return module


def test_a_class_of_main_is_that_of_the_process_and_stays_as_it_is():
    def describe(self: Exception) -> str:
        return f"{self.args}"

    made = type("Told", (Exception,), {"__module__": "__main__", "describe": describe})
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "__main__", main_with())
        found = sent(made("x"))
        assert type(found) is made
        kind = unpickle(pickle_by_value(made))
    assert kind is made
    assert vars(made)["describe"] is describe


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Locked(), "Locked: locked"),
        (ValueError(lambda: 1, sys.stderr), "ValueError: "),
    ],
)
def test_an_error_that_cannot_be_pickled_is_described(error: Exception, text: str):
    error.add_note("a note")
    found = sent(error)
    assert isinstance(found, WorkerError)
    assert text in str(found)
    assert found.__notes__ == ["a note"]
    assert traceback.extract_tb(found.__traceback__)[-1].line == "raise error"


def test_an_exception_whose_attributes_cannot_be_asked_for_arrives():
    found = sent(Asking("x"))
    assert (type(found), found.args) == (Asking, ("x",))


def test_what_the_coordinator_cannot_unpickle_is_described():
    module = types.ModuleType("only_in_the_worker")
    made = type("TheirError", (Exception,), {"__module__": module.__name__})
    module.TheirError = made  # pyright: ignore[reportAttributeAccessIssue] -- a new name
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, module.__name__, module)
        packed = encode_error(made("x"))
    found = decode_error(packed)
    assert isinstance(found, WorkerError)
    assert "TheirError: x" in str(found)
