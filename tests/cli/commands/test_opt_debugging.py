"""The options of `parpass opt` for passes that go wrong."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from parpass.cli.options.shared import ByteSize
from parpass.errors import BudgetWarning
from tests.support.cli.calling import command, place_in
from tests.support.relay import breaking
from tests.support.relay.breaking import PROGRAM


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.relay"
    path.write_text(PROGRAM)
    return path


def test_a_reproducer_is_written_and_named(model: Path, tmp_path: Path):
    path = tmp_path / "failure.txt"
    result = command("opt", "-j0", model, "-p", "FailOnExp", "--reproducer", path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"  reproducer: {path}\n" in result.stderr
    assert path.read_text().startswith("// parpass reproducer")


@pytest.mark.parametrize("jobs", ["-j0", "-j2"])
def test_passes_of_a_file_that_was_loaded_are_run(
    model: Path, tmp_path: Path, jobs: str
):
    path = tmp_path / f"loaded{jobs[-1]}.py"
    path.write_text(
        "from parpass.transform import function_pass, register_pass\n"
        f"@register_pass('test.FromFile{jobs[-1]}')\n"
        "@function_pass(opt_level=0)\n"
        "def passing(func, mod, ctx):\n"
        "    ctx.count('seen')\n"
        "    return func\n"
    )
    result = command(
        *("opt", jobs, model, "--load", path, "-p", f"FromFile{jobs[-1]}"),
        *("--statistics", "--config", "parpass.asking_workers_seconds=0"),
    )
    assert result.exit_code == 0, result.output
    assert result.stderr.split()[-3:] == ["passing", "seen", "4"]


@pytest.mark.parametrize("name", ["tests.nowhere", "nowhere.py"])
def test_what_cannot_be_loaded_is_an_input_error(model: Path, name: str):
    result = command("opt", model, "--load", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no " in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--opt-bisect", "3-1"], "'--opt-bisect': invalid config value"),
        (["--opt-bisect", "1", "--opt-bisect-limit", "1"], "exclude each other"),
        (["--opt-bisect-limit", "-2"], "-2 is not in the range"),
    ],
)
def test_wrong_numbers_are_usage_errors(
    model: Path, arguments: list[str], complaint: str
):
    result = command("opt", "-j0", model, "-p", "FoldConstant", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert complaint in result.stderr


@pytest.mark.parametrize("jobs", ["-j0", "-j2"])
def test_the_first_function_that_a_pass_failed_on_is_named(tmp_path: Path, jobs: str):
    path = tmp_path / "many.relay"
    one = "def @f{}(%x: Tensor[(2), float32]) {{ exp(%x) }}"
    path.write_text("\n".join(one.format(at) for at in range(13)))
    result = command("opt", jobs, path, "-p", "FailOnExp")
    assert result.stderr.splitlines() == [
        "Error: ValueError: no exp",
        "  in pass 'FailOnExp', on function 'f0'",
        f"  where: {place_in(breaking.FailOnExp)}; --traceback shows all",
    ]


@pytest.mark.slow
def test_a_pass_that_hangs_is_skipped(model: Path, tmp_path: Path):
    pipeline = ["-p", "OverspendOnExp", "--function-timeout=0.3"]
    arguments = ["opt", "-j2", model, *pipeline]
    result = command(*arguments, "--on-failure=skip")
    assert (result.exit_code, result.stdout) == (0, command("opt", model).stdout)
    assert "warning: pass 'OverspendOnExp' was skipped" in result.stderr


def test_what_cannot_be_enforced_is_said_in_a_line(
    model: Path, monkeypatch: pytest.MonkeyPatch
):
    def show(*args: Any) -> None:  # pytest keeps warnings to itself
        sys.stderr.write(warnings.formatwarning(*args))

    monkeypatch.setattr(warnings, "showwarning", show)
    with warnings.catch_warnings():
        warnings.simplefilter("always", BudgetWarning)
        result = command("opt", "-j0", model, "-p", "FailOnExp", "--memory-limit=1G")
    first, *_ = result.stderr.splitlines()
    assert first.startswith("Warning: memory_limit is enforced only in workers")


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ("4096", 4096),
        ("512M", 512 << 20),
        ("2G", 2 << 30),
        ("1.5gib", 3 << 29),
        ("8 KB", 8192),
        ("7B", 7),
    ],
)
def test_memory_is_given_in_bytes_or_greater_units(given: str, limit: int):
    assert ByteSize().convert(given, None, None) == limit


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--function-timeout", "0"], "'--function-timeout': 0.0 is not in the range"),
        (["--memory-limit", "2X"], "'--memory-limit': expected bytes such as 4096"),
        (["--memory-limit", "0"], "expected bytes such as 4096, 512M or 2G, got '0'"),
        (["--on-failure", "ignore"], "'ignore' is not one of 'fail', 'skip', 'retry'"),
    ],
)
def test_wrong_limits_are_usage_errors(
    model: Path, arguments: list[str], complaint: str
):
    result = command("opt", "-j0", model, "-p", "FoldConstant", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert complaint in result.stderr


@pytest.mark.slow
def test_the_contract_is_checked(model: Path, tmp_path: Path):
    path = tmp_path / "careless.py"
    path.write_text(
        "from parpass.transform import function_pass, register_pass\n"
        "names = []\n"
        "@register_pass('test.CarelessFile')\n"
        "@function_pass(opt_level=0)\n"
        "def keeping(func, mod, ctx):\n"
        "    names.append(ctx.function_name)\n"
        "    return func\n"
    )
    passes = ["-p", "CarelessFile", "--load", path]
    failure = tmp_path / "failure.txt"
    options = ["--check-contract", "--reproducer", failure]
    result = command("opt", "-j0", model, *passes, *options)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "Error: ContractError: pass 'keeping' changed the global 'names', on function "
        f"'main'\n  in pass 'keeping', on function 'main'\n  reproducer: {failure}\n"
    )
    assert command("replay", failure).exit_code == 1
    assert command("opt", "-j0", model, *passes).exit_code == 0
