"""A network is run by a C program, with the header that says how."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from parpass import IRModule, relay
from parpass.errors import ArgumentError
from parpass.relay.backend.executor_factory import c_header
from tests.support.relay.lowered_networks import WEIGHT, added, built, dense, network

EXAMPLE = Path(__file__).parents[3] / "examples" / "run_library.c"
COMPILER = shutil.which("cc")


def one_result(name: str = "x") -> IRModule:
    """Return a network of one input and one result: `dense(x, WEIGHT) + 1 + 2`."""
    x = relay.var(name, shape=(2, 4))
    y = relay.Call(relay.GlobalVar("fused_dense"), [x, relay.const(WEIGHT)])
    for kernel in ("fused_add", "fused_add_1"):
        y = relay.Call(relay.GlobalVar(kernel), [y])
    kernels = {"fused_add": 1.0, "fused_add_1": 2.0}
    functions = {one: added(much, one) for one, much in kernels.items()}
    main = relay.Function([x], y)
    return IRModule({"main": main, "fused_dense": dense(), **functions})


def test_a_header_says_what_to_pass():
    module = built(one_result("gpu_0/data"), executor="aot")
    text = c_header(module.image)
    assert "#define DEFAULT_GPU_0_DATA_COUNT 8 /* 2 x 4 */" in text
    assert "#define DEFAULT_WEIGHTS_SIZE 48 " in text
    assert (
        "int32_t default_run(\n    const float *gpu_0_data,\n    float *output_0,\n"
        "    const uint8_t *weights,\n    uint8_t *workspace);\n"
    ) in text


def test_names_that_c_does_not_take_become_others():
    x, y = relay.var("float", shape=(2, 3)), relay.var("1", shape=(2, 3))
    z = relay.Var("_float", relay.TensorType((2, 3), "float32"))
    main = relay.Function([x, y, z], relay.Tuple([x, y, z]))
    text = c_header(built(IRModule({"main": main}), executor="aot").image)
    for name in ("_float", "_1", "_float_"):
        assert f"    const float *{name},\n" in text


def test_a_library_that_is_not_for_c_has_none():
    with pytest.raises(ArgumentError, match="executor='aot'"):
        c_header(built(network()).image)


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
def test_the_example_runs_a_network(tmp_path: Path):
    module = built(one_result(), executor="aot")
    module.export_library(tmp_path / "net.so")
    (tmp_path / "net.h").write_text(c_header(module.image))
    program = tmp_path / "run_library"
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}"]
    command = [str(COMPILER), str(EXAMPLE), "-o", str(program), *flags, "-ldl"]
    subprocess.run(command, check=True, timeout=200)
    x = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)
    numbers = [str(one) for one in x.reshape(-1)]
    told = subprocess.check_output(
        [program, tmp_path / "net.so", *numbers], timeout=200
    )
    got = np.array(told.split(), "float32").reshape(2, 3)
    np.testing.assert_allclose(got, x @ WEIGHT.T + 3, rtol=1e-4)
