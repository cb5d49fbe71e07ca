"""Functions are dumped as in a serial run, wherever the passes ran."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parpass import IRModule, relay
from parpass.instrument import DumpFunctions
from parpass.runner import Runner, run_pipeline_sync
from parpass.transform import PassContext
from parpass.transform.config import ISOLATED
from tests.support.runner.pooled import POOLED

pytestmark = pytest.mark.slow

PASSES = "InferType,FoldConstant,DeadCodeElimination{inline-once=true},FuseOps"


def networks(count: int) -> IRModule:
    x, one = relay.var("x", shape=(2, 3)), relay.const(1.0)
    body = relay.nn.relu(relay.nn.relu(relay.add(x, relay.exp(one))))
    return IRModule({f"f{at}": relay.Function((x,), body) for at in range(count)})


def dumped(directory: Path, run: Any, limit: int, **config: Any) -> dict[str, bytes]:
    dump = DumpFunctions(directory, functions=["f[1-7]"], limit=limit)
    with PassContext(opt_level=3, instruments=[dump], config=config):
        run(networks(9), PASSES)
    found = (one for one in directory.rglob("*") if one.is_file())
    return {str(one.relative_to(directory)): one.read_bytes() for one in found}


@pytest.mark.parametrize("limit", [10**9, 7_000])
def test_dumped_files_are_the_same_at_any_number_of_workers(
    runner: Runner, tmp_path: Path, limit: int
) -> None:
    def here(mod: IRModule, passes: str) -> Any:
        return run_pipeline_sync(mod, passes, workers=0)

    serial = dumped(tmp_path / "serial", here, limit)
    assert dumped(tmp_path / "pool", runner.run_sync, limit, **POOLED) == serial
    isolated = dumped(tmp_path / "isolated", runner.run_sync, limit, **{ISOLATED: True})
    assert isolated == serial
    if limit == 10**9:
        steps = ["000_before", "001_InferType", "002_FoldConstant", "003_FuseOps"]
        named = [f"f{at}/{step}.relay" for at in range(1, 8) for step in steps]
        assert sorted(serial) == named
    else:
        assert 0 < sum(map(len, serial.values())) <= limit
