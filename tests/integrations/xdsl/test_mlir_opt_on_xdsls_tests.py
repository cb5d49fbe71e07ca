"""The tests of xDSL itself show nothing that tells `parpass mlir-opt` from `xdsl-opt`.

A long form. `PARPASS_XDSL_FILECHECK` names the folder `tests/filecheck` of the sources
of the installed xDSL, which its source distribution has.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from parpass.runner import Runner, open_runner
from tests.integrations.xdsl.test_xdsl_codec import FILECHECK
from tests.integrations.xdsl.xdsl_opt_runs import by_mlir_opt, by_xdsl_opt, invocations

pytestmark = pytest.mark.stress


_DIFFERS_BY_ITSELF = {  # from one run of xdsl-opt to the next, too
    "convert_op.mlir",  # flags are written in the order of a set
    "mlir_translate_convert_op_llvmdiff.mlir",  # likewise
    "transform-interpreter-match.mlir",  # shows addresses of objects
}


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    # Isolated, so that the functions of a program with one go to a worker, too.
    with open_runner(workers=2, isolated=True) as opened:
        yield opened


def filecheck_folder() -> str:
    folder = os.environ.get(FILECHECK)
    if folder is None:
        pytest.skip(f"{FILECHECK} names no folder with programs")
    return folder


def differing(path: Path, runner: Runner) -> Iterator[str]:
    last = b""
    for one in invocations(path):
        given = last if one.reads_last else b""
        expected = by_xdsl_opt(one.arguments, given)
        last = expected.output
        if by_mlir_opt(runner, one.arguments, given) != expected:
            yield " ".join(one.arguments)


@pytest.mark.timeout(3600)
def test_all_that_xdsls_tests_show_is_the_same_in_workers(runner: Runner):
    # Names of resources are given out once in a process.
    paths = [
        path
        for path in sorted(Path(filecheck_folder()).rglob("*.*"))
        if path.suffix in (".mlir", ".test")
        and path.name not in _DIFFERS_BY_ITSELF
        and "dense_resource" not in path.read_text(errors="replace")
    ]
    assert len(paths) > 500
    assert [told for path in paths for told in differing(path, runner)] == []


def lit_results(folder: str, path: Path, tmp_path: Path) -> dict[str, str]:
    """Return how each test of xDSL ends, with a folder at the head of the PATH."""
    written = tmp_path / "results.json"
    scripts = Path(sys.executable).parent
    found = os.pathsep.join([str(path), str(scripts), os.environ["PATH"]])
    command = [scripts / "lit", "-q", "--output", written, folder]
    env = os.environ | {"PATH": found}
    subprocess.run(command, env=env, check=False, stdout=subprocess.DEVNULL)
    tests = json.loads(written.read_text())["tests"]
    return {one["name"]: one["code"] for one in tests}


@pytest.mark.timeout(7200)
def test_in_the_place_of_xdsl_opt_the_command_passes_what_that_passes(tmp_path: Path):
    own, none = tmp_path / "own", tmp_path / "none"
    own.mkdir()
    none.mkdir()
    stand_in = own / "xdsl-opt"
    stand_in.write_text(f'#!/bin/sh\nexec {sys.executable} -m parpass mlir-opt "$@"\n')
    stand_in.chmod(0o755)
    folder = filecheck_folder()
    expected = lit_results(folder, none, tmp_path)
    assert list(expected.values()).count("PASS") > 450
    assert lit_results(folder, own, tmp_path) == expected
