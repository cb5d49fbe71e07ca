"""The recipes of docs/recipes.md, applied word by word to a copy of the project."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.core_alone import NOT_COPIED
from tests.support.docs.steps import Edit, steps

ROOT = Path(__file__).parents[1]
MOST_FILES = 3  # besides tests, which are called so
COPIED = ["parpass", "tests", "examples", "pyproject.toml"]

_RECIPE = re.compile(r"^## (.*)$", re.MULTILINE)


class Recipe(NamedTuple):
    """What a recipe says.

    Attributes:
        files: The files that it adds, by their paths.
        insertions: What it inserts into files.
        command: The arguments of the check at its end, behind `python`.
    """

    files: dict[str, str]
    insertions: list[Edit]
    command: list[str]

    @property
    def touched(self) -> set[str]:
        """The files that are new or changed."""
        return {*self.files, *(one.file for one in self.insertions)}


def read(text: str) -> Recipe:
    recipe = Recipe({}, [], [])
    for step in steps(text):
        if isinstance(step, Edit):
            assert step.side in ("after", "before"), step
            recipe.insertions.append(step)
        elif step.kind == "console":
            prompt, python, *recipe.command[:] = shlex.split(step.text)
            assert (prompt, python) == ("$", "python")
        else:
            assert step.file, f"neither a file nor a place: {step}"
            recipe.files[step.file] = step.text
    return recipe


def recipes() -> Iterator[tuple[str, Recipe]]:
    text = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    names = list(_RECIPE.finditer(text))
    ends = [*(name.start() for name in names[1:]), len(text)]
    for name, end in zip(names, ends, strict=True):
        yield name[1], read(text[name.end() : end])


RECIPES = dict(recipes())


def apply(recipe: Recipe, folder: Path) -> None:
    for name, text in recipe.files.items():
        assert not (folder / name).exists(), name
        (folder / name).write_text(text, encoding="utf-8")
    for one in recipe.insertions:
        one.apply(folder)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in COPIED:
        there = ROOT / name
        if there.is_dir():
            shutil.copytree(there, tmp_path / name, ignore=NOT_COPIED)
        else:
            shutil.copy2(there, tmp_path / name)
    return tmp_path


def run(folder: Path, *command: str) -> str:
    ran = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_recipes_are_there() -> None:
    assert list(RECIPES) == [
        "A pass",
        "A pass on loop programs",
        "An operator",
        "An instrument",
        "A limit of passes",
        "A placement rule",
        "An observer of runs",
        "A figure of runs",
        "A message",
    ]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_touches_few_files_besides_its_test(name: str) -> None:
    touched = RECIPES[name].touched
    tests = {one for one in touched if "/test_" in one or "/cases/" in one}
    assert len(tests) == 1
    assert len(touched - tests) <= MOST_FILES


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_green_where_it_is_applied(name: str, copy: Path) -> None:
    recipe = RECIPES[name]
    apply(recipe, copy)
    where = run(copy, "-c", "import parpass; print(parpass.__file__)")
    assert Path(where.strip()).is_relative_to(copy)
    told = run(copy, *recipe.command, "-n", "0", "-q", "-p", "no:cacheprovider")
    assert re.search(r"^\d+ passed", told, re.MULTILINE), told
