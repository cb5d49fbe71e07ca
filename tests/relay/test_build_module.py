"""Networks are built: to the same library, whatever the number of workers."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trio

import parpass as tvm
from parpass import object_store, relay, tir
from parpass.errors import ArgumentError, CodeGenError, SlowerRunWarning, TargetError
from parpass.relay.backend.executor_factory import GraphExecutorFactoryModule
from parpass.relay.backend.lowering import register_injective
from parpass.runtime.graph_executor import GraphModule
from tests.support.registering import registering_for_a_while

ROOT = Path(__file__).parents[2]

X = relay.var("x", shape=(2, 3))


def test_optimize_runs_the_passes_of_the_level():
    mod = tvm.IRModule.from_expr(relay.exp(X))
    with tvm.transform.PassContext(opt_level=3):
        optimized, left = relay.optimize(mod, target="llvm")
    assert "Primitive=1" in str(optimized)
    assert "fast_exp" not in str(optimized)
    assert left == {}
    assert "Primitive" not in str(mod)


def test_optimize_runs_what_the_context_requires_of_higher_levels():
    with tvm.transform.PassContext(opt_level=3, required_pass=["FastMath"]):
        optimized, _ = relay.build_module.optimize(relay.Function([X], relay.exp(X)))
    assert "fast_exp" in str(optimized)


def test_optimize_makes_constants_of_parameters():
    w = relay.var("w", shape=(2, 3))
    mod = tvm.IRModule.from_expr(relay.Function([X, w], relay.add(X, relay.abs(w))))
    weights = {"w": np.full((2, 3), -1, "float32")}
    with tvm.transform.PassContext(opt_level=3):
        optimized, _ = relay.optimize(mod, params=weights)
    assert "abs" not in str(optimized)
    assert len(optimized["main"].params) == 1
    assert len(mod["main"].params) == 2


def test_free_variables_are_bound_for_an_evaluation():
    value = np.ones((2, 3), "float32")
    result = relay.create_executor().evaluate(relay.add(X, X), binds={X: value})
    assert (result.numpy() == 2).all()


def small() -> tuple[tvm.IRModule, dict[str, Any]]:
    """Return a network of four kernels, one of which has no rule, and its weights."""
    data, weight = relay.var("data", shape=(2, 8)), relay.var("weight", shape=(5, 8))
    bias = relay.var("bias", shape=(5,))
    y = relay.nn.bias_add(relay.nn.dense(data, weight), bias)
    y = relay.nn.softmax(relay.nn.relu(y))
    body = relay.Tuple([relay.sort(y), relay.split(y, [2], axis=1).astuple()])
    numbers = np.random.default_rng(0)
    params = {"weight": numbers.normal(size=(5, 8)), "bias": numbers.normal(size=5)}
    mod = tvm.IRModule.from_expr(relay.Function([data, weight, bias], body))
    return mod, {name: one.astype("float32") for name, one in params.items()}


DATA = np.linspace(-1, 1, 16, dtype="float32").reshape(2, 8)


def built(**how: Any) -> GraphExecutorFactoryModule:
    mod, params = small()
    with tvm.transform.PassContext(opt_level=3, config=how.pop("config", None)):
        return relay.build(mod, "llvm", params=params, **how)


def test_a_network_is_built_and_run():
    lib = built(workers=0)
    assert [name.split("_")[1] for name in lib.numpy_functions] == ["sort"]
    module = GraphModule(lib["default"](tvm.cpu()))
    module.run(data=DATA)
    mod, params = small()
    ordered, parts = relay.create_executor(mod=mod).evaluate()(DATA, **params)
    for index, value in enumerate((ordered, *parts)):
        got = module.get_output(index).numpy()
        np.testing.assert_allclose(got, value.numpy(), rtol=1e-5, atol=1e-6)


MANY = 1_100  # ctypes passes 1,024 arguments


@pytest.mark.slow
@pytest.mark.parametrize(
    "join", [relay.stack, pytest.param(relay.concatenate, marks=pytest.mark.stress)]
)
def test_a_kernel_has_any_number_of_arguments(join: Callable[..., Any]):
    inputs = [relay.var(f"x{at}", shape=(2,)) for at in range(MANY)]
    joined = relay.Function(inputs, join(inputs, 0))
    lib = relay.build(joined, "llvm", workers=0, cache=False)
    module = GraphModule(lib["default"](tvm.cpu()))
    module.run(**{f"x{at}": [at, -at] for at in range(MANY)})
    found = module.get_output(0).numpy().reshape(MANY, 2)
    assert found.tolist() == [[at, -at] for at in range(MANY)]


@pytest.mark.slow
def test_a_kernel_has_any_number_of_results():
    x = relay.var("x", shape=(MANY,))
    parts = relay.Function([x], relay.split(x, MANY).astuple())
    lib = relay.build(parts, "llvm", workers=0, cache=False)
    module = GraphModule(lib["default"](tvm.cpu()))
    module.run(x=np.arange(MANY, dtype="float32"))
    found = [module.get_output(at).numpy().tolist() for at in range(MANY)]
    assert found == [[at] for at in range(MANY)]


def test_what_reads_fields_of_a_tuple_is_machine_code():
    x = relay.var("x", shape=(2, 8))
    first, second = relay.split(x, 2, 1)
    results = relay.Tuple([relay.nn.softmax(first), relay.tanh(first * second)])
    lib = relay.build(relay.Function([x], results), "llvm", workers=0)
    assert not lib.numpy_functions
    module = GraphModule(lib["default"](tvm.cpu()))
    module.run(x=DATA)
    expected = np.tanh(DATA[:, :4] * DATA[:, 4:])
    np.testing.assert_allclose(module.get_output(1).numpy(), expected, rtol=1e-6)


def test_a_library_is_taken_apart_as_in_tvm():
    lib = built(workers=0, mod_name="net")
    graph, module, params = lib
    assert graph == lib.get_graph_json() == lib.get_executor_config()
    assert params == lib.get_params()
    again = tvm.contrib.graph_executor.create(graph, module, tvm.cpu())
    again.load_params(relay.save_param_dict(params))
    again.run(data=DATA)
    one = GraphModule(lib["net"](tvm.cpu()))
    one.run(data=DATA)
    assert np.array_equal(again.get_output(1).numpy(), one.get_output(1).numpy())


PROGRAM = """
import sys
from tests.relay.test_build_module import digest
from tests.support.runner.pooled import POOLED
if __name__ == "__main__":
    print(digest(workers=int(sys.argv[1]), config=POOLED))
"""


def digest(**how: Any) -> str:
    """Return that of a library's file, without the checks that tests have made."""
    how["config"] = {**how.get("config", {}), "tir.instrument_bound_checkers": False}
    with tempfile.TemporaryDirectory() as folder:
        built(cache=False, **how).export_library(f"{folder}/net.so")
        return hashlib.sha256(Path(folder, "net.so").read_bytes()).hexdigest()


def digest_elsewhere(seed: str, workers: int) -> str:
    return subprocess.check_output(
        [sys.executable, "-c", PROGRAM, str(workers)],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        text=True,
        timeout=200,
    ).strip()


@pytest.mark.slow
def test_no_hash_seed_shows_in_a_library():
    assert digest_elsewhere("7", 0) == digest(workers=0)


@pytest.mark.stress
def test_no_number_of_workers_shows_in_a_library():
    found = {digest_elsewhere(str(workers), workers) for workers in (1, 2, 4)}
    assert found == {digest(workers=0)}


def test_it_can_be_awaited():
    mod, params = small()

    async def awaited() -> Any:
        with tvm.transform.PassContext(opt_level=3):
            lib = await relay.build_async(mod, params=params, workers=0)
        return lib.module.manifest

    assert (
        trio.run(awaited) == asyncio.run(awaited()) == built(workers=0).module.manifest
    )


def layers(*widths: int) -> tvm.IRModule:
    """Return a network of dense layers, each with ReLU."""
    x = relay.var("x", shape=(2, 8))
    y, weights = x, list[relay.Var]()
    for at, (fan_in, width) in enumerate(pairwise((8, *widths))):
        weights.append(relay.var(f"w{at}", shape=(width, fan_in)))
        y = relay.nn.relu(relay.nn.dense(y, weights[-1]))
    return tvm.IRModule.from_expr(relay.Function([x, *weights], y))


def compiled_and_built(mod: tvm.IRModule) -> tuple[list[str], bytes]:
    """Build a network here; return the operators of what is compiled, and the code."""
    target = tvm.target.Target("llvm").resolved()
    runs, made = relay.build_module.network_runs(mod, target), None
    operators: list[str] = []
    with tvm.transform.PassContext(opt_level=3):
        while True:
            try:
                run = runs.send(made)
            except StopIteration as end:
                return operators, end.value.module.image.code
            operators += [one.rpartition("_")[0] for one in run.mod.functions_by_name]
            made = run.pipeline(run.mod)


def test_the_next_build_compiles_the_layers_that_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PARPASS_CACHE_DIR", str(tmp_path))
    layer = "fused_nn_dense_nn_relu"
    first, code = compiled_and_built(layers(5, 6, 7))
    assert first == ["", layer, layer, layer]  # main, which is fused
    assert compiled_and_built(layers(5, 6, 7)) == ([""], code)
    assert compiled_and_built(layers(5, 6, 9))[0] == ["", layer]


def test_kernels_of_the_programs_own_rules_are_compiled_by_each_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PARPASS_CACHE_DIR", str(tmp_path))
    mod = tvm.IRModule.from_expr(relay.Function([X], relay.erf(X)))
    _, code = compiled_and_built(mod)
    for factor in (2.0, 3.0):
        with registering_for_a_while():

            @register_injective("erf")
            def scaled(call: Any, at: Any, by: float = factor) -> Any:
                return call.sources[0].at(at) * tir.const(by, call.out.dtype)

            assert scaled
            again, other = compiled_and_built(mod)
        assert again == ["", "fused_erf"]
        assert other != code
        code = other
    assert compiled_and_built(mod)[0] == [""]


def test_without_a_store_all_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PARPASS_CACHE_DIR", str(tmp_path))
    built(workers=0, cache=False)
    assert not [*tmp_path.iterdir()]


@contextlib.contextmanager
def others_may_write(folder: Path) -> Generator[None]:
    """Have a folder be everybody's."""
    folder.chmod(0o777)
    yield
    folder.chmod(0o700)


@contextlib.contextmanager
def is_locked(folder: Path) -> Generator[None]:
    """Have a store be locked, as by a process that was stopped."""
    path = folder / "objects.sqlite"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as table:
        table.execute("begin exclusive")
        yield


@contextlib.contextmanager
def rows_changed_places(folder: Path) -> Generator[None]:
    """Have each key of a store lead to the row of the next one."""
    path = folder / "objects.sqlite"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as table:
        rows = table.execute("select key, digest, data from object").fetchall()
        for (key, _, _), (_, digest, data) in pairwise([*rows, rows[0]]):
            there = "update object set digest = ?, data = ? where key = ?"
            table.execute(there, (digest, data, key))
    yield


@pytest.mark.slow
@pytest.mark.parametrize("how", [others_may_write, is_locked, rows_changed_places])
def test_a_store_that_is_not_to_be_used_costs_time_and_one_warning(
    how: Callable[[Path], contextlib.AbstractContextManager[None]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("PARPASS_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(object_store, "_WAITING_SECONDS", 0.1)
    first, code = compiled_and_built(layers(3, 4))
    with how(tmp_path), pytest.warns(SlowerRunWarning) as caught:
        assert compiled_and_built(layers(3, 4)) == (first, code)
    assert len(caught) == 1
    assert compiled_and_built(layers(3, 4)) == ([""], code)


def test_the_current_target_is_built_for():
    mod = tvm.IRModule.from_expr(relay.Function([X], relay.exp(X)))
    with tvm.target.Target("llvm -mcpu=x86-64-v2"):
        lib = relay.build(mod, workers=0)
    assert "avx" not in lib.module.manifest.features
    assert tvm.target.Target.current() is None
    with pytest.raises(TargetError):
        relay.build(mod, "llvm -mcpu=none")


def test_control_flow_is_refused_with_what_to_do():
    body = relay.If(relay.var("c", shape=(), dtype="bool"), X, relay.exp(X))
    mod = tvm.IRModule.from_expr(body)
    with pytest.raises(
        CodeGenError, match=r"with control flow, run it by relay\.create_executor"
    ):
        relay.build(mod, workers=0)


def test_a_library_may_be_for_c_as_well():
    mod = tvm.IRModule.from_expr(relay.Function([X], relay.exp(X)))
    lib = relay.build(mod, workers=0, executor="aot", mod_name="net")
    assert "int32_t net_run(" in lib.c_header()
    module = GraphModule(lib["net"](tvm.cpu()))
    module.run(x=np.zeros((2, 3)))
    assert module.get_output(0).numpy().min() == 1
    with pytest.raises(ArgumentError, match="'vm'"):
        relay.build(mod, workers=0, executor="vm")
    with pytest.raises(ArgumentError, match="'a b'"):
        relay.build(mod, workers=0, mod_name="a b")
