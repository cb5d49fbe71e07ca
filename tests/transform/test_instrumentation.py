"""When the hooks of instruments are called, and what happens if one raises."""

from collections.abc import Callable
from typing import Any

import pytest

from parpass.errors import InstrumentError
from parpass.transform import ModulePass, PassContext, PassInfo, Sequential
from tests.support.toy_ir import Check, Program, checked_program, program
from tests.support.toy_passes import Add, FailOn, Keep
from tests.support.watching import Log, raising_at, vetoing

HOOKS = ["enter", "exit", "should", "before", "after"]


def pair(**at: Callable[[str, Any, str], Any]) -> tuple[Log, Log, list[str]]:
    """Return instruments `a` and `b` with one log."""
    log: list[str] = []
    first = Log("a.", log, at.get("a"))
    return first, Log("b.", log, at.get("b")), log


def test_every_phase_goes_in_list_order():  # 4.8, 4.10, 4.14
    first, second, log = pair()
    with PassContext(instruments=[first, second]):
        Add()(program(1))
    phases = ["enter", "should Add", "before Add", "after Add", "exit"]
    assert log == [f"{who}.{phase}" for phase in phases for who in "ab"]


def test_one_veto_is_enough_but_all_are_asked():  # 4.14, 4.16
    first, second, log = pair(a=vetoing("Add"))
    mod = program(1)
    with PassContext(instruments=[first, second]):
        assert Add()(mod) is mod
    assert log[2:-2] == ["a.should Add", "b.should Add"]


def test_a_pass_that_the_context_requires_cannot_be_vetoed():  # 4.15
    watcher = Log(at=vetoing("Add"))
    with PassContext(required_pass=["Add"], instruments=[watcher]):
        result = Add()(program(1))
    assert result == program(2)
    assert watcher.log == ["enter", "before Add", "after Add", "exit"]


def test_hooks_see_the_module_before_and_after():  # 4.17
    seen: list[tuple[str, Any]] = []

    def look(hook: str, mod: Any, _pass_name: str) -> bool:
        seen.append((hook, mod))
        return True

    mod = program(1)
    with PassContext(instruments=[Log(at=look)]):
        result = Add()(mod)
    assert seen[1:-1] == [("should", mod), ("before", mod), ("after", result)]
    assert seen[1][1] is mod
    assert seen[3][1] is result


@pytest.mark.parametrize("answer", [None, "yes", 1.0])
def test_should_run_must_return_a_bool(answer: Any):  # 4.18
    def at(hook: str, _mod: Any, _name: str) -> Any:
        return answer if hook == "should" else None

    with (
        PassContext(instruments=[Log(at=at)]),
        pytest.raises(InstrumentError, match="should_run of instrument 'Log' must ret"),
    ):
        Add()(program(1))


@pytest.mark.parametrize(("answer", "ran"), [(1, True), (0, False)])
def test_should_run_may_return_an_int(answer: int, ran: bool):  # 4.18
    with PassContext(instruments=[Log(at=lambda _hook, _mod, _name: answer)]):
        assert Add()(program(1)) == (program(2) if ran else program(1))


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


def test_an_enter_failure_exits_the_entered_ones_in_reverse():  # 4.9
    log: list[str] = []
    instruments = [Log("a.", log), Log("b.", log), Log("c.", log, raising_at("enter"))]
    context = PassContext(instruments=[*instruments, Log("d.", log)])
    with pytest.raises(LookupError):
        context.__enter__()
    assert log == ["a.enter", "b.enter", "c.enter", "b.exit", "a.exit"]
    assert len(context.instruments) == 4  # kept, unlike TVM
    assert PassContext.current() is not context


def test_errors_of_the_rollback_surface_together_with_the_first():  # 4.9
    log: list[str] = []
    instruments = [Log("a.", log, raising_at("exit")), Log(at=raising_at("enter"))]
    with pytest.raises(ExceptionGroup, match="while entering") as caught:
        PassContext(instruments=instruments).__enter__()
    assert [str(error) for error in caught.value.exceptions] == [
        "enter fails",
        "exit fails",
    ]


def test_an_exit_failure_does_not_keep_the_others_from_exiting():  # 4.10
    first, second, log = pair(a=raising_at("exit"))
    context = PassContext(instruments=[first, second])
    with pytest.raises(LookupError), context:
        pass
    assert log[-2:] == ["a.exit", "b.exit"]
    assert context.instruments == (first, second)
    assert PassContext.current() is not context


def test_several_exit_failures_surface_together():
    first, second, _ = pair(a=raising_at("exit"), b=raising_at("exit"))
    with (
        pytest.raises(ExceptionGroup, match="while leaving") as caught,
        PassContext(instruments=[first, second]),
    ):
        pass
    assert len(caught.value.exceptions) == 2


def test_an_exit_failure_is_chained_to_the_error_of_the_body():  # 4.11
    context = PassContext(instruments=[Log(at=raising_at("exit"))])
    with pytest.raises(LookupError) as caught, context:
        raise KeyError("body")
    assert isinstance(caught.value.__context__, KeyError)


def test_an_error_of_the_body_lets_all_exit():  # 4.12
    first, second, log = pair()
    context = PassContext(instruments=[first, second])
    with pytest.raises(KeyError), context:
        raise KeyError("body")
    assert log == ["a.enter", "b.enter", "a.exit", "b.exit"]
    assert context.instruments == (first, second)


def test_an_error_in_a_veto_skips_everything_else():  # 4.19
    first, second, log = pair(a=raising_at("should"))
    with (
        pytest.raises(LookupError),
        PassContext(instruments=[first, second]),
    ):
        Add()(program(1))
    assert log[2:-2] == ["a.should Add"]


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


def test_a_sequential_is_watched_around_its_children():  # 4.21
    log = Log()
    with PassContext(instruments=[log], disabled_pass=["Keep"]):
        Sequential([Add(), Keep()])(program(1))
    assert log.log[1:-1] == [
        "should sequential",
        "before sequential",
        "should Add",
        "before Add",
        "after Add",
        "after sequential",
    ]


def test_a_vetoed_sequential_skips_its_body():  # 4.21
    mod = program(1)
    with PassContext(instruments=[Log(at=vetoing("sequential"))]):
        assert Sequential([Add()])(mod) is mod


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


class Calls(ModulePass):
    """A module pass that calls another pass."""

    pass_info = PassInfo(0, "Calls")

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        return Add()(mod)


def test_passes_that_a_module_pass_calls_are_watched():  # 4.22
    log = Log()
    with PassContext(instruments=[log]):
        Calls()(program(1))
    assert [call for call in log.log if "should" not in call][1:-1] == [
        "before Calls",
        "before Add",
        "after Add",
        "after Calls",
    ]


def test_an_instrument_listed_twice_is_called_twice():  # 4.23
    log = Log()
    with PassContext(instruments=[log, log]):
        Keep()(program())
    assert log.log.count("before Keep") == 2
    assert log.log.count("after Keep") == 2


def test_overriding_exits_the_old_and_enters_the_new():  # 4.24
    first, second, log = pair()
    with PassContext(instruments=[first]) as context:
        context.override_instruments([second])
        Keep()(program())
    assert log == ["a.enter", "a.exit", "b.enter"] + [
        f"b.{call}" for call in ["should Keep", "before Keep", "after Keep", "exit"]
    ]


def test_if_an_old_exit_fails_the_old_ones_stay():  # 4.25
    first, second, log = pair(a=raising_at("exit"))
    context = PassContext(instruments=[first])
    with pytest.raises(LookupError):
        context.override_instruments([second])
    assert context.instruments == (first,)
    assert log == ["a.exit"]


def test_if_a_new_enter_fails_the_new_ones_are_kept():  # 4.26
    first, second, log = pair(b=raising_at("enter"))
    context = PassContext()
    with pytest.raises(LookupError):
        context.override_instruments([first, second])
    assert context.instruments == (first, second)
    assert log == ["a.enter", "b.enter", "a.exit"]


@pytest.mark.parametrize("nothing", [None, []])
def test_overriding_with_nothing_leaves_none(nothing: list[Any] | None):  # 4.27
    log = Log()
    with PassContext(instruments=[log]) as context:
        context.override_instruments(nothing)
        Keep()(program())
    assert context.instruments == ()
    assert log.log == ["enter", "exit"]


def test_the_default_contexts_instruments_are_entered_by_overriding():  # 2.18
    log = Log()
    default = PassContext.current()
    default.override_instruments([log])
    try:
        Keep()(program())
    finally:
        default.override_instruments(None)
    assert log.log == ["enter", "should Keep", "before Keep", "after Keep", "exit"]


def test_a_hook_may_override_the_instruments_for_the_rest_of_the_run():
    later = Log()

    def replace(hook: str, _mod: Any, _name: str) -> bool:
        if hook == "before":
            PassContext.current().override_instruments([later])
        return True

    with PassContext(instruments=[Log(at=replace)]):
        Keep()(program())
    assert later.log == ["enter", "after Keep", "exit"]
