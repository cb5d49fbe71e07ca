"""A program that PyInstaller froze finds all of parpass, and is its own workers."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from parpass.integrations.pyinstaller import hook_dirs
from tests.support.docs.steps import snippets
from tests.support.runner.frozen import COUNTED, run_frozen

ROOT = Path(__file__).parents[3]

# What others installed here is not needed, and takes minutes to be looked through.
LEFT_OUT = [
    *("IPython", "PIL", "aiohttp", "dask", "distributed", "fastapi", "google"),
    *("hypothesis", "joblib", "libcst", "llvmlite", "matplotlib", "ml_dtypes", "mypy"),
    *("networkx", "onnx", "opentelemetry", "pandas", "pytest", "qiskit"),
    *("scipy", "sympy", "tornado", "tvm", "uvicorn", "xdsl"),
]


def test_pyinstaller_is_led_to_the_hook():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = project["entry-points"]["pyinstaller40"]["hook-dirs"]
    module, _, name = declared.partition(":")
    (folder,) = getattr(import_module(module), name)()
    assert [folder] == hook_dirs()
    assert (Path(folder) / "hook-parpass.py").is_file()


def page_program() -> str:
    (snippet, *_) = snippets(ROOT / "docs" / "frozen-programs.md")
    return snippet.text


@pytest.mark.slow
def test_the_program_of_the_page_runs_on_an_interpreter_too(tmp_path: Path):
    script = tmp_path / "compiler.py"
    script.write_text(page_program())
    ran = subprocess.run(
        [sys.executable, str(script)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert (ran.stdout, ran.stderr, ran.returncode) == ("in workers\n", "", 0)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page's program, frozen."""
    folder = tmp_path_factory.mktemp("frozen")
    script = folder / "compiler.py"
    script.write_text(COUNTED + page_program())
    command = [sys.executable, "-m", "PyInstaller", "--python-option", "hash_seed=0"]
    for name in LEFT_OUT:
        command += ["--exclude-module", name]
    built = subprocess.run(
        [*command, str(script)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder / "dist" / "compiler" / "compiler"


@pytest.mark.foreign
@pytest.mark.timeout(900)
def test_the_program_of_the_page_runs_in_two_workers(program: Path, tmp_path: Path):
    ran = run_frozen([program], tmp_path, 120)
    assert (ran.err, ran.code) == ("", 0)
    assert ran.starts == 3, "the program, and two workers"
    assert "in workers" in ran.out
