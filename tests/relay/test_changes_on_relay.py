"""Changes of Relay's functions are whole, and those that no text shows are found."""

from __future__ import annotations

import numpy as np
import pytest

from parpass import IRModule, relay
from parpass.relay import transform as rt
from parpass.runner import Runner
from parpass.transform import ModulePass, PassContext, PassInfo, Sequential
from tests.support.runner.pooled import POOLED
from tests.support.watching import ChangeLog, serially, told

pytestmark = pytest.mark.slow


def networks(count: int) -> IRModule:
    x, one = relay.var("x", shape=(2, 3)), relay.const(1.0)
    body = relay.nn.relu(relay.nn.relu(relay.add(x, relay.exp(one))))
    return IRModule({f"f{at}": relay.Function((x,), body) for at in range(count)})


def test_a_change_includes_what_restored_the_invariants_of_the_ir(runner: Runner):
    root = Sequential([rt.InferType(), rt.FoldConstant(), rt.FuseOps()])
    logs = [ChangeLog("FoldConstant", "f3"), ChangeLog("FoldConstant", "f3")]
    serial = told(serially, networks(9), root, logs[0])
    assert told(runner.run_sync, networks(9), root, logs[1], **POOLED) == serial
    (change,) = logs[1].changes
    lines = [line for line in change.diff().splitlines() if line[0] in "+-"]
    assert lines[0].startswith("-  %0 = exp(1f")
    assert all("/* ty=" in line for line in lines)  # types were inferred again


def test_what_the_text_does_not_show_is_a_change_too():
    class Scale(ModulePass):
        pass_info = PassInfo(0, "Scale")

        def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
            weights = np.full(5_000, ctx.opt_level, "float32")
            return IRModule({"f": relay.Function((), relay.const(weights))})

    log = ChangeLog()
    mod = IRModule({"f": relay.Function((), relay.const(np.ones(5_000, "float32")))})
    told(serially, mod, Scale(), log)
    (change,) = log.changes
    assert change.before == change.after
    assert "large constants" in change.diff()
