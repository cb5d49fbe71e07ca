"""What there is of each limit by the table, which the rest follows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parpass import FunctionPass, PassContext, Sequential
from parpass.errors import ArgumentError
from parpass.limits import LIMITS, Limit, PassLimits
from parpass.runner import Runner
from parpass.transform import function_pass, list_config_options
from parpass.transform.budget import UNLIMITED, budgets_of, setting_limits
from parpass.transform.debug.bisect import Gate
from parpass.transform.debug.reproducer import Reproducer
from tests.support.toy.ir import program
from tests.support.toy.passes import Add, FailOn

EACH = pytest.mark.parametrize("limit", LIMITS, ids=[one.name for one in LIMITS])
LARGE = 1 << 40


def limited(limit: Limit, value: int = LARGE) -> FunctionPass:
    step = Add(1)
    setattr(step, limit.name, value)
    return step


def test_passes_have_an_attribute_for_each_limit():
    assert list(PassLimits.__annotations__) == [one.name for one in LIMITS]


@EACH
def test_a_limit_is_held_wherever_it_is_exceeded(limit: Limit):
    assert limit.clock is not None or limit.in_worker is not None
    assert limit.here is not None
    assert (limit.clock is None) == (limit.raised is not None)


@EACH
def test_a_limit_is_set_by_pass_call_and_context_in_this_order(limit: Limit):
    def value(step: FunctionPass) -> int:
        (budget,) = budgets_of([step], {limit.option: 3})
        return budget.limits[limit.name]

    assert value(Add(1)) == 3
    with setting_limits({limit.name: 2}):
        assert value(Add(1)) == 2
        assert value(limited(limit, 1)) == 1
        assert budgets_of([Add(1)], {}) != (UNLIMITED,)
    assert budgets_of([Add(1)], {}) == (UNLIMITED,)


@EACH
def test_a_limit_of_a_decorated_class_holds_where_a_search_leaves_out_functions(
    limit: Limit,
):
    class Keeping:
        def transform_function(self, func: Any, mod: Any, ctx: PassContext) -> Any:
            return func

    setattr(Keeping, limit.name, LARGE)
    decorated = function_pass(Keeping, opt_level=0)()
    step, _ = Gate([(1, 1)]).on_functions(decorated, ["f0", "f1"])
    (budget,) = budgets_of([step], {})
    assert budget.limits == {limit.name: LARGE}


@EACH
def test_a_limit_that_is_not_above_0_is_an_error_that_names_it(limit: Limit):
    with pytest.raises(ArgumentError, match=f"{limit.name} above 0, got -1"):
        budgets_of([limited(limit, -1)], {})


@EACH
def test_a_limit_is_an_option_of_contexts_that_is_listed(limit: Limit):
    (found,) = [key for key in list_config_options() if key == limit.option]
    assert PassContext(config={found: LARGE}).config[found] == LARGE


@EACH
@pytest.mark.filterwarnings("ignore::parpass.errors.BudgetWarning")
def test_a_reproducer_has_each_limit_wherever_it_was_set(limit: Limit, tmp_path: Path):
    places: list[dict[str, Any]] = [{limit.name: LARGE}, {}]
    for given in places:
        step = FailOn(1)
        file = tmp_path / f"{len(given)}.txt"
        if not given:
            setattr(step, limit.name, LARGE)
        context = PassContext(config={"parpass.reproducer": str(file)})
        with Runner(workers=0) as runner, pytest.raises(ValueError, match="met 1"):
            runner.run_sync(program(1), Sequential([step]), context=context, **given)
        written = Reproducer.from_text(file.read_text())
        assert written.config == {limit.option: LARGE}
