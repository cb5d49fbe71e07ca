"""What a package index is given: built, installed and used as its users do."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from email import message_from_string
from email.message import Message
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support.docs.steps import snippets

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.stress


def run(*command: str | Path, cwd: Path) -> str:
    ran = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the source distribution, and the wheel made of it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="module", params=["whl", "tar.gz"], ids=["wheel", "source"])
def python(
    request: pytest.FixtureRequest,
    built: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Return the Python of a new environment that has a distribution and its extras."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=True)
    (given,) = built.glob(f"*.{request.param}")
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", f"{given}[onnx]", cwd=folder)
    return python


def metadata(built: Path) -> Message:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        (info,) = (one for one in archive.getnames() if one.endswith("/PKG-INFO"))
        file = archive.extractfile(info)
        assert file is not None
        return message_from_string(file.read().decode())


def test_the_source_distribution_has_every_file(built: Path) -> None:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    tracked = run("git", "ls-files", cwd=ROOT).splitlines()
    assert {*tracked} <= found | {".gitignore"}


def test_the_page_of_the_index_has_no_links_that_lead_nowhere(built: Path) -> None:
    page = str(metadata(built).get_payload())
    assert page.startswith("# parpass")
    assert "(docs/support.md)" in page
    assert not re.findall(r"\]\((?!https?:)", page)


def test_systems_and_pythons_are_stated(built: Path) -> None:
    told = metadata(built).get_all("Classifier") or []
    for wanted in (
        *("Operating System :: POSIX :: Linux", "Operating System :: MacOS"),
        *("Operating System :: Microsoft :: Windows", "Typing :: Typed"),
        *(f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)),
    ):
        assert wanted in told


def test_the_program_of_the_readme_runs(python: Path, tmp_path: Path) -> None:
    (snippet,) = snippets(ROOT / "README.md")
    program = tmp_path / "program.py"
    program.write_text(snippet.text)
    assert run(python, program, cwd=tmp_path) == "999\n"
    where = run(python, "-c", "import parpass; print(parpass.__file__)", cwd=tmp_path)
    assert "site-packages" in where


def test_the_wheel_has_every_file(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    tracked = run("git", "ls-files", "parpass", cwd=ROOT).splitlines()
    assert {*tracked} <= {*zipfile.ZipFile(wheel).namelist()}


def test_files_that_are_no_python_are_read(python: Path, tmp_path: Path) -> None:
    program = """if True:
        import parpass.relay
        print(parpass.transform.parse_pipeline("InferType"))
    """
    printed = run(python, "-c", program, cwd=tmp_path)
    assert "InferType" in printed


def test_the_command_is_there(python: Path, tmp_path: Path) -> None:
    program = tmp_path / "a.relay"
    program.write_text("def @main(%x: float32) { add(%x, add(1f, 1f)) }")
    command = python.with_name("parpass")
    assert "add(%x, 2f)" in run(
        command, "opt", program, "-p", "InferType,FoldConstant", "-j2", cwd=tmp_path
    )
    assert version("parpass") in run(command, "--version", cwd=tmp_path)


def test_type_checkers_find_its_types(python: Path, tmp_path: Path) -> None:
    project = ROOT / "tests" / "typing" / "users_project.py"
    run(
        *(sys.executable, "-m", "mypy", "--strict", "--python-executable", python),
        *("--cache-dir", tmp_path / "cache", project),
        cwd=tmp_path,
    )
