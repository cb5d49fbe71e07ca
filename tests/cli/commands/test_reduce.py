"""`parpass reduce`: a smaller program that fails in the same way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from parpass.relay import parse
from parpass.transform.debug.reproducer import Reproducer
from tests.support.cli.calling import command
from tests.support.relay.breaking import PROGRAM
from tests.support.relay.reproducing import (
    BREAKING,
    write_crash,
    write_overspending,
    write_reproducer,
)

SMALLEST = """\
def @inner(%y: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  exp(%y)
}
"""


def reduced(path: Path, *arguments: str) -> Reproducer:
    """Return what a reproducer is reduced to."""
    out = path.with_suffix(".out")
    result = command("reduce", path, "-o", out, *arguments)
    assert result.exit_code == 0, result.output
    assert "Reduced" in result.stderr
    return Reproducer.from_text(out.read_text())


def test_only_what_fails_is_left(tmp_path: Path):
    path = write_reproducer(tmp_path / "file.txt", "InferType,FoldConstant,FailOnExp")
    found = reduced(path, "-j0")
    assert found.text == SMALLEST
    assert found.pipeline == "FailOnExp"
    assert found.error == "ValueError: no exp"
    assert command("replay", path.with_suffix(".out")).exit_code == 1


@pytest.mark.slow
def test_a_crash_is_reduced_whatever_the_number_of_workers(tmp_path: Path):
    path = write_crash(tmp_path / "file.txt", "segfault")
    alone, together = (reduced(path, f"-j{jobs}") for jobs in (0, 2))
    assert alone == together
    assert alone.text == SMALLEST


def test_what_a_module_pass_fails_on_is_reduced(tmp_path: Path):
    pipeline = "InferType,FailWholeOnExp"
    path = write_reproducer(tmp_path / "file.txt", pipeline)
    found = reduced(path, "-j0")
    assert found.function is None
    assert "exp(" in found.text


@pytest.mark.stress  # by default a crash shows that workers give the same
def test_what_a_module_pass_fails_on_is_the_same_by_workers(tmp_path: Path):
    pipeline = "InferType,FailWholeOnExp"
    path = write_reproducer(tmp_path / "file.txt", pipeline)
    assert reduced(path, "-j0") == reduced(path, "-j2")


LOADED_BY_A_CHILD = """
import sys
from pathlib import Path
from parpass.cli.operations import trial
from parpass.transform.debug.reproducer import Reproducer

reproducer = Reproducer.from_text(Path(sys.argv[1]).read_text())
trial._preload(reproducer)
before = set(sys.modules)
print(trial._run_candidate(reproducer).kind, sorted(set(sys.modules) - before))
"""


@pytest.mark.slow
def test_what_every_candidate_needs_is_loaded_before_there_is_a_child(tmp_path: Path):
    path = write_reproducer(tmp_path / "file.txt", "InferType,FailOnExp")
    result = subprocess.run(
        [sys.executable, "-c", LOADED_BY_A_CHILD, path],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(BREAKING).parents[2],
        timeout=200,
    )
    assert (result.stdout, result.stderr) == ("raised []\n", "")


def test_what_hangs_is_reduced_by_the_limit_that_it_exceeded(tmp_path: Path):
    path = tmp_path / "file.txt"
    write_overspending(path, "FunctionTimeoutError", "hang", function_timeout=0.1)
    assert reduced(path, "-j0").text == SMALLEST


@pytest.mark.slow
def test_an_interrupted_reduction_writes_the_smallest_so_far(tmp_path: Path):
    path = write_reproducer(tmp_path / "file.txt", "InferType,InterruptOnExp")
    result = subprocess.run(
        [sys.executable, "-m", "parpass", "reduce", path, "-j0", "-o", path],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(BREAKING).parents[2],
        timeout=200,
    )
    assert result.returncode == 130
    assert "Interrupted; this is the smallest program so far." in result.stderr
    found = Reproducer.from_text(path.read_text())
    assert found.pipeline == "InterruptOnExp"
    assert "exp(" in str(parse(found.text)["inner"])


def test_errors_that_a_program_has_are_reduced(tmp_path: Path):
    path = write_reproducer(tmp_path / "file.txt", "InferType,BreakTypesOfExp")
    found = reduced(path, "-j0")
    assert found.pipeline == "BreakTypesOfExp"
    assert len(parse(found.text)) == 1
    assert found.text.count("(") < PROGRAM.count("(") / 2


def test_the_message_may_have_to_match(tmp_path: Path):
    path = write_reproducer(tmp_path / "file.txt", "FailOnExp{message=two}")
    result = command("reduce", path, "-j0", "--match", "one")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "The failure cannot be reproduced: ValueError in pass" in result.stderr
    assert reduced(path, "-j0", "--match", "t.o").error == "ValueError: two"


def test_a_wrong_pattern_is_a_usage_error(tmp_path: Path):
    path = write_reproducer(tmp_path / "file.txt", "FailOnExp")
    result = command("reduce", path, "-j0", "--match", "(")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Invalid value for '--match'" in result.stderr


def test_a_failure_that_does_not_come_back_is_not_reduced(tmp_path: Path):
    path = write_reproducer(tmp_path / "file.txt", "FailOnExp")
    path.write_text(path.read_text().replace("exp(", "tanh("))
    result = command("reduce", path, "-j0")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "The failure cannot be reproduced: nothing failed\n" in result.stderr
