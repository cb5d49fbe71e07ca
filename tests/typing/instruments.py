"""What type checkers make of instruments: classes as they are written."""

# pyright: reportUnnecessaryTypeIgnoreComment=true
from __future__ import annotations

from typing import Any, assert_type

import parpass
from parpass import PassContext, PassInfo
from parpass.transform.instrument_hooks import Hooks


class Counter(parpass.PassInstrument):
    def __init__(self, step: int) -> None:
        self.step = step

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        del mod, info


@parpass.pass_instrument
class Named:
    def __init__(self, title: str) -> None:
        self.title = title

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        del mod, info


@parpass.pass_instrument()
class Called:
    seen = 0


assert_type(Counter(1).step, int)
assert_type(Counter(1).bound_hooks, Hooks)
assert_type(Named("x"), Named)
assert_type(Named("x").title, str)
assert_type(Called().seen, int)
context = PassContext(instruments=[Counter(1), Named("x"), Called()])
assert_type(context, PassContext)
