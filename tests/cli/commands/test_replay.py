"""`parpass replay`: whether the same failure comes back."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from parpass.instrument import PassInstrument, WellFormedInstrument
from tests.support.cli.calling import command, place_in
from tests.support.relay import breaking
from tests.support.relay.reproducing import (
    BREAKING,
    write_crash,
    write_overspending,
    write_reproducer,
)

PIPELINE = "InferType,FoldConstant,FailOnExp"


@pytest.fixture
def reproducer(tmp_path: Path) -> Path:
    return write_reproducer(tmp_path / "failure.txt", PIPELINE)


def test_the_same_failure_comes_back(reproducer: Path):
    result = command("replay", reproducer)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "Error: ValueError: no exp\n  in pass 'FailOnExp', on function 'inner'\n  "
        f"where: {place_in(breaking.FailOnExp)}; --traceback shows all\nReproduced "
        "the same failure.\n"
    )


def test_opt_reads_a_reproducer_as_the_program_that_it_is(reproducer: Path):
    result = command("opt", "-j0", reproducer)
    assert result.exit_code == 0
    assert result.stdout.startswith("def @inner(%x: Tensor[(2, 3), float32])")


def test_a_failure_that_was_mended_is_not_there(reproducer: Path):
    text = reproducer.read_text()
    reproducer.write_text(text.replace("exp(", "tanh("))
    result = command("replay", reproducer)
    assert result.exit_code == 0
    assert result.stderr == "Nothing failed; it was: ValueError: no exp\n"


def test_another_failure_is_said_to_be_another(reproducer: Path):
    text = reproducer.read_text()
    reproducer.write_text(text.replace('"InferType,FailOnExp"', '"BreakTypesOfExp"'))
    result = command("replay", reproducer)
    assert result.exit_code == 3
    assert (
        "This failure is a different one; it was: ValueError: no exp\n"
    ) in result.stderr


def test_a_module_pass_is_replayed(tmp_path: Path):
    path = write_reproducer(tmp_path / "failure.txt", "FailWholeOnExp")
    assert command("replay", path).exit_code == 1


def test_error_diagnostics_are_replayed(tmp_path: Path):
    path = write_reproducer(tmp_path / "failure.txt", "InferType,BreakTypesOfExp")
    result = command("replay", path)
    assert result.exit_code == 1
    assert "in pass 'InferType'" in result.stderr


@pytest.mark.parametrize("workers", [0, 1])
def test_what_could_not_come_from_its_worker_as_itself_comes_back(
    tmp_path: Path, workers: int
):
    pipeline = "InferType,FailUnpicklablyOnExp"
    path = write_reproducer(tmp_path / "failure.txt", pipeline, workers=workers)
    result = command("replay", path)
    assert "LambdaError: not to be pickled\n" in result.stderr
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("pipeline", "instrument", "message"),
    [
        (
            "InferType,UnbindExp",
            WellFormedInstrument(),
            "function 'inner': variable '%nowhere' is used where nothing binds it",
        ),
        ("sequential(FoldConstant)", breaking.WatchfulInstrument(), "there is exp"),
    ],
)
def test_the_error_of_an_instrument_comes_back(
    tmp_path: Path, pipeline: str, instrument: PassInstrument, message: str
):
    path = write_reproducer(tmp_path / "failure.txt", pipeline, [instrument])
    result = command("replay", path)
    assert message in result.stderr
    assert "Reproduced the same failure.\n" in result.stderr
    assert result.exit_code == 1


def test_a_pass_that_hangs_is_interrupted(tmp_path: Path):
    path = tmp_path / "failure.txt"
    write_overspending(path, "FunctionTimeoutError", "hang", function_timeout=0.1)
    result = command("replay", path)
    assert "longer than its function_timeout of 0.1 s" in result.stderr
    assert "Reproduced the same failure.\n" in result.stderr


def test_a_pass_that_takes_the_processor_is_interrupted(tmp_path: Path):
    path = tmp_path / "failure.txt"
    write_overspending(path, "FunctionTimeoutError", "burn", cpu_limit=0.1)
    result = command("replay", path)
    assert "more CPU time than its cpu_limit of 0.1 s" in result.stderr
    assert "Reproduced the same failure.\n" in result.stderr


def test_memory_is_refused_beyond_the_limit(tmp_path: Path):
    path = tmp_path / "failure.txt"
    write_overspending(path, "MemoryLimitError", "memory", memory_limit=1 << 30)
    result = command("replay", path)
    assert "its memory_limit of 1,073,741,824 bytes" in result.stderr
    assert "Reproduced the same failure.\n" in result.stderr


def replay(
    path: Path, *options: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Call the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "parpass", "replay", *options, str(path)],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(BREAKING).parents[2],
        timeout=200,
    )


@pytest.mark.slow
def test_the_debugger_stops_where_the_pass_raised(reproducer: Path):
    result = replay(reproducer, "--pdb", stdin="p self.message\nq\n")
    assert result.returncode == 1
    assert "-> raise ValueError(self.message)" in result.stdout
    assert "'no exp'" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("how", "code"), [("segfault", -signal.SIGSEGV), ("exit", 7)])
def test_a_crash_is_a_crash_in_this_process(tmp_path: Path, how: str, code: int):
    result = replay(write_crash(tmp_path / "failure.txt", how))
    assert result.returncode == code
    assert "this failure killed a worker" in result.stderr


@pytest.mark.slow
def test_what_hangs_in_c_is_ended(tmp_path: Path):
    path = tmp_path / "failure.txt"
    error = "FunctionTimeoutError"
    write_overspending(path, error, "hang in C", function_timeout=0.1)
    result = replay(path)
    assert result.returncode == 1
    assert "in transform_function" in result.stderr


@pytest.mark.parametrize(
    ("replacement", "complaint"),
    [
        (("// error", "// eror"), "unknown field `eror`"),
        (("FailOnExp", "FailOnEx"), "no pass named 'FailOnEx'"),
        ((breaking.__name__, "tests.gone"), "there is no module 'tests.gone'"),
        (("def @inner", "def inner"), "expected"),
        (("config: {}", 'config: {"no.such": 1}'), "invalid config option 'no.such'"),
    ],
)
def test_a_damaged_file_is_an_input_error(
    reproducer: Path, replacement: tuple[str, str], complaint: str
):
    text = reproducer.read_text().replace(*replacement)
    reproducer.write_text(text)
    result = command("replay", reproducer)
    assert (result.exit_code, result.stdout) == (2, "")
    assert complaint in result.stderr


def test_bytes_are_an_input_error(tmp_path: Path):
    path = tmp_path / "bytes"
    path.write_bytes(b"\xff\xfe\x00")
    result = command("replay", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "expected a reproducer, got no text" in result.stderr
