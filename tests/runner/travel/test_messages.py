from __future__ import annotations

from typing import Any

from parpass.runner.travel.bundles import Bundle, Packed
from parpass.runner.travel.function_outcome import End
from parpass.runner.travel.messages import (
    Errand,
    Job,
    StageSpec,
    pack_message,
    unpack_message,
)
from parpass.runner.travel.snapshot import Snapshot
from parpass.transform import PassContext
from parpass.transform.budget import UNLIMITED, UNSET, Budget, Limits
from tests.support.toy_ir import ToyAdapter
from tests.support.toy_passes import Add


def test_messages_carry_lambdas_and_closures():
    amount = 3
    assert unpack_message(pack_message(lambda x: x + amount))(4) == 7  # pyright: ignore[reportUnknownLambdaType] -- a lambda on purpose


def test_a_spec_keeps_limits_whether_there_are_any_or_not():
    for budgets, limits in [
        ((UNLIMITED,), UNSET),
        ((Budget(seconds=1),), Limits(function_timeout=1)),
        (None, UNSET),
    ]:
        spec = _spec(budgets=budgets, limits=limits)
        again: StageSpec = unpack_message(pack_message(spec))
        assert (again.budgets, again.limits) == (budgets, limits)
        assert again.snapshot == spec.snapshot
        assert (again.names, again.doubted) == (["f", "g"], ["g"])


def _spec(**given: Any) -> StageSpec:
    snapshot = Snapshot.take(PassContext(opt_level=1, disabled_pass=["Add"]))
    names = ["f", "g"]
    return StageSpec(
        [Add()], snapshot, ToyAdapter(), b"", names, **given, doubted=["g"]
    )


def test_an_errand_may_run_some_of_its_functions():
    bundle = Bundle(b"fg", [1, 2])
    apart = {0: Packed(bundle, 0), 1: Packed(bundle, 1)}
    job = Job("", 0, [1], End(0, 1), {("f", 0): "why"}, apart)
    again: Errand = unpack_message(pack_message(Errand(b"spec", job, 60.0)))
    assert (again.spec, again.start_seconds) == (b"spec", 60.0)
    assert (again.job.functions, again.job.end) == ([1], End(0, 1))
    assert again.job.verdicts == job.verdicts
    assert [one.at for one in again.job.apart.values()] == [0, 1]
    assert len({id(one.bundle) for one in again.job.apart.values()}) == 1
