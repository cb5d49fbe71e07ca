"""The core works with the embedded compiler, integrations and command taken away.

A part of its tests is run here, and `.ci/run` runs all of them so.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.core_alone import (
    ABOUT_OTHERS,
    make_core,
    run_tests,
)

pytestmark = pytest.mark.slow

IMPORT_ALL = """\
import importlib, pathlib, pkgutil, parpass
assert pathlib.Path(parpass.__file__).parents[1] == pathlib.Path.cwd()
for one in pkgutil.walk_packages(parpass.__path__, "parpass."):
    if one.name != "parpass.__main__":
        importlib.import_module(one.name)
from parpass import PassContext, Sequential, open_runner, register_adapter
"""

# Serial and parallel runs, hooks, options, pipeline text, isolated runs.
PART = (
    *("tests/instrument", "tests/transform/plan", "tests/transform/pipeline"),
    *("tests/runner/test_hooks.py", "tests/runner/test_isolated.py"),
)


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("core")
    make_core(folder)
    return folder


def test_all_modules_of_the_core_are_imported_without_the_others(core: Path):
    subprocess.run([sys.executable, "-c", IMPORT_ALL], cwd=core, check=True)


def test_tests_of_the_core_pass_in_this_process_and_in_workers(core: Path):
    result = run_tests(core, [*PART, "-n0", "-m", "not slow and not stress"])
    assert result.returncode == 0, result.stdout


def test_what_is_declared_to_need_more_does(core: Path):
    result = run_tests(core, ["--collect-only", "-n0", *ABOUT_OTHERS], declared=False)
    cannot = {
        line.split()[1] for line in result.stdout.splitlines() if "ERROR " in line
    }
    assert set(ABOUT_OTHERS) <= cannot
