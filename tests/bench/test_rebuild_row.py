"""Row `rebuild`: what it edits is a layer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest

from bench.rows.rebuild import Network, edited_networks
from examples.real_networks import load
from parpass import IRModule, relay
from parpass.ir.structural import structural_digest
from parpass.relay.build_module import network_pipeline
from parpass.target import Target
from parpass.transform import PassContext


@pytest.mark.slow
def test_each_edit_changes_two_kernels_and_no_two_edits_are_alike():
    model = load("resnet50")
    seen = kernels(relay.frontend.from_onnx(model))
    edits: Iterator[Network] = edited_networks(model)
    for edit in islice(edits, 2):
        new = kernels(edit) - seen
        assert len(new) == 2
        seen |= new


def kernels(network: Network) -> set[bytes]:
    """Return the digests of the fused operators of a network."""
    mod, params = network
    with PassContext(opt_level=3), Target("llvm").resolved():
        main = relay.build_module.bind_params_by_name(mod["main"], params)
        fused = network_pipeline()(IRModule.from_expr(main)).functions_by_name
    return {structural_digest(one) for name, one in fused.items() if name != "main"}
