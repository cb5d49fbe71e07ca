"""A diff is as long as what a pass changed, for the shipped passes on real networks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Any

import pytest

from bench.passes import passes
from examples.real_networks import load, network_paths
from parpass import IRModule, relay
from parpass.errors import IRError
from parpass.ir.node import Node, children, post_order, reflection
from parpass.ir.structural_hashing import value_bytes
from parpass.relay import transform
from parpass.relay.build_module import bind_params_by_name
from parpass.relay.expr import Constant
from parpass.transform import PassContext, Sequential
from parpass.transform.capture.structural_diff import structural_diff

NETWORKS = sorted(network_paths())


def node_counts(function: Any) -> Counter[Hashable]:
    """Return how often each node is there, as told by itself and what it reads."""

    def own(node: Node) -> Hashable:
        if isinstance(node, Constant):
            return "constant", str(node.checked_type)
        kind = type(node)
        value = value_bytes(reflection(kind).structure(node))
        return kind.__name__, value, str(getattr(node, "checked_type_", None))

    labels = {node: own(node) for node in post_order(function)}
    return Counter(
        (label, *(labels[child] for child in children(node)))
        for node, label in labels.items()
    )


def figures(network: str) -> Iterator[tuple[str, int, int]]:
    """Yield passes that change a network, nodes that changed, and lines of the diff."""
    mod, params = relay.frontend.from_onnx(load(network))
    bound = IRModule({"main": bind_params_by_name(mod["main"], params)})
    with PassContext(opt_level=4):
        typed = transform.InferType()(bound)
        plain = transform.SimplifyInference()(typed)
        folded = Sequential([transform.FoldConstant(), transform.FoldScaleAxis()])(
            plain
        )
        for given in (typed, plain, folded, transform.FuseOps()(folded)):
            for name, make in passes():
                try:
                    made = make()(given)
                except IRError:  # it has no gradient, say
                    continue
                texts = [
                    IRModule({"main": one["main"]}).text() for one in (given, made)
                ]
                if texts[0] == texts[1]:
                    continue
                before, after = node_counts(given["main"]), node_counts(made["main"])
                nodes = (before - after).total() + (after - before).total()
                lines = structural_diff(texts[0], texts[1], context=0).split("\n")
                yield name, nodes, sum(line[0] in "+-" for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    "network",
    [
        one
        if one in {"squeezenet", "shufflenet"}
        else pytest.param(one, marks=pytest.mark.stress)
        for one in NETWORKS
    ],
)
def test_a_diff_has_at_most_three_lines_for_each_node_that_changed(network: str):
    found = list(figures(network))
    assert len({name for name, *_ in found}) > 5
    assert [one for one in found if one[2] > 3 * one[1]] == []
