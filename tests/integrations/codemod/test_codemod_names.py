"""Codemods by name, and what is said of wrong names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from libcst.codemod.commands.noop import NOOPCommand

from parpass.integrations.codemod import CodemodNameError, find_codemod
from tests.support.integrations import codemods

HERE = "tests.support.integrations.codemods"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f"{HERE}.Rename", codemods.Rename),
        (f"{HERE}:Upper", codemods.Upper),
        (f"{HERE}.upper", codemods.upper),
        (HERE, codemods.Rename),  # the only command of the module
        ("noop.NOOPCommand", NOOPCommand),
        ("noop", NOOPCommand),
        ("libcst.codemod.commands.noop.NOOPCommand", NOOPCommand),
        (f"{codemods.__file__}:Rename", codemods.Rename),
    ],
)
def test_names_are_found(name: str, expected: Any):
    found = find_codemod(name)
    assert found.__qualname__ == expected.__qualname__


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (f"{HERE}.Renam", "did you mean 'Rename'?"),
        ("nop.NOOPCommand", "did you mean 'noop.NOOPCommand'?"),
        ("qqqq.Nothing", "expected MODULE.NAME"),
        (f"{HERE}.Path", "is a class, no codemod"),
        (f"{HERE}.annotations", "is of type _Feature, no codemod"),
        ("libcst.codemod.Codemod", "without 'transform_module_impl'"),
        ("nowhere.py:Name", "there is no file 'nowhere.py'"),
        ("tests.integrations.codemod", "there are: none that LibCST would run"),
    ],
)
def test_wrong_names_are_told_with_near_ones(name: str, message: str):
    with pytest.raises(CodemodNameError) as caught:
        find_codemod(name)
    assert message in str(caught.value)


def test_the_error_of_a_module_comes_first(tmp_path: Path):
    path = tmp_path / "bad_codemod.py"
    path.write_text("import no_such_package\n")
    with pytest.raises(CodemodNameError) as caught:
        find_codemod(f"{path}:Name")
    first, second = str(caught.value).split("\n")
    assert first == "ModuleNotFoundError: No module named 'no_such_package'"
    assert f"codemod '{path}' was loaded" in second


def test_without_libcst_the_extra_is_named():
    code = (
        "import sys; sys.modules['libcst'] = None\n"
        "from parpass.cli.entry import run\n"
        "sys.argv = ['parpass', 'codemod', 'noop', '.']\n"
        "run()\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert told.returncode == 2
    assert "codemod 'noop' needs libcst" in told.stderr
    assert "install 'parpass[codemod]'" in told.stderr
