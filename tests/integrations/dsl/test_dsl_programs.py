"""The example of DSL compilers: what it finds and refuses, with them or without."""

from __future__ import annotations

import runpy
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from parpass.errors.warning import AdapterWarning

EXAMPLE = Path(__file__).parents[3] / "examples" / "dsl_programs.py"


@pytest.fixture(name="example", scope="module")
def fixture_example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


@pytest.mark.parametrize("dsl", ["gt4py", "dace"])
def test_without_the_compiler_its_extra_is_named(
    dsl: str, example: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    def version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    with pytest.raises(SystemExit, match=rf"pip install 'parpass\[{dsl}\]'"):
        example["main"]([dsl, "programs"])


def test_a_version_that_was_not_tested_is_told(
    example: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(metadata, "version", {"dace": "3.0"}.__getitem__)
    expected = r"parpass was tested with dace 2\.0\.0a10 and 2\.0\.0b1, not 3\.0"
    with pytest.warns(AdapterWarning, match=expected):
        example["check_installed"]("dace")


def test_what_would_not_be_kept_is_refused(
    example: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(metadata, "version", {"gt4py": "1.1.12"}.__getitem__)
    monkeypatch.setenv("GT4PY_BUILD_CACHE_LIFETIME", "session")
    with pytest.raises(SystemExit, match="GT4PY_BUILD_CACHE_LIFETIME=persistent"):
        example["check_installed"]("gt4py")


def test_programs_are_found_in_a_package_that_is_only_read(
    tmp_path: Path, example: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "a_package_of_programs"
    folder.mkdir()
    (folder / "__init__.py").write_text("@program\ndef first(a):\n    pass\n")
    (folder / "more.py").write_text(
        "raise SystemExit\n"
        "@dsl.field_operator\ndef no(a):\n    pass\n"
        "@dsl.program(backend=b)\ndef second(a):\n    pass\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    found = example["find"](folder.name).functions
    assert [*found] == [f"{folder.name}.first", f"{folder.name}.more.second"]


def test_a_module_that_is_not_there_is_a_clear_error(
    example: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(metadata, "version", {"dace": "2.0.0b1"}.__getitem__)
    with pytest.raises(SystemExit) as ended:
        example["main"](["dace", "no_such_module"])
    assert ended.value.code == 2
    assert "No module named 'no_such_module'" in capsys.readouterr().err
