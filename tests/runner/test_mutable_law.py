"""The law where functions are changed in place, and the module that is passed in."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.runner import Runner
from parpass.transform import Sequential
from parpass.transform.config import ASKING_WORKERS_SECONDS
from tests.support.runner.comparing import Watchers, both, instruments, law_on
from tests.support.toy.ir import Program
from tests.support.toy.mutable_ir import (
    AddFromOwner,
    AddInPlace,
    AdoptedProgram,
    FailAfterChange,
    OwnedProgram,
    Undo,
)
from tests.support.toy.passes import Add, AddFrom, Duplicate, Keep, Say
from tests.support.toy.pipelines import open_programs

law = law_on(3)

_one = st.one_of(
    st.builds(Add, st.integers(0, 2)),
    st.builds(AddFrom, st.sampled_from(["f0", "f1"])),
    st.builds(AddFromOwner, st.sampled_from(["f0", "f1"])),
    st.builds(Say),
    st.builds(Keep),
    st.builds(Undo),
    st.builds(AddInPlace),
    st.builds(Duplicate),
    st.builds(FailAfterChange, st.integers(3, 5)),
)
_pipelines = st.builds(Sequential, st.lists(_one, min_size=1, max_size=5))


def _parents_are_right(mod: Program) -> bool:
    knows = not isinstance(mod, OwnedProgram | AdoptedProgram)
    functions: Mapping[str, Any] = mod.functions
    return knows or all(one.owner is mod for one in functions.values())


@pytest.mark.slow
@law
@given(
    mod=open_programs(),
    pipeline=_pipelines,
    make=instruments(),
    asking=st.sampled_from([0.0, 1e-9, 1e-4]),
)
def test_workers_give_what_the_serial_run_gives_and_the_module_stays_as_it_was(
    runner: Runner,
    mod: Program,
    pipeline: Sequential,
    make: Watchers,
    asking: float,
):
    before = copy.deepcopy(mod)
    config = {ASKING_WORKERS_SECONDS: asking}
    serial, parallel = both(pipeline, mod, make, {}, runner, config)
    assert parallel == serial
    assert mod == before
    assert _parents_are_right(mod)
    for seen in (serial, parallel):
        assert seen.result is None or _parents_are_right(seen.result)
