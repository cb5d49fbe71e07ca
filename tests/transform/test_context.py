import contextvars
import threading
from typing import Any

import pytest
import trio

from parpass.errors import ArgumentError, PassContextError
from parpass.transform import PassContext, PassInfo
from parpass.transform.context import in_force
from tests.support.watching import Log


def test_defaults_are_tvms():  # 2.2
    context = PassContext()
    assert context.opt_level == 2
    assert context.required_pass == ()
    assert context.disabled_pass == ()
    assert context.instruments == ()
    assert dict(context.config) == {}
    assert context.diag_ctx is None


def test_arguments_may_be_positional_in_tvms_order():  # 2.3
    log = Log()
    context = PassContext(3, ["A"], ["B"], [log], {})
    assert (context.opt_level, context.required_pass) == (3, ("A",))
    assert (context.disabled_pass, context.instruments) == (("B",), (log,))


@pytest.mark.parametrize(
    "given", [["A", "B"], ("A", "B"), {"A": 1, "B": 2}, iter(["A", "B"])]
)
def test_lists_of_names_may_be_any_iterable(given: Any):  # 2.4
    assert PassContext(required_pass=given).required_pass == ("A", "B")


def test_lists_are_copied():  # 2.4
    given = ["A"]
    context = PassContext(disabled_pass=given)
    given.append("B")
    assert context.disabled_pass == ("A",)


@pytest.mark.parametrize("nothing", [None, (), [], "", 0])
def test_falsy_values_mean_empty(nothing: Any):  # 2.4, 2.6
    context = PassContext(2, nothing, nothing, nothing, nothing)
    assert context.required_pass == context.disabled_pass == context.instruments == ()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"opt_level": "2"}, "expected an int for opt_level, got '2'"),
        ({"opt_level": None}, "expected an int for opt_level, got None"),
        ({"opt_level": 2.0}, "expected an int for opt_level, got 2.0"),
        ({"required_pass": "Fold"}, "required_pass, got the str 'Fold'; write"),
        ({"disabled_pass": "Fold"}, "disabled_pass, got the str 'Fold'; write"),
        ({"required_pass": 7}, "required_pass; 7 is not iterable"),
        ({"required_pass": [7]}, "expected names in required_pass, got 7"),
        ({"instruments": 7}, "expected a list of instruments; 7 is not iterable"),
        ({"instruments": ["x"]}, "expected pass instruments, got 'x'"),
        ({"instruments": [Log]}, "expected pass instruments, got <class"),
        ({"config": [1]}, "expected a mapping for config"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(
    arguments: dict[str, Any], complaint: str
):  # 2.4, 2.5
    with pytest.raises(ArgumentError, match=complaint) as caught:
        PassContext(**arguments)
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(("level", "kept"), [(True, 1), (False, 0), (-1, -1)])
def test_bools_and_negative_levels_are_accepted(level: int, kept: int):  # 2.5
    assert PassContext(opt_level=level).opt_level == kept


def test_settings_cannot_be_assigned():
    with pytest.raises(AttributeError):
        PassContext().opt_level = 5  # pyright: ignore[reportAttributeAccessIssue]


def test_text_has_all_settings():  # 2.7
    text = str(PassContext(3, ["A"], ["B"], [Log()]))
    assert text == (
        "PassContext(opt_level=3, required_pass=['A'], disabled_pass=['B'], "
        "instruments=['Log'], config={})"
    )


def test_the_default_is_one_persistent_object():  # 2.10, 2.11
    assert PassContext.current() is PassContext.current()
    assert PassContext.current().opt_level == 2


def test_with_makes_the_innermost_context_current():  # 2.11, 2.12, 2.17
    default = PassContext.current()
    with PassContext(opt_level=3) as outer:
        assert PassContext.current() is outer
        with PassContext(disabled_pass=["A"]) as inner:
            assert PassContext.current() is inner
            assert inner.opt_level == 2
        assert PassContext.current().same_as(outer)
    assert PassContext.current() is default


def test_leaving_does_not_swallow_the_error_of_the_body():  # 2.13
    default = PassContext.current()
    with pytest.raises(LookupError), PassContext():
        raise LookupError
    assert PassContext.current() is default


def test_hooks_of_entering_and_leaving_see_the_outer_context():  # 2.14
    seen: list[PassContext] = []
    outer = PassContext.current()
    watcher = Log(at=lambda _hook, _mod, _name: seen.append(PassContext.current()))
    with PassContext(instruments=[watcher]):
        pass
    assert seen == [outer, outer]


def test_leaving_out_of_order_names_both_contexts_and_changes_nothing():  # 2.15
    first, second = PassContext(opt_level=1), PassContext(opt_level=3)
    with first, second:
        with pytest.raises(PassContextError) as caught:
            first.__exit__(None, None, None)
        assert PassContext.current() is second
    assert isinstance(caught.value, RuntimeError)
    assert "leaving PassContext(opt_level=1," in str(caught.value)
    assert "the current one is: PassContext(opt_level=3," in str(caught.value)


def test_leaving_a_context_that_was_not_entered_is_an_error():  # 2.15
    with pytest.raises(PassContextError, match="none is entered"):
        PassContext().__exit__(None, None, None)


def test_a_context_may_be_entered_again():  # 2.16
    log = Log()
    context = PassContext(instruments=[log])
    with context, context:
        assert PassContext.current() is context
    with context:
        pass
    assert log.log == ["enter", "enter", "exit", "exit", "enter", "exit"]


def test_a_new_thread_has_a_context_of_its_own():
    seen: list[PassContext] = []
    with PassContext(opt_level=3):
        thread = threading.Thread(target=lambda: seen.append(PassContext.current()))
        thread.start()
        thread.join()
    assert seen[0].opt_level == 2


def test_a_copied_contextvars_context_carries_the_current_one():
    with PassContext(opt_level=3) as context:
        copied = contextvars.copy_context()
    assert copied.run(PassContext.current) is context


async def test_a_task_inherits_and_does_not_leak():
    entered = trio.Event()
    looked = trio.Event()

    async def child() -> None:
        assert PassContext.current() is outer
        with PassContext(opt_level=0):
            entered.set()
            await looked.wait()

    with PassContext(opt_level=3) as outer:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child)
            await entered.wait()
            assert PassContext.current() is outer
            looked.set()


@pytest.mark.parametrize(
    ("settings", "level", "enabled"),
    [
        ({"opt_level": 2}, 2, True),
        ({"opt_level": 2}, 3, False),
        ({"opt_level": -1}, 0, False),
        ({"opt_level": 0, "required_pass": ["P"]}, 3, True),
        ({"opt_level": 3, "disabled_pass": ["P"]}, 0, False),
        ({"disabled_pass": ["P"], "required_pass": ["P"]}, 0, False),
        ({"disabled_pass": ["p", "P2"]}, 0, True),
    ],
)
def test_disabled_beats_required_beats_level(
    settings: dict[str, Any], level: int, enabled: bool
):  # 2.19
    assert PassContext(**settings).pass_enabled(PassInfo(level, "P")) is enabled


def test_counting_outside_of_a_pass_does_nothing():
    context = PassContext()
    context.count("folded")
    assert context.statistics == {}


def test_a_context_in_force_is_current_without_its_hooks():
    log = Log()
    context = PassContext(instruments=[log])
    with in_force(context):
        assert PassContext.current() is context
    assert PassContext.current() is not context
    assert log.log == []
