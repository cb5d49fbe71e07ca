"""The group: closed streams, and subcommands, shipped and of other distributions."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import click
import pytest

from parpass import __version__
from parpass.cli import main
from parpass.cli.group import ENTRY_POINTS, SHIPPED
from tests.support.cli.calling import command as parpass
from tests.support.cli.commands import write_model
from tests.support.cli.distributions import install


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "relu.onnx", "Relu")


def shell(line: str, model: Path) -> subprocess.CompletedProcess[str]:
    """Run a line in which `parpass` and `MODEL` stand for themselves."""
    line = line.replace("parpass", f"{sys.executable} -m parpass", 1)
    return subprocess.run(
        ["sh", "-c", line.replace("MODEL", str(model))],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
        timeout=200,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("parpass opt MODEL >&-", 2, "Error: cannot write: standard output is closed"),
        ("parpass opt - <&-", 2, "Error: cannot read: standard input is closed"),
        ("parpass opt MODEL -o /dev/null >&- <&-", 0, ""),
        ("parpass opt --list-passes | head -n 1 >/dev/null", 0, ""),
    ],
)
def test_a_closed_stream_is_told_in_a_line(
    line: str, code: int, message: str, model: Path
):
    result = shell(line, model)
    assert (result.returncode, result.stderr.strip()) == (code, message)


@pytest.mark.slow
def test_without_standard_error_what_would_be_said_is_dropped(model: Path):
    flags = "-p InferType --timing --explain-speed --statistics --print-ir-after-all"
    result = shell(f"parpass opt MODEL {flags} 2>&-", model)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("def @main")
    failed = shell("parpass opt MODEL --nope 2>&-", model)
    assert (failed.returncode, failed.stdout) == (2, "")


@pytest.mark.slow
def test_a_file_does_not_take_the_number_of_a_closed_stream(
    model: Path, tmp_path: Path
):
    passes = tmp_path / "writing.py"
    passes.write_text("import os\nos.system('echo not for the file >&2')\n")
    out = tmp_path / "out.relay"
    shell(f"parpass opt MODEL --load {passes} -o {out} 2>&- >&- <&-", model)
    assert out.read_text().startswith("def @main")
    assert "not for the file" not in out.read_text()


ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=120,
    )


@pytest.mark.slow
def test_standard_output_is_the_ir_alone(tmp_path: Path):
    path = str(write_model(tmp_path / "m.onnx", "Relu", "Tanh"))
    result = run("-m", "parpass", "opt", path, "-p", "InferType", "--timing")
    assert result.returncode == 0, result.stderr
    assert result.stdout == (
        "def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {\n"
        "  %0 = nn.relu(%x);\n"
        "  tanh(%0)\n"
        "}\n"
    )
    assert "Time of passes" in result.stderr


@pytest.mark.slow
def test_a_usage_error_ends_with_2():
    result = run("-m", "parpass", "opt", "nowhere.onnx")
    assert (result.returncode, result.stdout) == (2, "")
    assert "'nowhere.onnx' does not exist" in result.stderr


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path):
    path = write_model(tmp_path / "m.onnx", *["Relu"] * 2000)
    with subprocess.Popen(
        [sys.executable, "-m", "parpass", "opt", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def loaded_by(program: str) -> tuple[str, set[str]]:
    """Return what a program writes, and the modules that it loads."""
    at_exit = "import atexit, sys; atexit.register(lambda: print(*sys.modules));"
    result = run("-c", at_exit + program)
    assert result.returncode == 0, result.stderr
    *lines, modules = result.stdout.splitlines()
    return "\n".join(lines), set(modules.split())


HEAVY = {"numpy", "onnx", "rich", "trio", "loky", "parpass.relay"}
COMMANDS = {f"parpass.cli.commands.{name.replace('-', '_')}" for name in SHIPPED}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "shown"), [("--version", __version__), ("--help", "Commands:")]
)
def test_version_and_help_import_little_and_no_subcommand(option: str, shown: str):
    program = f"from parpass.cli import main; main([{option!r}], prog_name='parpass')"
    written, modules = loaded_by(program)
    assert shown in written
    assert not (HEAVY | COMMANDS | {"parpass.transform"}) & modules


@pytest.mark.slow
def test_the_help_of_subcommands_imports_little():
    written, modules = loaded_by(
        "from parpass.cli import main\n"
        f"for name in {[*SHIPPED]!r}:\n"
        "    main([name, '--help'], prog_name='parpass', standalone_mode=False)"
    )
    assert written.count("Exit codes:") == len(SHIPPED)
    assert not (HEAVY | {"parpass.transform", "parpass.cli.operations"}) & modules
    assert modules >= COMMANDS


COUNT = '''\
"""A subcommand with the options and the readers that the shipped ones have."""

from pathlib import Path

import click

from parpass.cli.files.reading import read_module
from parpass.cli.options import shared
from parpass.cli.options.structs import command, option_struct
from parpass.transform import adapter_of


@option_struct
class CountOptions:
    file: Path = shared.program()
    ir: str | None = shared.ir()
    loaded: list[str] = shared.load()


@command(CountOptions)
def count(given: CountOptions) -> None:
    """Count the functions of a program.

    INPUT is what parpass opt reads.
    """
    mod = read_module(given.file, ir=given.ir)
    click.echo(len(adapter_of(mod, "count").functions(mod)))
'''
MODULES = {
    "counting_command": COUNT,
    "failing_command": "raise RuntimeError('not today')\n",
    "other_command": "made = 3\n",
}
NAMES = {
    "count": "counting_command:count",
    "broken": "failing_command:main",
    "number": "other_command:made",
    "opt": "failing_command:main",  # a shipped command keeps its name
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which a distribution is installed that has subcommands."""
    return install(
        tmp_path / "installed",
        "counting",
        modules=MODULES,
        entry_points={ENTRY_POINTS: NAMES},
    )


@pytest.fixture
def on_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])


@pytest.mark.slow
def test_a_distribution_that_is_installed_adds_a_subcommand(
    folder: Path, tmp_path: Path
):
    (tmp_path / "two.relay").write_text("def @f() { 1 }\ndef @g() { 2 }\n")
    ran = subprocess.run(
        [sys.executable, "-m", "parpass", "count", "two.relay"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])},
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "2\n", "")


@pytest.mark.usefixtures("on_path")
def test_its_errors_are_those_of_the_shipped_ones(
    tmp_path: Path,
):
    (tmp_path / "wrong.relay").write_text("def @f() { ")
    result = parpass("count", str(tmp_path / "wrong.relay"))
    assert result.exit_code == 2
    assert "wrong.relay" in result.stderr
    assert "--ir NAME" in parpass("count", "--help").stdout


@pytest.mark.usefixtures("on_path")
def test_help_shows_it_beside_the_shipped_ones_and_what_cannot_be_loaded():
    shown = " ".join(parpass("--help").stdout.split())
    assert "count Count the functions of a program. diff Compare two" in shown
    assert "broken (command 'broken' of 'counting' cannot be loaded: Runt" in shown
    assert f"opt {SHIPPED['opt']}" in shown


@pytest.mark.usefixtures("on_path")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("broken", "of 'counting' cannot be loaded: RuntimeError: not today"),
        ("number", "expected a click.Command at 'other_command:made', got a int"),
        ("coumt", "No such command 'coumt'. Did you mean 'count'?"),
    ],
)
def test_what_is_no_command_is_told(name: str, why: str):
    result = parpass(name)
    assert result.exit_code == 2
    assert why in " ".join(result.stderr.split())


@pytest.mark.usefixtures("on_path")
def test_a_shell_is_offered_those_that_can_be_loaded():
    context = click.Context(main, resilient_parsing=True)
    offered = [item.value for item in main.shell_complete(context, "")]
    assert {"count", "opt"} <= set(offered)
    assert "broken" not in offered


def test_the_shipped_ones_are_those_that_pyproject_declares():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = project["entry-points"][ENTRY_POINTS]
    assert set(declared) == set(SHIPPED)
    context = click.Context(main)
    for name, value in declared.items():
        entry_point = EntryPoint(name, value, ENTRY_POINTS)
        assert entry_point.load() is main.get_command(context, name)


def test_a_program_in_place_of_a_subcommand_is_told_where_it_goes():
    result = parpass(__file__)
    assert result.exit_code == 2
    assert ("to run passes on a program, use 'parpass opt'") in " ".join(
        result.stderr.split()
    )
