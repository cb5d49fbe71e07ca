"""Builds programs of DSLs by the example, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "dsl_programs.py"

# Ends with a signal if it compiles what has a name; else it is the compiler.
KILLED_COMPILER = """#!/bin/sh
case "$*" in *{name}*.cpp*) kill -9 $$;; esac
exec g++ "$@"
"""


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return what programs in a folder run in: caches are in it, too."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (folder, EXAMPLE.parent, ROOT))),
        "PYTHONWARNINGS": "ignore",
        "GT4PY_BUILD_CACHE_LIFETIME": "persistent",
        "GT4PY_BUILD_CACHE_DIR": str(folder),
        "DACE_BUILD_CACHE_DIR": str(folder / "common"),
        **more,
    }


def start(folder: Path, *arguments: str, **env: str) -> subprocess.Popen[str]:
    """Start Python in a folder, and in a session of its own."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment(folder, **env),
        start_new_session=True,
    )


def run(folder: Path, *arguments: str, **env: str) -> tuple[int, str, str]:
    """Run Python in a folder; return its exit code and what it has told."""
    process = start(folder, *arguments, **env)
    told, failed = process.communicate(timeout=220)
    return process.returncode, told, failed


def killed_compiler(folder: Path, name: str) -> str:
    """Return a C++ compiler that is killed as it compiles what has a name."""
    path = folder / "killed_compiler"
    path.write_text(KILLED_COMPILER.format(name=name))
    path.chmod(0o755)
    return str(path)
