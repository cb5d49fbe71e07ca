"""A kernel that cannot be made is named; the others are kept, and nothing is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parpass as tvm
from parpass import relay, tir
from parpass.errors import FunctionTimeoutError, SlowerRunWarning, WorkerDiedError
from parpass.object_store import ObjectStore
from parpass.relay.backend.lowering.rule_registry import register_injective
from parpass.runner import Runner
from parpass.runtime.graph_executor import GraphModule
from tests.support.registering import registering_for_a_while
from tests.support.runner.pooled import (
    POOLED,
    comes_down_to,
    folders,
    settled_processes,
)
from tests.support.toy.ending import end

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """Give a store of one's own, and have all rules as they were afterwards."""
    monkeypatch.setenv("PARPASS_CACHE_DIR", str(tmp_path))
    with registering_for_a_while():
        yield ObjectStore()


def of_another_machine(call: Any, at: Any) -> Any:
    """Give loops whose code LLVM ends the process for: "Cannot select"."""
    name = "llvm.amdgcn.rcp.f32"
    return tir.call_pure_extern(call.out.dtype, name, call.sources[0].at(at))


def segfaults(*_: Any) -> Any:
    """End the process that lowers the operator."""
    end("segfault")


def hangs(*_: Any) -> Any:
    """Have the operator be lowered for ever."""
    end("hang")


def network() -> tvm.IRModule:
    """Return three kernels, of which the last one has `erf`."""
    x, w = relay.var("x", shape=(2, 8)), relay.var("w", shape=(5, 8))
    y = relay.nn.softmax(relay.nn.dense(x, w))
    return tvm.IRModule.from_expr(relay.Function([x, w], relay.erf(relay.sum(y, 1))))


def built(runner: Runner | None = None, **how: Any) -> Any:
    config = {**POOLED, **how.pop("config", {})} if runner else {}
    with tvm.transform.PassContext(opt_level=3, config=config):
        return relay.build(network(), workers=0, runner=runner, **how)


def test_a_kernel_that_kills_in_code_generation_is_named_and_the_others_are_kept(
    runner: Runner, store: ObjectStore
):
    settled_processes()  # those that earlier tests ended
    built(runner, cache=False)  # the workers are there
    before, children = folders(), settled_processes()
    with registering_for_a_while():
        register_injective("erf")(of_another_machine)
        with pytest.raises(WorkerDiedError) as caught:
            built(runner)
    error = caught.value
    assert (error.pass_name, error.cause) == ("target.CodeGen", "SIGABRT(-6)")
    assert "erf" in error.function
    assert folders() <= before
    assert comes_down_to(len(children))
    kept = store.state().size.objects
    reports: list[Any] = []
    lib = built(runner, report=reports.append)
    assert reports[1].functions == 1
    assert store.state().size.objects == kept + 1
    module = GraphModule(lib["default"](tvm.cpu()))
    module.run(x=np.ones((2, 8)), w=np.ones((5, 8)))
    assert np.allclose(module.get_output(0).numpy(), 0.8427008)


def test_workers_say_nothing_of_a_store_that_is_not_to_be_used(
    runner: Runner, store: ObjectStore
):
    store.folder.chmod(0o777)
    with pytest.warns(SlowerRunWarning, match="can be written to by others") as caught:
        built(runner)
    assert len(caught) == 1
    store.folder.chmod(0o700)
    built(runner)
    assert store.state().size.objects


def test_a_kernel_that_kills_while_it_is_lowered_is_named(runner: Runner):
    register_injective("erf")(segfaults)
    with pytest.raises(WorkerDiedError) as caught:
        built(runner)
    error = caught.value
    assert (error.pass_name, error.cause) == ("LowerToTIR", "SIGSEGV(-11)")
    assert "erf" in error.function
    assert "in segfaults" in error.traceback


def test_a_kernel_that_takes_too_long_is_named(runner: Runner):
    register_injective("erf")(hangs)
    with pytest.raises(FunctionTimeoutError) as caught:
        built(runner, config={"parpass.function_timeout": 0.5})
    assert caught.value.pass_name == "LowerToTIR"
    assert "erf" in caught.value.function
