from typing import Any

import pytest

from parpass.instrument import PassInstrument, pass_instrument
from parpass.transform import PassContext, PassInfo
from tests.support.toy.ir import program
from tests.support.toy.passes import Keep


class Simple:
    """Says which passes end."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.ended: list[str] = []

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        self.ended.append(self.prefix + info.name)


class WithInit(PassInstrument):
    """Has an `__init__` of its own, and a name that is known after it."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.ended: list[str] = []

    @property
    def name(self) -> str:
        return self.title

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        self.ended.append(info.name)


def test_a_subclass_has_an_init_of_its_own_and_calls_no_other():  # beyond 4.4
    watcher = WithInit("mine")
    with PassContext(instruments=[watcher]):
        Keep()(program())
    assert watcher.ended == ["Keep"]
    assert watcher.bound_hooks.name == "mine"


class Attributes(PassInstrument):
    """Has hooks that are no functions."""

    should_run = staticmethod(lambda *_: True)  # pyright: ignore[reportAssignmentType, reportUnknownLambdaType, reportUnknownVariableType]
    run_after_pass = print  # pyright: ignore[reportAssignmentType]


def test_hooks_may_be_whatever_can_be_called(capsys: pytest.CaptureFixture[str]):
    with PassContext(instruments=[Attributes()]):
        Keep()(program())
    assert "Keep" in capsys.readouterr().out


def test_an_attribute_of_the_instance_is_no_hook():  # 4.6
    watcher = PassInstrument()
    watcher.run_before_pass = None  # pyright: ignore[reportAttributeAccessIssue]
    with PassContext(instruments=[watcher]):
        Keep()(program())


def test_a_decorated_class_may_say_that_it_does_not_look_at_the_ir():
    class Unseeing(Simple):
        observes_ir = False

        def run_after_pass(self, mod: Any, info: PassInfo) -> None:
            self.ended.append(f"{info.name} {mod}")

    watcher = pass_instrument(Unseeing)()
    with PassContext(instruments=[watcher]):
        Keep()(program())
    assert watcher.ended == ["Keep None"]


def test_the_hooks_of_the_base_do_nothing():
    base = PassInstrument()
    info = Keep.pass_info
    assert base.should_run(None, info)
    base.enter_pass_ctx()
    base.run_before_pass(None, info)
    base.run_after_pass(None, info)
    base.run_after_failed_pass(None, info, ValueError())
    base.exit_pass_ctx()
