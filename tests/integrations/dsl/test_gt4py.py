"""Programs of GT4Py, built by workers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrations.dsl.building import EXAMPLE, killed_compiler, run

pytestmark = pytest.mark.foreign

STENCILS = """
import gt4py.next as gtx

I = gtx.Dimension("I")
IField = gtx.Field[gtx.Dims[I], gtx.float64]

@gtx.field_operator
def _difference(a: IField) -> IField:
    return a(I + 1) - a(I - 1)

@gtx.program(backend=gtx.gtfn_cpu)
def difference(a: IField, out: IField):
    _difference(a, out=out)

@gtx.field_operator
def _scaled(a: IField, by: gtx.float64) -> IField:
    return a * by / 3.0

@gtx.program
def scaled(a: IField, by: gtx.float64, out: IField):
    _scaled(a, by, out=out)
"""

# Builds in workers, calls what is built, then has GT4Py compile the same.
BOTH = """
import os
import dsl_programs as example
import parpass

def main():
    built = parpass.run_pipeline_sync(
        example.find("stencils"), example.steps("gt4py"), workers=2, isolated=True
    ).functions
    import gt4py.next as gtx
    import numpy as np
    import stencils
    from stencils import I
    values = np.random.default_rng(1).random(20)
    a = gtx.as_field({I: (-1, 19)}, values)
    libraries = set(os.listdir(".gt4py_cache"))
    for name, scalars in (("difference", ()), ("scaled", (0.7,))):
        ours, theirs = (gtx.zeros({I: (0, 18)}, gtx.float64) for _ in range(2))
        program = example.load(built[f"stencils.{name}"])
        program(a, *scalars, ours, offset_provider={})
        serial = getattr(stencils, name).with_backend(gtx.gtfn_cpu)
        serial(a, *scalars, out=theirs, offset_provider={})
        assert ours.asnumpy().tobytes() == theirs.asnumpy().tobytes()
        assert ours.asnumpy().any()
    gtx.wait_for_compilation()
    assert set(os.listdir(".gt4py_cache")) == libraries

if __name__ == "__main__":
    main()
"""


def test_libraries_compute_what_gt4pys_do_and_are_found_in_its_cache(tmp_path: Path):
    (tmp_path / "stencils.py").write_text(STENCILS)
    (tmp_path / "both.py").write_text(BOTH)
    code, _, failed = run(tmp_path, "both.py", GT4PY_BUILD_JOBS_MODE="serial")
    assert code == 0, failed


def test_a_killed_compiler_is_a_failure_of_its_program_alone(tmp_path: Path):
    (tmp_path / "stencils.py").write_text(STENCILS)
    compiler = killed_compiler(tmp_path, "difference")
    arguments = (str(EXAMPLE), "gt4py", "stencils", "-j2", "--skip")
    code, told, failed = run(tmp_path, *arguments, CXX=compiler)
    assert code == 0, failed
    assert "2/2" in told
    cache = tmp_path / ".gt4py_cache"
    assert [*cache.glob("scaled*/**/*.so")]
    assert not [*cache.glob("difference*/**/*.so")]
    code, _, failed = run(tmp_path, *arguments[:-1], CXX=compiler)
    assert code == 1
    assert "in pass 'compilation', on function 'stencils.difference'" in failed
