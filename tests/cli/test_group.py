"""The command as its own process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from parpass import __version__
from tests.support.commands import write_model

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


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_ctrl_c_is_quiet(tmp_path: Path):
    pipe = tmp_path / "m.onnx"
    os.mkfifo(pipe)
    with (
        subprocess.Popen(
            [sys.executable, "-m", "parpass", "opt", str(pipe), "-p", "InferType"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
        ) as process,
        pipe.open("wb"),  # waits until the command reads
    ):
        process.send_signal(signal.SIGINT)
        output = process.communicate()
    assert (process.returncode, output) == (130, (b"", b""))


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_import_little(option: str):
    loaded = (
        "import atexit, sys; atexit.register(lambda: print(*sorted(sys.modules)));"
        f"sys.argv = ['parpass', {option!r}];"
        "from parpass.cli import main; main(prog_name='parpass')"
    )
    result = run("-c", loaded)
    assert result.returncode == 0, result.stderr
    assert __version__ in result.stdout or "opt" in result.stdout
    modules = result.stdout.splitlines()[-1].split()
    heavy = {"numpy", "onnx", "rich", "trio", "loky", "parpass.relay"}
    assert not heavy & set(modules)
