"""IRs that no other process can import: their code is anywhere in functions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

IR = """
import enum
import functools
import os
import types
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from parpass.transform import FunctionPass, ModuleAdapter, PassInfo, register_adapter

@dataclass(frozen=True)
class Leaf:
    value: int

@dataclass(frozen=True)
class Fn:
    body: Any

class Kind(enum.Enum):
    EVEN = 0
    ODD = 1

class OwnWarning(UserWarning):
    pass

def double(value):
    return 2 * value

@functools.cache
def cached(value):
    return 3 * value

def local():
    class Local:
        pass
    return Local, lambda value: value

LOCAL = local()

# By the class of functions: how one is made of a value and of what it had before.
SHAPES = {
    Fn: lambda *parts: Fn(parts),
    tuple: lambda *parts: parts,
    dict: lambda *parts: dict(enumerate(parts)),
    types.SimpleNamespace: lambda *parts: types.SimpleNamespace(parts=parts),
}

@dataclass(frozen=True)
class Program:
    functions: Mapping[str, Any]

class Adapter(ModuleAdapter):
    module_type = Program
    function_type = Fn | tuple | dict | types.SimpleNamespace
    def size(self, function, limit):
        return 1

register_adapter(Program, Adapter())

class Grow(FunctionPass):
    pass_info = PassInfo(0, "Grow")
    def transform_function(self, func, mod, ctx):
        warnings.warn(OwnWarning("grown"), stacklevel=1)
        return SHAPES[type(func)](func, Leaf(7), Kind.ODD)

def programs():
    for make in SHAPES.values():
        for parts in [
            (Leaf(1), Kind.EVEN), (Leaf, Kind), (double,), (cached,), LOCAL
        ]:
            yield Program({name: make(name, *parts) for name in "abc"})
"""

RUNS = """
import sys
import parpass
from tests.support.runner.pooled import pooled

def main(ir):
    # No run goes on here: that would warn.
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "This process .* is multi-threaded")
    warnings.filterwarnings("ignore", category=ir.OwnWarning)
    steps = [ir.Grow(), ir.Grow()]
    with parpass.open_runner(workers=2) as runner, pooled():
        for given in ir.programs():
            expected = steps[1](steps[0](given))
            reports = []
            found = runner.run_sync(given, steps, report=reports.append)
            assert found == expected, (found, expected)
            assert all(one.busy > 0 for one in reports)
    found = parpass.run_pipeline_sync(given, steps, workers=1, isolated=True)
    assert found == expected, (found, expected)
    print("done")
"""

OF_MAIN = "if __name__ == '__main__':\n    main(sys.modules[__name__])\n"

BY_PATH = """
import importlib.util
import warnings

def load():
    spec = importlib.util.spec_from_file_location("an_ir_by_path", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    sys.modules["an_ir_by_path"] = module
    spec.loader.exec_module(module)
    if sys.argv[2] == "unknown":
        del sys.modules["an_ir_by_path"]
    return module

if __name__ == '__main__':
    main(load())
"""


def run(*args: str | Path) -> None:
    """Run a script; expect success."""
    command = [sys.executable, *map(str, args)]
    ended = subprocess.run(
        command,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr


def test_an_ir_of_the_main_script(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(IR + RUNS + OF_MAIN)
    run(script)


@pytest.mark.parametrize("kept", ["known", "unknown"])
def test_an_ir_that_was_loaded_by_its_path(tmp_path: Path, kept: str):
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "ir.py").write_text(IR)
    script = tmp_path / "script.py"
    script.write_text(RUNS + BY_PATH)
    run(script, tmp_path / "hidden" / "ir.py", kept)
