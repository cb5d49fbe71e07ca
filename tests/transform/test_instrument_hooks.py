"""How hooks fail and what they are told; the rest is in `tests/contract`."""

from collections.abc import Callable
from typing import Any

import pytest

from parpass.transform import PassContext, Sequential
from tests.support.toy.ir import Check, checked_program, program
from tests.support.toy.passes import Add, FailOn, Keep
from tests.support.watching import Log, raising_at, vetoing

HOOKS = ["enter", "exit", "should", "before", "after"]


def pair(**at: Callable[[str, Any, str], Any]) -> tuple[Log, Log, list[str]]:
    """Return instruments `a` and `b` with one log."""
    log: list[str] = []
    first = Log("a.", log, at.get("a"))
    return first, Log("b.", log, at.get("b")), log


@pytest.mark.parametrize("hook", HOOKS)
def test_an_error_in_a_hook_names_the_instrument_and_leaves_the_module(hook: str):
    mod = program(1)
    context = PassContext(instruments=[Log(at=raising_at(hook))])
    with pytest.raises(LookupError) as caught, context:
        Add()(mod)
    assert str(caught.value) == f"{hook} fails"
    [note] = caught.value.__notes__
    assert note.startswith("in ")
    assert "of instrument 'Log'" in note
    assert ("around pass 'Add'" in note) == (hook in ("should", "before", "after"))
    assert mod == program(1)
    assert len(context.instruments) == 1
    assert PassContext.current() is not context


def test_several_exit_failures_surface_together():
    first, second, _ = pair(a=raising_at("exit"), b=raising_at("exit"))
    with (
        pytest.raises(ExceptionGroup, match="while leaving") as caught,
        PassContext(instruments=[first, second]),
    ):
        pass
    assert len(caught.value.exceptions) == 2


def test_an_error_before_a_pass_is_told_to_those_that_saw_it_begin():  # 4.19
    log: list[str] = []
    instruments = [Log("a.", log), Log("b.", log, raising_at("before")), Log("c.", log)]
    with pytest.raises(LookupError), PassContext(instruments=instruments):
        Add()(program(1))
    hooks = [call for call in log if call.endswith("Add") and "should" not in call]
    assert hooks == ["a.before Add", "b.before Add", "a.failed Add"]


def test_an_error_after_a_pass_is_told_to_those_that_have_not_seen_its_end():  # 4.19
    log: list[str] = []
    instruments = [Log("a.", log), Log("b.", log, raising_at("after")), Log("c.", log)]
    with pytest.raises(LookupError), PassContext(instruments=instruments):
        Add()(program(1))
    assert log[-6:-3] == ["a.after Add", "b.after Add", "c.failed Add"]


def test_an_error_in_a_pass_is_told_from_the_inside_out():  # 4.20
    log = Log()
    pipeline = Sequential([Add(), FailOn(2)])
    with pytest.raises(ValueError, match="met 2"), PassContext(instruments=[log]):
        pipeline(program(1))
    assert log.log[-6:] == [
        "after Add",
        "should FailOn",
        "before FailOn",
        "failed FailOn",
        "failed sequential",
        "exit",
    ]


def test_a_failed_hook_sees_the_module_that_its_pass_was_given():
    seen: dict[str, Any] = {}

    def look(hook: str, mod: Any, pass_name: str) -> bool:
        if hook == "failed":
            seen[pass_name] = mod
        return True

    mod = program(1)
    with (
        pytest.raises(ValueError, match="met 2"),
        PassContext(instruments=[Log(at=look)]),
    ):
        Sequential([Add(), FailOn(2)])(mod)
    assert seen == {"FailOn": program(2), "sequential": mod}


def test_an_error_in_a_failed_hook_becomes_a_note():
    first, second, log = pair(a=raising_at("failed"))
    with (
        pytest.raises(ValueError, match="met 1") as caught,
        PassContext(instruments=[first, second]),
    ):
        FailOn(1)(program(1))
    assert caught.value.__notes__[-1] == "then LookupError: failed fails"
    assert log[-3] == "b.failed FailOn"


def test_the_restoring_pass_is_watched_as_a_nested_one():  # 4.22, 6.7
    log = Log()
    pipeline = Sequential([Check(), Add(), Add()])
    with PassContext(instruments=[log]):
        pipeline(checked_program(1))
    begun = [call for call in log.log if call.startswith("before")]
    assert [call.split()[1] for call in begun] == (
        ["sequential", "Check", "Add", "Check", "Add", "Check"]
    )
    assert log.log.index("after Check") < log.log.index("after Add")


def test_the_restoring_pass_can_be_vetoed_but_not_disabled():  # 6.7, 2.20
    with PassContext(disabled_pass=["Check"]):
        assert Add()(checked_program(1))["f0"].checked
    with PassContext(instruments=[Log(at=vetoing("Check"))]):
        assert not Add()(checked_program(1))["f0"].checked


def test_a_hook_may_override_the_instruments_for_the_rest_of_the_run():
    later = Log()

    def replace(hook: str, _mod: Any, _name: str) -> bool:
        if hook == "before":
            PassContext.current().override_instruments([later])
        return True

    with PassContext(instruments=[Log(at=replace)]):
        Keep()(program())
    assert later.log == ["enter", "after Keep", "exit"]
