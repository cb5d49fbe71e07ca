"""Programs of DaCe, built by workers."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest

from tests.integrations.dsl.building import EXAMPLE, killed_compiler, run, start

pytestmark = pytest.mark.foreign

KERNELS = """
import dace

@dace.program
def product(a: dace.float64[20, 20], b: dace.float64[20, 20]):
    return a @ b / 3.0

@dace.program(auto_optimize=False)
def smoothed(a: dace.float64[20, 20], b: dace.float64[20, 20]):
    b[1:-1, :] = 0.3 * (a[:-2, :] + a[2:, :]) + {operand}
"""

# Builds in workers, then by DaCe alone, and calls both.
BOTH = """
import dsl_programs as example
import parpass

def main():
    found = example.find("kernels")
    built = parpass.run_pipeline_sync(
        found, example.steps("dace"), workers=2, isolated=True
    ).functions
    import numpy as np
    from dace import DeviceType
    from dace.transformation.auto.auto_optimize import auto_optimize
    a, b = np.random.default_rng(1).random((2, 20, 20))
    for name, program in found.functions.items():
        results = []
        serial = auto_optimize(program.defined().to_sdfg(), DeviceType.CPU).compile()
        for one in (example.load(built[name]), serial):
            x, y = a.copy(), b.copy()
            returned = one(a=x, b=y)
            results.append([x.tobytes(), y.tobytes(), np.asarray(returned).tobytes()])
        assert results[0] == results[1], name

if __name__ == "__main__":
    main()
"""


def write(folder: Path, operand: str = "a[1:-1, :]") -> None:
    (folder / "kernels.py").write_text(KERNELS.replace("{operand}", operand))


def test_libraries_compute_what_daces_do(tmp_path: Path):
    write(tmp_path)
    (tmp_path / "both.py").write_text(BOTH)
    code, _, failed = run(tmp_path, "both.py")
    assert code == 0, failed


def test_what_dace_refuses_is_told_first_and_then_where(tmp_path: Path):
    write(tmp_path, "no_such_name")
    code, _, failed = run(tmp_path, str(EXAMPLE), "dace", "kernels", "-j2")
    assert code == 1
    assert failed.index("DaceSyntaxError") < failed.index(
        "in pass 'parse', on function 'kernels.smoothed'"
    )


def test_a_program_that_workers_do_not_find_is_named(tmp_path: Path):
    write(tmp_path)
    with (tmp_path / "kernels.py").open("a") as file:
        file.write("product = None\n")
    code, _, failed = run(tmp_path, str(EXAMPLE), "dace", "kernels", "-j2")
    assert code == 1
    assert "expected a program at 'kernels.product'" in failed


def test_a_killed_compiler_is_a_failure_of_its_program_alone(tmp_path: Path):
    write(tmp_path)
    code, told, failed = run(
        tmp_path,
        *(str(EXAMPLE), "dace", "kernels", "-j2", "--skip"),
        DACE_compiler_cpu_executable=killed_compiler(tmp_path, "smoothed"),
    )
    assert code == 0, failed
    assert "2/2" in told
    built = tmp_path / ".dacecache"
    assert [*built.glob("kernels.product/**/*.so")]
    assert not [*built.glob("kernels.smoothed/**/lib*smoothed.so")]


def test_an_interrupt_ends_workers_and_compilers(tmp_path: Path):
    write(tmp_path)
    compiler = tmp_path / "slow_compiler"
    compiler.write_text(f"#!/bin/sh\necho >> {tmp_path}/compiling\nsleep 600\n")
    compiler.chmod(0o755)
    process = start(
        tmp_path,
        *(str(EXAMPLE), "dace", "kernels", "-j2"),
        DACE_compiler_cpu_executable=str(compiler),
    )
    while not (tmp_path / "compiling").exists():
        assert process.poll() is None
        psutil.wait_procs([psutil.Process(process.pid)], timeout=0.1)
    tree = psutil.Process(process.pid).children(recursive=True)
    assert any(one.name() == "sleep" for one in tree)
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    _, alive = psutil.wait_procs(tree, timeout=60)
    assert not alive
