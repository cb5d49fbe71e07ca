"""Generated programs that many tests share, since to draw one takes longer than a test.

    @given(mod=MODULES | HIGHER_ORDER)
    def test_a_law(mod): ...

By default a test takes its examples from sets that are drawn once in each process;
which of them it takes depends on its name. In a hunt, and in
the long forms, each example is drawn anew.
"""

from __future__ import annotations

from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.support.relay.higher_order import higher_order_modules
from tests.support.relay.matching import matching_modules
from tests.support.relay.programs import functions, modules
from tests.support.relay.texts import decorated_modules
from tests.support.tir.programs import modules as loop_modules
from tests.support.tir.programs import prim_funcs

T = TypeVar("T")

SHARED = 24
"""How many programs a set has: no test takes more of them by default."""


def shared(strategy: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """Return a strategy that gives what another one does, by default from a fixed set.

    Args:
        strategy: What draws values that no test changes.
    """

    def chosen() -> st.SearchStrategy[T]:
        if not settings().derandomize:
            return strategy
        return st.sampled_from(_drawn(strategy))

    return st.deferred(chosen)


def _drawn(strategy: st.SearchStrategy[T]) -> list[T]:
    """Return values of a strategy: as many as a set has."""
    found: list[T] = []

    @settings(
        max_examples=SHARED,
        phases=[Phase.generate],
        suppress_health_check=[
            *(HealthCheck.nested_given, HealthCheck.too_slow),
            *(HealthCheck.data_too_large, HealthCheck.filter_too_much),
        ],
    )
    @given(strategy)
    def draw(value: T) -> None:
        found.append(value)

    draw()
    return found


FUNCTIONS = shared(functions())
MODULES = shared(modules())
HIGHER_ORDER = shared(higher_order_modules())
MATCHING = shared(matching_modules())
DECORATED = shared(decorated_modules())
PRIM_FUNCS = shared(prim_funcs())
LOOP_MODULES = shared(loop_modules())
PROGRAMS = MODULES | HIGHER_ORDER | MATCHING
