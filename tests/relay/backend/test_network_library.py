"""Kernels of a network are compiled by workers, to the library that is made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parpass.errors import UnknownFunctionError
from parpass.runner import Runner
from tests.support.relay.lowered_networks import built, network
from tests.support.runner.pooled import run_pooled


@pytest.mark.slow
def test_workers_make_the_same_library(runner: Runner, tmp_path: Path):
    def run(mod: Any, pipeline: Any) -> Any:
        return run_pooled(runner, pipeline, mod)

    built(network()).export_library(tmp_path / "serial.so")
    built(network(), run=run).export_library(tmp_path / "parallel.so")
    serial, parallel = tmp_path / "serial.so", tmp_path / "parallel.so"
    assert serial.read_bytes() == parallel.read_bytes()


def test_what_main_does_not_call_is_not_in_the_library():
    mod = network()
    mod["unused"] = mod["fused_add"]
    module = built(mod)
    assert "unused" not in module.manifest.functions
    assert [*module.manifest.numpy_functions] == ["fused_sort"]
    with pytest.raises(UnknownFunctionError, match="'unused'"):
        module["unused"]
