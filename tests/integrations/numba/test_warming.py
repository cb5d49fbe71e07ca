"""Numba's functions, compiled by workers into Numba's own cache."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.other_processes import until

pytestmark = pytest.mark.foreign

# The helper is called with integers, whose product would be another: it has overflows.
HELPERS = """
from numba import njit

@njit("f8(f8)", cache=True)
def square(x):
    return x * x + {number}
"""
KERNELS = """
import helpers
import numpy as np
from helpers import square
from numba import njit

@njit("f8(i8)", cache=True)
def direct(n):
    return square(n)

@njit("f8(i8)", cache=True)
def by_module(n):
    return helpers.square(n) + 1

@njit(["f8(f8)", "f4(f4)"], cache=True)
def twice(x):
    return x + x {operation}

@njit("i8(i8)", cache=True)
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)

@njit("f8(f8)")
def left(x):
    return x

@njit(cache=True)
def later(x):
    return twice(x) + 1.0
"""
# Imports the modules, and tells what they gave and what was not in the cache.
USE = """
import json, kernels
misses = [name for name, one in vars(kernels).items()
          if hasattr(one, "stats") and sum(one.stats.cache_misses.values())]
k = kernels
print(json.dumps([misses, [k.direct(2**40), k.by_module(2**40), k.twice(1.5),
                           k.factorial(5), k.later(2.0)]]))
"""
WARM = """
import sys
from parpass.integrations import numba as pn
assert "kernels" not in sys.modules
result = pn.warm("kernels", workers=int(sys.argv[1]))
assert "kernels" not in sys.modules
import json
told = [sorted(result.compiled), sorted(result.loaded), result.left, result.in_order]
print(json.dumps(told))
"""
KEPT = ["direct", "by_module", "factorial", "twice"]
NAMES = sorted(["helpers.square", *(f"kernels.{name}" for name in KEPT)])


class Project:
    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "cache"
        self.write(number=0)

    def write(self, *, number: int = 0, operation: str = "") -> None:
        """Write modules; they get another length, if not another time."""
        (self.folder / "helpers.py").write_text(HELPERS.format(number=number))
        (self.folder / "kernels.py").write_text(KERNELS.format(operation=operation))

    def add(self, text: str) -> None:
        with (self.folder / "kernels.py").open("a") as file:
            file.write(text)

    def start(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            cwd=self.folder,
            env={**os.environ, "NUMBA_CACHE_DIR": str(self.cache)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, program: str, *arguments: str) -> Any:
        process = self.start(program, *arguments)
        out, errors = process.communicate(timeout=200)
        assert process.returncode == 0, errors
        return json.loads(out)

    def fail(self, program: str, *arguments: str) -> str:
        process = self.start(program, *arguments)
        _, errors = process.communicate(timeout=200)
        assert process.returncode != 0
        return errors


@pytest.fixture
def project(tmp_path: Path) -> Project:
    pytest.importorskip("numba")
    return Project(tmp_path)


def test_the_import_loads_what_workers_compiled(project: Project) -> None:
    serial = project.run(USE)[1]
    expected = [float(2**80), float(2**80) + 1, 3.0, 120, 5.0]
    assert serial == expected
    project.cache = project.folder / "other"
    assert project.run(WARM, "2") == [NAMES, [], ["kernels.left"], False]
    assert project.run(USE) == [["left"], serial]
    assert project.run(WARM, "2") == [[], NAMES, ["kernels.left"], False]


def test_what_changed_is_compiled_again_and_no_other(project: Project) -> None:
    project.run(WARM, "2")
    project.write(number=1000)
    compiled, *_ = project.run(WARM, "2")
    assert compiled == ["helpers.square", "kernels.by_module", "kernels.direct"]
    assert project.run(USE)[1][0] == float(2**80 + 1000)
    project.write(number=1000, operation="+ 1")
    assert project.run(WARM, "2")[0] == [n for n in NAMES if n != "helpers.square"]
    assert project.run(USE)[1][2] == 4.0


def test_a_function_that_fails_is_named_with_its_signature(project: Project) -> None:
    project.add('\n@njit("f8(f8)", cache=True)\ndef bad(x):\n    return x + "a"\n')
    errors = project.fail(WARM, "2")
    assert "in function 'kernels.bad' with signature 'f8(f8)', " in errors
    assert errors.index("TypingError") < errors.index("in function 'kernels.bad'")


def test_a_module_that_calls_its_functions_is_imported_as_it_is(
    project: Project,
) -> None:
    project.add("\nassert direct(2**40) == 2.0**80\n")
    assert project.run(WARM, "2")[3] is True
    assert project.run(USE)[0] == ["left"]


def test_two_processes_that_warm_leave_the_cache_whole(project: Project) -> None:
    both = [project.start(WARM, "2") for _ in range(2)]
    told = [one.communicate(timeout=200) for one in both]
    assert [one.returncode for one in both] == [0, 0], told
    compiled = [name for out, _ in told for name in json.loads(out)[0]]
    assert sorted(compiled) == NAMES
    assert project.run(USE)[0] == ["left"]


def test_by_default_no_more_processes_compile_than_may_run_at_once(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert project.run(
        "from parpass.integrations import numba as pn; "
        "print('true' if pn.warm('helpers').in_order else 'false')"
    )


def test_a_worker_that_dies_costs_only_time(project: Project) -> None:
    project.add(
        "\nimport os\nfrom numba.extending import overload\n"
        "def deadly(x): pass\n"
        "@overload(deadly)\n"
        "def _(x):\n"
        "    try: os.mkdir('died')\n"
        "    except FileExistsError: return lambda x: x\n"
        "    os._exit(9)\n"
        '@njit("f8(f8)", cache=True)\ndef kills(x):\n    return deadly(x)\n'
    )
    result = project.run(WARM, "2")
    assert result[3] is True
    assert (project.folder / "died").exists()
    assert project.run(USE)[0] == ["left"]


def test_calls_that_were_recorded_are_compiled(project: Project) -> None:
    project.run(
        "import json, kernels; from parpass.integrations.numba import record; "
        "kernels.later(2.0); print(record('kernels'))"
    )
    project.write(operation="- 0")
    assert "kernels.later" in project.run(WARM, "2")[0]
    misses, values = project.run(
        USE.replace("import json, kernels", "import json, kernels; kernels.later(2.0)")
    )
    assert misses == ["left"]
    assert values[4] == 5.0


def test_ctrl_c_leaves_no_process(project: Project) -> None:
    project.add(
        "\nimport os, time\nfrom numba.extending import overload\n"
        "def slow(x): pass\n"
        "@overload(slow)\n"
        "def _(x):\n"
        "    os.write(os.open('at', os.O_WRONLY), str(os.getpid()).encode())\n"
        "    time.sleep(100)\n"
        '@njit("f8(f8)", cache=True)\ndef waits(x):\n    return slow(x)\n'
    )
    os.mkfifo(project.folder / "at")
    process = project.start(WARM, "2")
    with (project.folder / "at").open() as told:
        worker = int(os.read(told.fileno(), 20))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=100)
    assert errors.endswith("KeyboardInterrupt\n")
    until(lambda: not _is_alive(worker))


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
