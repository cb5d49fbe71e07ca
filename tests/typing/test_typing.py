"""What type checkers infer for a user's code: the other files here are checked by them.

They state it by `assert_type`, and by comments that ignore an error that there must be.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SEEN_BY_PYRIGHT_ALONE = {"decorated_classes.py"}  # mypy takes no class for another


def check(*command: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", *command],
        capture_output=True,
        text=True,
        check=False,
        cwd=HERE.parents[1],
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def files() -> list[str]:
    return sorted(str(path) for path in HERE.glob("*.py") if path != Path(__file__))


@pytest.mark.slow
def test_pyright_infers_what_is_stated():
    check("pyright", "--pythonpath", sys.executable, *files())


@pytest.mark.slow
def test_mypy_infers_what_is_stated():
    seen = [one for one in files() if Path(one).name not in SEEN_BY_PYRIGHT_ALONE]
    check("mypy", "--strict", *seen)
