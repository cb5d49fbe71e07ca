"""A new project is whole: its tests pass, its command runs, `parpass` reads it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from parpass.cli.group import main
from tests.support.cli.distributions import install

ROOT = Path(__file__).parents[3]


def new(*args: str | Path) -> Result:
    return CliRunner().invoke(main, ["new", *map(str, args)])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a project that was made, installed as pip does for editable ones."""
    folder = tmp_path_factory.mktemp("projects") / "made"
    result = new("tiny-lang", "--into", folder, "--suffix", ".tiny")
    assert result.exit_code == 0, result.output
    declared = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    install(folder, "tiny-lang", modules={}, entry_points=declared["entry-points"])
    return folder


def python(project: Path, *args: str | Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), str(project)])
    return subprocess.run(
        [sys.executable, *args],
        cwd=project,
        env={**os.environ, "PYTHONPATH": path, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_its_tests_pass(project: Path):
    ran = python(project, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:xdist")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " passed" in ran.stdout


@pytest.mark.slow
def test_its_programs_are_compiled_by_its_command_and_by_parpass(project: Path):
    compiled = python(project, "-m", "tiny_lang", "programs/first.tiny")
    assert compiled.stdout.splitlines()[1] == "def square(x) = x * x"
    passes = "FoldConstants,DropUnused"
    made = python(project, "-m", "parpass", "opt", "programs/first.tiny", "-p", passes)
    assert made.stdout == compiled.stdout, made.stderr
    told = python(
        project, "-m", "parpass", "explain", "FoldConstants", "--ir", "tiny_lang"
    )
    assert told.stdout.startswith("FoldConstants: a function pass"), told.stderr


@pytest.mark.slow
def test_parpass_knows_its_pipeline_which_keeps_the_contract(project: Path):
    opt = "-m", "parpass", "opt", "programs/first.tiny"
    compiled = python(project, "-m", "tiny_lang", "programs/first.tiny")
    for options in (["-O2"], ["-p", "tiny_lang", "--check-contract"]):
        made = python(project, *opt, *options)
        assert made.stdout == compiled.stdout
        told = made.stderr.splitlines()  # of its progress, where it takes long
        assert [line for line in told if not line.startswith("Progress: ")] == []
    listed = python(project, *opt, "--list-passes", "--ir", "tiny_lang").stdout
    rows = [line for line in listed.splitlines() if line.startswith("  ")]
    names = [row.split()[0] for row in rows if row[2] != " "]
    assert names == ["PrintIR", "DropUnused", "FoldConstants", "tiny_lang"]
    told = python(project, *opt, "--help-pass", "DropUnused").stdout
    assert told.startswith("DropUnused: a module pass")


_SPOILS = """\
from dataclasses import replace

from parpass.transform import function_pass, register_pass


@register_pass("test.Spoil")
@function_pass(opt_level=0)
def spoil(func, mod, ctx):
    return replace(func, body=None)
"""


@pytest.mark.slow
def test_its_rules_are_checked_after_each_pass(project: Path):
    (project / "spoils.py").write_text(_SPOILS)
    opt = "-m", "parpass", "opt", "programs/first.tiny", "--load", "spoils.py"
    ran = python(project, *opt, "-p", "Spoil", "--verify-each")
    assert ran.returncode == 1
    assert "a NoneType is no expression" in ran.stderr


@pytest.mark.slow
def test_two_projects_live_in_one_process(project: Path, tmp_path: Path):
    assert new("other_lang", "--into", tmp_path / "other").exit_code == 0
    program = "import sys, tiny_lang.pipeline; sys.path.append(sys.argv[1]); "
    ran = python(
        project, "-c", f"{program}import other_lang.pipeline", tmp_path / "other"
    )
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.slow
def test_an_error_in_a_program_is_told_with_its_place_by_both(project: Path):
    (project / "wrong.tiny").write_text("def main() = 1 +\n")
    for command in (["tiny_lang"], ["parpass", "opt"]):
        ran = python(project, "-m", *command, "wrong.tiny")
        assert ran.returncode != 0
        assert "expected a name, got the end of the text" in ran.stderr
        assert "wrong.tiny:2:1" in ran.stderr


def test_it_has_nothing_of_the_names_that_it_is_made_from(project: Path):
    texts = [
        one.read_text()
        for one in project.rglob("*")
        if one.suffix != ".pyc" and one.is_file()
    ]
    for word in ("my_compiler", "my-compiler", "mylang", "@VERSION@"):
        assert not any(word in text for text in texts)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["9lives"], "expected a name of small letters, digits and underscores"),
        (["Mine"], "expected a name of small letters, digits and underscores"),
        (["json"], "'json' is already the name of Python"),
        (["class"], "'class' is already the name of Python"),
        (["parpass"], "'parpass' is already the name of parpass"),
        (["relay"], "'relay' is already the name of parpass, or of an IR"),
        (["mlir"], "'mlir' is already the name of parpass, or of an IR"),
        (["numpy"], "'numpy' is already the name of a package that parpass needs"),
        (["numpy", "--suffix", ".toy"], "choose another, such as 'numpy_compiler'"),
        (["trio"], "'trio' is already the name of a package that parpass needs"),
        (
            ["apache-tvm"],
            "'apache-tvm' is already the name of a package that parpass needs",
        ),
        (["tests"], "'tests' is already the name of"),
        (["programs"], "'programs' is already the name of a folder of the project"),
        (["re-lay"], "got '.relay', which is that of IR 'relay'"),
        (["toy", "--suffix", ".mlir"], "got '.mlir', which is that of IR 'mlir'"),
        (["toy", "--suffix", ".npz"], "which is that of files of other kinds"),
        (["toy", "--suffix", ".Toy"], "expected a suffix of small letters"),
        (["toy", "--suffix", ".onnx"], "expected a suffix of its own"),
        (["toy", "--suffix", "toy"], "expected a suffix of small letters"),
    ],
)
def test_names_that_cannot_be_used_are_told_and_nothing_is_made(
    args: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    result = new(*args)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not [*tmp_path.iterdir()]


def test_what_is_there_is_left_alone(tmp_path: Path):
    file, empty, full = (tmp_path / name for name in ("file", "empty", "full"))
    file.write_text("mine")
    empty.mkdir()
    full.mkdir()
    (full / "mine").write_text("mine")
    assert new("toy", "--into", empty).exit_code == 0
    assert (empty / "toy" / "ir.py").exists()
    for folder in (file, full, file / "within"):
        result = new("toy", "--into", folder)
        assert result.exit_code == 2
        assert str(folder) in result.stderr
    assert file.read_text() == "mine"
    assert [one.name for one in full.iterdir()] == ["mine"]
    assert {one.name for one in tmp_path.iterdir()} == {"file", "empty", "full"}
