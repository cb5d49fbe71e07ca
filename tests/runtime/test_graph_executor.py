"""Networks are run from a library, under TVM's names."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import parpass as tvm
from parpass.errors import ArgumentError, DamagedLibraryError, KernelError, LibraryError
from parpass.runtime import Module, NDArray, load_module
from parpass.runtime.graph_executor import GraphModule, create
from tests.support.relay.lowered_networks import (
    WEIGHT,
    built,
    expected,
    kernel_attrs,
    network,
)

ROOT = Path(__file__).parents[2]
X = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)


@pytest.fixture(scope="module")
def lib() -> Module:
    return built(network())


@pytest.fixture
def module(lib: Module) -> GraphModule:
    return GraphModule(lib["default"](tvm.cpu()))


def check(module: GraphModule, x: Any) -> None:
    for index, value in enumerate(expected(x)):
        got = module.get_output(index).numpy()
        np.testing.assert_allclose(got, value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([[1, 2, 3, 4], [5]], "expected numbers, in rows of one length, for input 'x'"),
        ([["a"] * 4] * 2, "expected numbers for input 'x', got"),
        ([[1, 2, 3, None]] * 2, "expected numbers for input 'x', got"),
        ([[2**70] * 4] * 2, "expected numbers of at most 64 bits for input 'x'"),
        ({"x": 1}, "expected numbers for input 'x', got {'x': 1}"),
    ],
)
def test_an_input_is_an_array_of_numbers(module: GraphModule, given: Any, words: str):
    for give in (
        lambda: module.set_input("x", given),
        lambda: module.set_input(x=given),
        lambda: module.run(x=given),
    ):
        with pytest.raises(ArgumentError) as caught:
            give()
        assert words in str(caught.value)


def test_a_result_is_copied_to_an_array_of_its_shape(module: GraphModule):
    module.run(x=X)
    for out, words in [
        (np.empty((2, 4)), "expected an NDArray of shape"),
        (NDArray(np.empty(3)), r"to copy a result to, got NDArray of \(3,\)"),
    ]:
        with pytest.raises(ArgumentError, match=words):
            module.get_output(0, cast("Any", out))


def test_a_network_is_run(module: GraphModule):
    module.set_input("x", X)
    module.run()
    assert module.get_num_outputs() == 2
    check(module, X)
    first = module.get_output(0)
    module.run(x=-X)
    check(module, -X)
    assert np.array_equal(first.numpy(), expected(X)[0])  # it is a copy


def test_it_is_found_under_tvms_names(lib: Module):
    assert tvm.runtime.graph_executor is tvm.contrib.graph_executor
    one = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    one["set_input"]("x", X)
    one["run"]()
    check(one, X)
    assert np.array_equal(one["get_output"](1).numpy(), one.get_output(1).numpy())


def test_inputs_are_set_by_name_number_and_keyword(module: GraphModule):
    for values in (("x", X), (0, NDArray(X)), ("x", X.tolist()), (0, X.astype("f8"))):
        module.set_input(*values)
        module.run()
        check(module, X)
    module.set_input(x=X * 2)
    assert np.array_equal(module.get_input("x").numpy(), X * 2)
    assert (module.get_num_inputs(), module.get_input_index("p0")) == (2, 1)
    assert module.get_input_index("none") == -1
    assert module.get_input_info() == ({"x": (2, 4)}, {"x": "float32"})


def test_weights_are_read_where_they_are_until_others_are_set(lib: Module):
    one, two = (GraphModule(lib["default"](tvm.cpu())) for _ in "ab")
    weight = lib.weights["p0"].numpy()
    assert np.shares_memory(one.module.value(1), weight)
    one.run(x=X)
    one.set_input("p0", WEIGHT * 2)
    for module in (one, two):
        module.run(x=X)
    check(two, X)
    np.testing.assert_allclose(one.get_output(1).numpy(), X @ WEIGHT.T * 2 + 2, 1e-5)
    np.testing.assert_array_equal(weight, WEIGHT)
    two.share_params(one, tvm.relay.save_param_dict({"p0": WEIGHT}))
    two.run()
    assert np.array_equal(one.get_output(0).numpy(), two.get_output(0).numpy())


def test_a_graph_and_weights_may_come_by_themselves(lib: Module):
    module = create(lib.manifest.graph, lib, tvm.cpu())
    module.load_params(tvm.relay.save_param_dict(lib.weights))
    module.run(x=X)
    check(module, X)


def test_what_a_node_gives_can_be_looked_at(module: GraphModule):
    module.set_input("x", X)
    out = tvm.nd.array(np.zeros((2, 3), "float32"))
    module.debug_get_output("fused_dense", out)
    np.testing.assert_allclose(out.numpy(), X @ WEIGHT.T, rtol=1e-5, atol=1e-6)
    assert np.array_equal(module.debug_get_output(2).numpy(), out.numpy())
    with pytest.raises(ArgumentError, match="expected a node of the graph, got 'n'"):
        module.debug_get_output("n")


def test_it_can_be_timed(module: GraphModule):
    for end_to_end in (False, True):
        found = module.benchmark(
            tvm.cpu(), repeat=2, number=2, end_to_end=end_to_end, x=X
        )
        assert len(found.results) == 2
        assert found.min > 0


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("y", X, r"expected an input of the graph \('x', 'p0'\), got 'y'"),
        (2, X, "got 2"),
        ("x", X.T, r"expected shape \(2, 4\) for input 'x', got \(4, 2\)"),
        ("x", X + 1j, "expected float32 for input 'x', got complex64"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(
    module: GraphModule, key: Any, value: Any, told: str
):
    with pytest.raises(ArgumentError, match=told):
        module.set_input(key, value)


def test_what_is_no_network_or_device_is_refused(lib: Module, module: GraphModule):
    with pytest.raises(ArgumentError, match=r"expected what lib\['default'\]"):
        GraphModule(cast("Any", lib))
    for wrong in ("cpu", tvm.runtime.Device(2), [tvm.cpu(), None]):
        with pytest.raises(ArgumentError, match=r"expected device tvm\.cpu"):
            lib["default"](wrong)
    with pytest.raises(ArgumentError, match="expected a result below 2, got 2"):
        module.get_output(2)
    with pytest.raises(ArgumentError, match=r"'get_output'.*, got 'walk'"):
        module["walk"]
    with pytest.raises(LibraryError, match="calls 'fused_dense', which the library"):
        create(lib.manifest.graph, tvm.build(_divides(), workers=0), tvm.cpu())


def _divides() -> Any:
    x = tvm.te.placeholder((2,), "int32", "x")
    y = tvm.te.compute((2,), lambda i: tvm.te.div(1, x[i]), "y")
    return tvm.te.create_prim_func([x, y]).with_attr(kernel_attrs("divides"))


def _increases() -> Any:
    x = tvm.te.placeholder((2,), "int32", "x")
    y = tvm.te.compute((2,), lambda i: x[i] + 1, "y")
    return tvm.te.create_prim_func([x, y]).with_attr(kernel_attrs("good"))


def test_a_fault_of_a_kernel_is_an_error():
    x = tvm.relay.var("x", shape=(2,), dtype="int32")
    call = tvm.relay.Call(tvm.relay.GlobalVar("divides"), [x])
    mod = tvm.IRModule({"main": tvm.relay.Function([x], call), "divides": _divides()})
    module = GraphModule(built(mod)["default"](tvm.cpu()))
    with pytest.raises(KernelError, match="divides"):
        module.run(x=[1, 0])


def test_a_fault_in_a_row_of_kernels_is_that_of_its_kernel_and_ends_the_row():
    x = tvm.relay.var("x", shape=(2,), dtype="int32")
    first, second = (
        tvm.relay.Call(tvm.relay.GlobalVar(name), [value])
        for name, value in (("good", x), ("divides", x))
    )
    last = tvm.relay.Call(tvm.relay.GlobalVar("good"), [second])
    results = tvm.relay.Tuple([first, second, last])
    mod = tvm.IRModule(
        {
            "main": tvm.relay.Function([x], results),
            "good": _increases(),
            "divides": _divides(),
        }
    )
    module = GraphModule(built(mod)["default"](tvm.cpu()))
    module.run(x=[1, 1])
    with pytest.raises(KernelError, match="in 'divides_"):
        module.run(x=[7, 0])
    assert module.get_output(0).numpy().tolist() == [8, 1]
    assert module.get_output(2).numpy().tolist() == [2, 2]  # of the run before
    module.run(x=[1, -1])
    found = [module.get_output(at).numpy().tolist() for at in range(3)]
    assert found == [[2, 0], [1, -1], [2, 0]]


def test_a_network_of_no_kernels_gives_its_inputs():
    x = tvm.relay.var("x", shape=(0, 3))
    mod = tvm.IRModule({"main": tvm.relay.Function([x], tvm.relay.Tuple([x, x]))})
    module = GraphModule(built(mod)["default"](tvm.cpu()))
    module.run()
    assert module.get_output(1).shape == (0, 3)


@pytest.mark.slow
def test_to_load_and_run_one_needs_no_compiler(tmp_path: Path):
    mod = network()
    main = mod["main"]
    body = tvm.relay.Let(
        main.body.var, main.body.value, tvm.relay.TupleGetItem(main.body.var, 0)
    )
    mod["main"] = tvm.relay.Function(main.params, body)
    built(mod).export_library(tmp_path / "net.so")
    program = (
        "import sys, numpy as np\n"
        "import parpass as tvm\n"
        f"lib = tvm.runtime.load_module({str(tmp_path / 'net.so')!r})\n"
        "module = tvm.contrib.graph_executor.GraphModule(lib['default'](tvm.cpu()))\n"
        "module.run(x=np.ones((2, 4), 'float32'))\n"
        "print(module.get_output(0).shape, *sys.modules, sep=';')\n"
    )
    output = subprocess.check_output(
        [sys.executable, "-c", program], text=True, cwd=ROOT, timeout=200
    )
    shape, *loaded = output.strip().split(";")
    assert shape == "(2, 3)"
    packages = {name.split(".")[1] for name in loaded if name.startswith("parpass.")}
    core = {"errors", "fork_safety", "lazy_loader", "replicated_tables"}
    core |= {"atomic_files", "function_registry", "source", "trusted_paths"}
    core |= {"program_modules"}
    core |= {
        "arith",
        "error",
        "parser",
        "tvm_paths",
    }  # TVM's paths, of which none loads
    assert packages <= core | {"contrib", "runtime"}
    assert not {"llvmlite", "onnx", "msgspec", "trio", "loky"} & {*loaded}


def test_a_library_of_a_file_is_the_one_that_was_built(lib: Module, tmp_path: Path):
    lib.export_library(tmp_path / "net.so")
    loaded = load_module(tmp_path / "net.so")
    assert loaded.manifest == lib.manifest
    module = GraphModule(loaded["default"](tvm.cpu()))
    module.run(x=X)
    check(module, X)


@pytest.mark.parametrize(
    ("where", "what", "told"),
    [
        (("attrs",), [1], "graph as relay.build makes it"),
        (("nodes", 2, "attrs", "num_outputs"), "-1", "gives -1 values"),
        (("nodes", 2, "attrs", "func_name"), "", "calls no function"),
        (("nodes", 2, "attrs", "func_name"), 5, "node 2 has no name"),
        (("nodes", 0, "name"), [], "node 0 has no name"),
        (("nodes", 0, "name"), "p0", "two inputs of one name"),
        (("nodes", 2, "inputs", 0), [-1, 0, 0], "no value 0 of node -1"),
        (("attrs", "dltype", 1, 2), "float32x4", "no dtype named"),
        (("attrs", "shape", 1, 2), [1 << 62], "no machine has memory"),
        (("attrs", "shape", 1, 2), [0, 10**30], "no machine has memory"),
        (("attrs", "shape", 1, 2), [1] * 99, "a value of 99 dimensions"),
        (("attrs", "storage_id", 1, 2), float("inf"), "infinity"),
    ],
)
def test_a_graph_that_cannot_be_is_refused(
    lib: Module, where: tuple[Any, ...], what: Any, told: str
):
    said = inside = json.loads(lib.manifest.graph)
    for key in where[:-1]:
        inside = inside[key]
    inside[where[-1]] = what
    with pytest.raises(LibraryError, match=told):
        create(json.dumps(said), lib, tvm.cpu())


@pytest.mark.parametrize("given", [{}, None, "[" * 100_000])
def test_what_is_no_json_is_refused(lib: Module, given: Any):
    with pytest.raises(LibraryError, match="expected the JSON of a graph"):
        create(given, lib, tvm.cpu())


def test_weights_are_those_of_the_graph(lib: Module):
    image = lib.image._replace(weights={"odd": NDArray(WEIGHT)})
    with pytest.raises(LibraryError, match="weights are not those of the graph"):
        Module(image)["default"](tvm.cpu())


def test_graph_and_weights_of_a_file_are_checked(lib: Module, tmp_path: Path):
    path = tmp_path / "net.so"
    lib.export_library(path)
    data = path.read_bytes()
    for inside in (WEIGHT.tobytes(), b"node_row_ptr", b"fused_sort"):
        at = data.rindex(inside) + len(inside) // 2
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(DamagedLibraryError, match="its digest is not"):
            load_module(path)
        path.write_bytes(data[:at])
        with pytest.raises(DamagedLibraryError, match="its end is missing"):
            load_module(path)
