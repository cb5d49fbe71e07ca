"""What a run has made is freed without the garbage collector, which would halt all."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Generator

import pytest

from parpass.runtime import Runner
from parpass.transform import PassContext
from tests.support.toy_ir import program
from tests.support.toy_passes import Add, AddFrom


@pytest.fixture
def no_collector() -> Generator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("asking_seconds", [0.0, 1e-4, 1e6])
def test_the_new_module_goes_with_its_last_reference(
    asking_seconds: float, runner: Runner
):
    steps = [Add(), AddFrom("f0")]
    config = {"parpass.asking_workers_seconds": asking_seconds}
    new = runner.run_sync(
        program(*range(50)), steps, context=PassContext(config=config)
    )
    made = [weakref.ref(new), *map(weakref.ref, new.functions.values())]
    del new
    assert not any(one() for one in made)
