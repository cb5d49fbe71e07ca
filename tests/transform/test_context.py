from typing import Any

import pytest
import trio

from parpass.errors import ArgumentError
from parpass.transform import PassContext
from parpass.transform.context import in_force
from tests.support.watching import Log


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


def test_settings_cannot_be_assigned():
    with pytest.raises(AttributeError):
        PassContext().opt_level = 5  # pyright: ignore[reportAttributeAccessIssue]


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
