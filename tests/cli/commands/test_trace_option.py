from __future__ import annotations

import base64
import gzip
import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from parpass.cli import main
from tests.support.cli import commands
from tests.support.runner.traces import ReadTrace

MODEL = """\
def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }
def @other(%x: Tensor[(2, 3), float32]) { exp(%x) }
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "model.relay").write_text(MODEL)
    return tmp_path / "model.relay"


def run(command: str, *arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [command, *map(str, arguments)])


@pytest.mark.parametrize("name", ["out.json", "out.json.gz"])
def test_opt_writes_a_trace_beside_what_it_writes_without(model: Path, name: str):
    file = model.with_name(name)
    passes = ("-j0", model, "-p", "InferType,FoldConstant")
    result = run("opt", *passes, "--trace", file)
    assert result.exit_code == 0
    assert (result.stdout, result.stderr) == (run("opt", *passes).stdout, "")
    calls = ReadTrace(file).calls()
    assert calls["FoldConstant", "main"] == calls["FoldConstant", "other"] == 1


@pytest.mark.parametrize("name", ["out.json", "out.json.gz"])
def test_a_report_has_the_trace_and_the_command_that_made_it(model: Path, name: str):
    file, page = model.with_name(name), model.with_name("page.html")
    given = ("-j0", model, "-p", "FoldConstant", "--trace", file, "--report", page)
    assert run("opt", *given).exit_code == 0
    found = re.search(r'id="data">(.*?)</script', page.read_text())
    assert found is not None
    data = json.loads(found[1])
    trace = file.read_bytes()
    raw = gzip.decompress(trace) if name.endswith("gz") else trace
    assert gzip.decompress(base64.b64decode(data["trace"])) == raw
    assert data["command"] == shlex.join(["parpass", "opt", *map(str, given)])


def test_a_pass_that_fails_leaves_a_trace(model: Path):
    file = model.with_name("out.json")
    name = commands.FailAlways.pass_info.name
    result = run("opt", "-j0", model, "-p", f"test.{name}", "--trace", file)
    assert result.exit_code == 1
    assert ("coordinator", "failed: ValueError") in ReadTrace(file).instants


@pytest.mark.slow
def test_build_writes_one_trace_of_all_its_runs(model: Path):
    file = model.with_name("out.json")
    wanted = ("-j0", "-q", "-o", model.with_name("net.so"), "--no-cache")
    result = run("build", model, *wanted, "--trace", file)
    assert result.exit_code == 0, result.stderr
    assert len(ReadTrace(file).slices("run")) > 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.txt", "expected a name that ends in .json or .json.gz, got 'out.txt'"),
        ("nowhere/out.json", "directory 'nowhere' does not exist"),
        ("result.json", "-o also writes to 'result.json'"),
    ],
)
@pytest.mark.parametrize("command", ["opt", "build"])
def test_a_trace_that_cannot_be_is_told_before_anything_runs(
    model: Path, command: str, name: str, message: str
):
    result = run(command, model, "-o", "result.json", "--trace", name)
    assert result.exit_code == 2
    assert "'--trace'" in result.stderr
    assert message in " ".join(result.stderr.split())


def test_a_full_disk_is_a_warning(model: Path):
    full = model.with_name("full.json")
    full.symlink_to("/dev/full")
    with pytest.warns(RuntimeWarning, match="No space left on device") as told:
        result = run("opt", "-j0", model, "-p", "InferType", "--trace", full)
    assert result.exit_code == 0
    assert len(told) == 1
