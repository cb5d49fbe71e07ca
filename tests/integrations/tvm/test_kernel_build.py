"""`ptvm.build`: the library that TVM's own compilation gives, from workers."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parpass.errors import ArgumentError, RuntimeUseError, WorkerDiedError
from parpass.runner import Progress, Runner

pytestmark = pytest.mark.foreign

ROOT = Path(__file__).parents[3]


@pytest.fixture
def always(runner: Runner) -> dict[str, Any]:
    """Give what has every kernel be compiled by workers."""
    return {"runner": runner, "function_timeout": 200.0}


def test_prim_funcs_compute_what_tvms_own_library_does(
    always: dict[str, Any], tmp_path: Path
):
    import tvm

    from parpass.integrations import tvm as ptvm
    from tests.integrations.tvm.tvm_programs import program, values

    mod = program(10)
    expected = values(tvm.compile(mod, target="llvm"), mod)
    seen: list[Progress] = []
    paths = {name: tmp_path / f"{name}.so" for name in ("serial", "parallel")}
    serial = ptvm.build(mod, "llvm", output=paths["serial"], workers=0)
    parallel = ptvm.build(
        mod, "llvm", output=paths["parallel"], progress=seen.append, **always
    )
    for library in (serial, parallel, tvm.runtime.load_module(str(paths["serial"]))):
        for one, other in zip(values(library, mod), expected, strict=True):
            np.testing.assert_array_equal(one, other)
    assert paths["serial"].read_bytes() == paths["parallel"].read_bytes()
    assert seen[-1].functions == 3  # batches of up to four kernels


def test_a_network_computes_what_tvms_own_executable_does(always: dict[str, Any]):
    import tvm
    from tvm import relax

    from parpass.integrations import tvm as ptvm
    from tests.integrations.tvm.tvm_programs import network

    mod = network()
    given = tvm.runtime.tensor(np.ones((4, 4), dtype="float32"))
    theirs = relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())
    ours = relax.VirtualMachine(ptvm.build(mod, "llvm", **always), tvm.cpu())
    np.testing.assert_array_equal(
        ours["main"](given).numpy(), theirs["main"](given).numpy()
    )


def test_kernels_that_call_each_other_are_compiled_together(always: dict[str, Any]):
    import tvm

    from parpass.integrations import tvm as ptvm
    from tests.integrations.tvm.tvm_programs import calling

    library = ptvm.build(calling(), **always)
    given = tvm.runtime.tensor(np.zeros(4, dtype="float32"))
    library["main"](given)
    assert given.numpy().tolist() == [42, 0, 0, 0]


def test_tvms_settings_hold_in_workers(always: dict[str, Any], tmp_path: Path):
    import tvm

    from parpass.integrations import tvm as ptvm
    from tests.integrations.tvm.tvm_programs import add_one

    mod = tvm.IRModule({"main": add_one(64)})
    paths = [tmp_path / f"{at}.so" for at in range(3)]
    ptvm.build(mod, "llvm", output=paths[0], **always)
    config = {"tirx.UnrollLoop": {"auto_max_extent": 100, "explicit_unroll": True}}
    with tvm.transform.PassContext(config=config):
        ptvm.build(mod, "llvm", output=paths[1], **always)
        ptvm.build(mod, "llvm", output=paths[2], workers=0)
    plain, unrolled, serial = [path.read_bytes() for path in paths]
    assert unrolled == serial != plain


def test_what_tvm_cannot_compile_is_named(always: dict[str, Any]):
    import tvm
    from tvm import tirx

    from parpass.integrations import tvm as ptvm
    from tests.integrations.tvm.tvm_programs import program

    free = tirx.call_extern("int32", "f", tirx.Var("free", "int32"))
    bad = tirx.PrimFunc([], tirx.Evaluate(free))
    mod = program(2)
    mod["bad"] = bad.with_attr("global_symbol", "bad")
    ways: list[dict[str, Any]] = [{"workers": 0}, always]
    for how in ways:
        with pytest.raises(tvm.error.InternalError, match="free") as caught:
            ptvm.build(mod, "llvm", **how)
        assert "in kernel 'bad'" in caught.value.__notes__


@pytest.mark.skipif(platform.machine() != "x86_64", reason="an instruction of x86")
def test_a_kernel_that_kills_its_worker_is_named(always: dict[str, Any]):
    from parpass.integrations import tvm as ptvm
    from tests.integrations.tvm.tvm_programs import program, unselectable

    mod = program(3)
    mod["bad"] = unselectable().with_attr("global_symbol", "bad")
    with pytest.raises(WorkerDiedError, match="on function 'bad'") as caught:
        ptvm.build(mod, "llvm", **always)
    assert caught.value.function == "bad"


@pytest.mark.slow
def test_an_interrupt_leaves_neither_processes_nor_files(tmp_path: Path):
    script = tmp_path / "building.py"
    script.write_text(_BUILDING)
    process = subprocess.Popen(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "began\n"
    os.killpg(process.pid, signal.SIGINT)
    told, _ = process.communicate(timeout=100)
    assert told == "interrupted\n"
    assert [*tmp_path.iterdir()] == [script]
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)  # nobody is left of the session


_BUILDING = """
from parpass.integrations import tvm as ptvm
from tests.integrations.tvm.tvm_programs import program

def tell(progress):
    if progress.workers and not told:
        told.append(print("began", flush=True))

told = []
if __name__ == "__main__":
    try:
        ptvm.build(program(120), "llvm", workers=2, progress=tell)
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": {"kind": "c"}}, "of kind 'llvm', got 'c': code for devices is bui"),
        ({"tir_pipeline": len}, "the name of a pipeline for tir_pipeline, got builtin"),
        ({"params": {"w": 1}}, "params and external modules beside Relax functions"),
        ({"on_failure": "keep"}, "expected no on_failure, got one: a library has all"),
        ({"mod": "text"}, "expected an IRModule or a PrimFunc of TVM, got str"),
    ],
)
def test_what_is_not_built_here_is_refused(arguments: dict[str, Any], message: str):
    from parpass.integrations import tvm as ptvm
    from tests.integrations.tvm.tvm_programs import program

    given: dict[str, Any] = {"mod": program(1), "workers": 0, **arguments}
    with pytest.raises(ArgumentError, match=message):
        ptvm.build(**given)


def test_two_kernels_of_one_symbol_are_refused():
    import tvm

    from parpass.integrations import tvm as ptvm
    from tests.integrations.tvm.tvm_programs import add_one

    mod = tvm.IRModule({"a": add_one(2), "b": add_one(3)})
    with pytest.raises(ArgumentError, match="got 'main' for 'a', 'b'"):
        ptvm.build(mod, workers=0)


def test_a_machine_without_a_linker_is_told_before_anything_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
):
    from parpass.integrations import tvm as ptvm
    from tests.integrations.tvm.tvm_programs import program

    monkeypatch.setattr("tvm.support.cc.get_cc", lambda: None)
    with pytest.raises(RuntimeUseError, match=r"linked by a C.. compiler, and th"):
        ptvm.build(program(1), workers=0)


@pytest.mark.slow
def test_the_example_finds_all_outputs_the_same():
    command = [sys.executable, "examples/tvm_network.py", "4"]
    told = subprocess.check_output(command, text=True, cwd=ROOT, timeout=200)
    assert "all outputs the same" in told
