"""`parpass opt --profile` and `--repeat`."""

from __future__ import annotations

from pathlib import Path

import pytest

from parpass.report.profile import Profile, decoded_profile
from tests.support.cli import commands
from tests.support.cli.calling import opt

MODEL = """\
def @main(%x: Tensor[(2, 3), float32]) { add(nn.relu(%x), add(1f, 2f)) }
def @other(%x: Tensor[(2, 3), float32]) { exp(%x) }
"""
PASSES = "InferType,FoldConstant"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "model.relay").write_text(MODEL)
    return tmp_path / "model.relay"


def read(file: Path) -> Profile:
    return decoded_profile(file.read_bytes(), file.name)


def test_a_profile_has_each_run_and_the_result_stays_the_same(model: Path):
    file = model.with_name("out.json")
    result = opt(model, "-p", PASSES, "--profile", file, "--repeat=3", "--statistics")
    plain = opt(model, "-p", PASSES, "--statistics")
    assert (result.exit_code, result.output) == (0, plain.output)
    found = read(file)
    assert (found.pipeline, found.jobs, len(found.runs)) == (PASSES, 0, 3)
    for run in found.runs:
        assert run.passes.keys() == {"InferType", "FoldConstant"}
        assert run.functions.keys() == {"main", "other"}
        assert run.statistics == {"FoldConstant": {"folded": 1}}
        assert run.function_statistics == {"FoldConstant": {"main": {"folded": 1}}}
        assert run.failure is None


def test_memory_is_in_it_where_that_is_asked_for(model: Path):
    file = model.with_name("out.json")
    options = (model, "-p", PASSES, "--profile", file, "--repeat=2")
    assert opt(*options).exit_code == 0
    assert [run.memory for run in read(file).runs] == [None, None]
    assert opt(*options, "--profile-memory").exit_code == 0
    for run in read(file).runs:
        assert run.memory is not None
        assert run.memory.functions["FoldConstant"].keys() == {"main", "other"}
        assert run.memory.functions["FoldConstant"]["main"] > 100
        assert run.memory.passes.keys() == run.passes.keys()


def test_programs_of_one_input_are_one_run(model: Path):
    model.write_text(f"{MODEL}// -----\n{MODEL}")
    file = model.with_name("out.json")
    assert opt(model, "-p", PASSES, "--profile", file).exit_code == 0
    (run,) = read(file).runs
    assert run.statistics == {"FoldConstant": {"folded": 2}}


def test_runs_that_fail_are_in_it_with_the_error(model: Path):
    file = model.with_name("out.json")
    name = commands.FailAlways.pass_info.name
    passes = f"InferType,test.{name}"
    result = opt(model, "-p", passes, "--profile", file, "--repeat=2")
    assert result.exit_code == 1
    first, second = read(file).runs
    assert "InferType" in first.passes
    assert str(first.failure).startswith("ValueError: ")
    assert second.failure == first.failure


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--repeat=2"], "runs are repeated for --profile OUT, which is not given"),
        (["--profile-memory"], "memory is measured for --profile OUT, which is not"),
        (["--profile=p.json", "--trace=p.json"], "--trace also writes to 'p.json'"),
        (["--profile=p.json", "--repeat=0"], "0 is not in the range x>=1"),
        (["--profile=nowhere/p.json"], "directory 'nowhere' does not exist"),
        (["--profile=result.json"], "-o also writes to 'result.json'"),
    ],
)
def test_a_profile_that_cannot_be_is_told_before_anything_runs(
    model: Path, options: list[str], message: str
):
    result = opt(model, "-p", PASSES, "-o", "result.json", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_a_full_disk_is_a_warning(model: Path):
    full = model.with_name("full.json")
    full.symlink_to("/dev/full")
    result = opt(model, "-p", PASSES, "--profile", full)
    assert result.exit_code == 0
    assert result.stderr == (
        f"Warning: cannot write '{full}': No space left on device\n"
    )
