"""Several networks are one build: to the libraries that each gets alone."""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import parpass as tvm
from parpass import relay
from parpass.instrument import pass_instrument
from parpass.relay.backend.lowering import register_injective
from parpass.relay.build_module import networks_runs
from parpass.relay.network_module import FuseNetwork, Networks
from parpass.runner import Runner
from parpass.testing import check_adapter
from parpass.transform import PassContext, PassInfo
from tests.support.registering import registering_for_a_while
from tests.support.runner.pooled import POOLED, folders

_log = logging.getLogger(__name__)

Given = dict[str, tuple[tvm.IRModule, dict[str, Any]]]


def layers(*widths: int) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Return a network of layers of these widths, whose weights tell it from others."""
    x = relay.var("x", shape=(2, 8))
    y, weights, params = x, list[relay.Var](), dict[str, Any]()
    numbers = np.random.default_rng(len(widths))
    for at, shape in enumerate(pairwise((8, *widths))):
        weights.append(relay.var(f"w{at}", shape=shape[::-1]))
        params[f"w{at}"] = numbers.normal(size=shape[::-1]).astype("float32")
        y = relay.nn.relu(relay.nn.dense(y, weights[-1]))
    return tvm.IRModule.from_expr(relay.Function([x, *weights], y)), params


def networks() -> Given:
    """Return networks that have kernels in common, and large weights."""
    return {
        "narrow": layers(5, 6),
        "wide": layers(900, 6),
        "both": layers(5, 900, 6),
        "sorts": (tvm.IRModule.from_expr(relay.sort(relay.var("x", shape=(3,)))), {}),
    }


def content(lib: Any) -> tuple[Any, ...]:
    image = lib.module.image
    weights = {name: one.numpy().tobytes() for name, one in image.weights.items()}
    return image.code, image.manifest, weights


@pytest.mark.parametrize("workers", [0, 2])
def test_each_network_gets_the_library_that_it_gets_alone(workers: int):
    given = networks()
    with PassContext(opt_level=3), tvm.open_runner(workers=workers) as runner:
        found = relay.build_all(given, "llvm", runner=runner, cache=False)
        assert [*found] == [*given]
        for name, (mod, params) in given.items():
            alone = relay.build(mod, "llvm", params=params, workers=0, cache=False)
            assert content(found[name]) == content(alone), name
    assert not folders()


def test_equal_kernels_of_networks_are_compiled_once():
    given = {"one": layers(5, 6), "two": layers(5, 6), "three": layers(5, 7)}
    mods = {name: mod for name, (mod, _) in given.items()}
    runs = networks_runs(mods, tvm.target.Target("llvm").resolved(), cache=False)
    with PassContext(opt_level=3):
        first = next(runs)
        assert [*first.mod.functions] == [*given]
        second = runs.send(first.pipeline(first.mod))
    assert len(second.mod) == 3  # to 5, and from there to 6 and to 7
    assert second.what == "compiling 3 of 3 kernels"


def passes_seen(build: Callable[[], object]) -> list[str]:
    """Return the passes that an instrument sees in a build."""
    seen: list[str] = []

    @pass_instrument
    class Sees:
        def run_before_pass(self, mod: Any, info: PassInfo) -> None:
            seen.append(info.name)

    with PassContext(opt_level=3, instruments=[Sees()]):
        build()
    return seen


def test_instruments_see_one_pass_on_each_network_and_those_on_kernels():
    mod, params = layers(5, 6)
    given, how = {"one": (mod, params)}, dict[str, Any](workers=0, cache=False)
    together = passes_seen(lambda: relay.build_all(given, "llvm", **how))
    alone = passes_seen(lambda: relay.build(mod, "llvm", params=params, **how))
    assert together[:2] == ["FuseNetwork", "kernels"]
    assert alone[:2] == ["network", "O3"]
    assert together[1:] == alone[alone.index("kernels") :]


def test_networks_travel_as_the_law_has_it():
    given = {name: mod for name, (mod, _) in networks().items()}
    with PassContext(opt_level=3), tvm.target.Target("llvm"):
        check_adapter(Networks(given), FuseNetwork())


def erf_of(width: int) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Return a network that has `erf` of a row of this width."""
    return tvm.IRModule.from_expr(relay.erf(relay.var("x", shape=(width,)))), {}


def tells(call: Any, at: Any) -> Any:
    """Lower an operator, and say so; refuse it for rows of 40 and 50."""
    width = int(call.out.shape[0])
    _log.warning("lowering a row of %d", width)
    if width in (40, 50):
        raise ValueError(f"no rows of {width}")
    return call.sources[0].at(at)


def outcome(given: Given, runner: Runner | None) -> str:
    """Return the error of a build, with its notes."""
    config = POOLED if runner else {}
    with PassContext(opt_level=3, config=config), registering_for_a_while():
        register_injective("erf")(tells)
        try:
            relay.build_all(given, "llvm", workers=0, runner=runner, cache=False)
        except Exception as error:  # noqa: BLE001 -- it is compared
            notes = getattr(error, "__notes__", ())
            return "\n".join([f"{type(error).__name__}: {error}", *notes])
        return ""


def outcomes(
    given: Given, caplog: pytest.LogCaptureFixture
) -> list[tuple[str, list[str]]]:
    """Return the errors of a serial and of a parallel build, and what each logged."""
    found: list[tuple[str, list[str]]] = []
    with tvm.open_runner(workers=2) as runner:
        for by in (None, runner):
            caplog.clear()
            error = outcome(given, by)
            found.append((error, [*dict.fromkeys(caplog.messages)]))
    assert not folders()
    return found


def test_what_is_said_comes_in_the_order_of_the_networks(
    caplog: pytest.LogCaptureFixture,
):
    widths = [30, 10, 60, 20]
    serial, parallel = outcomes({f"n{one}": erf_of(one) for one in widths}, caplog)
    assert serial == parallel
    assert serial == ("", [f"lowering a row of {width}" for width in widths])


def test_of_several_kernels_that_fail_the_first_in_the_order_is_told(
    caplog: pytest.LogCaptureFixture,
):
    widths = [30, 10, 50, 20, 40]
    serial, parallel = outcomes({f"n{one}": erf_of(one) for one in widths}, caplog)
    assert serial == parallel
    error, logged = serial
    assert error.startswith("ValueError: no rows of 50\n")
    assert logged == [f"lowering a row of {width}" for width in (30, 10, 50)]


def test_of_several_networks_that_fail_the_first_in_the_order_is_told(
    caplog: pytest.LogCaptureFixture,
):
    def ill_typed(width: int) -> tuple[tvm.IRModule, dict[str, Any]]:
        x, y = relay.var("x", shape=(width,)), relay.var("y", shape=(3,))
        return tvm.IRModule({"main": relay.Function([x, y], relay.add(x, y))}), {}

    given = {"a": erf_of(10), "b": ill_typed(7), "c": erf_of(20), "d": ill_typed(8)}
    serial, parallel = outcomes(given, caplog)
    assert serial == parallel
    error, logged = serial
    assert error.startswith("DiagnosticError: ")
    assert "got (7,) and (3,)\nin pass 'FuseNetwork', on function 'b'" in error
    assert logged == []


def test_a_network_that_has_no_graph_is_named(caplog: pytest.LogCaptureFixture):
    flag, x = relay.var("c", shape=(), dtype="bool"), relay.var("x", shape=(3,))
    branches = relay.Function([flag, x], relay.If(flag, x, relay.exp(x)))
    given: Given = {"a": erf_of(10), "b": (tvm.IRModule.from_expr(branches), {})}
    serial, parallel = outcomes(given, caplog)
    assert serial == parallel
    assert serial[0].startswith("CodeGenError: expected calls")
    assert serial[0].endswith("in network 'b'")
