"""`--remarks`: what passes say of their work, as a user of the command gets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from parpass.cli import main
from parpass.ir.module import IRModule
from parpass.relay.expr import Function
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass
from tests.support.cli.calling import opt
from tests.support.cli.commands import write_model


@register_pass("test.TellSize")
class TellSize(FunctionPass):
    """Remarks."""

    pass_info = PassInfo(0, "TellSize")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        ctx.remark("analysis", "has parameters", func.span, count=len(func.params))
        return func


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "net.onnx", "Relu", "Tanh")


def test_remarks_go_to_a_file_in_the_format_of_its_suffix(
    model: Path, tmp_path: Path
) -> None:
    for name, begin in (("r.opt.yaml", "--- !Analysis\n"), ("r.jsonl", '{"kind": ')):
        result = opt(model, "-p", "TellSize", "--remarks", tmp_path / name)
        assert (result.exit_code, result.stderr) == (0, "")
        assert (tmp_path / name).read_text().startswith(begin)
    (line,) = (tmp_path / "r.jsonl").read_text().splitlines()
    assert json.loads(line)["values"] == {"count": 1}


def test_they_are_shown_on_standard_error(model: Path) -> None:
    result = opt(model, "-p", "TellSize", "--remarks=-")
    assert "analysis: has parameters (count=1) [TellSize on 'main']\n" in result.stderr
    assert "has parameters" not in result.stdout


def test_those_of_a_run_that_failed_are_written(model: Path) -> None:
    result = opt(model, "-p", "TellSize,FailAlways", "--remarks=-")
    assert result.exit_code == 1
    assert "has parameters" in result.stderr


def test_a_filter_keeps_those_of_some_passes(model: Path) -> None:
    arguments = (model, "-p", "TellSize", "--remarks=-", "--remarks-filter")
    assert "has parameters" in opt(*arguments, "FuseOps,Tell*").stderr
    assert not opt(*arguments, "Fuse*").stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--remarks=no/where.yaml"], "directory 'no' does not exist"),
        (["--remarks=."], "is a directory"),
        (
            ["--remarks=r.json"],
            "ends in .yaml, .yml or .jsonl for remarks, got 'r.json'",
        ),
        (
            ["--remarks=-", "--remarks-filter=FuseOp"],
            "'FuseOp'; did you mean 'FuseOps'",
        ),
        (["--remarks-filter=FuseOps"], "no remarks to filter without --remarks FILE"),
    ],
)
def test_bad_options_are_refused_before_anything_runs(
    model: Path, options: list[str], message: str
) -> None:
    for command in ("opt", "build"):
        out = ["-o", str(model.with_suffix(".so"))] if command == "build" else []
        result = CliRunner().invoke(main, [command, str(model), *out, *options])
        assert result.exit_code == 2
        assert message in " ".join(result.stderr.split())


def test_a_full_disk_is_a_warning_and_the_result_stands(
    model: Path, tmp_path: Path
) -> None:
    full = tmp_path / "full.yaml"
    full.symlink_to("/dev/full")
    result = opt(model, "-p", "TellSize", "--remarks", full)
    assert result.exit_code == 0
    assert "def @main" in result.stdout
    told = f"Warning: cannot write '{full}': No space left on device\n"
    assert result.stderr == told


def test_a_build_says_which_kernel_has_no_lowering_rule(tmp_path: Path) -> None:
    program = tmp_path / "sort.relay"
    program.write_text("def @main(%x: Tensor[(4,), float32]) {\n  sort(%x)\n}\n")
    options = ["-o", str(tmp_path / "net.so"), "-q", "-j0", "--no-cache", "--remarks=-"]
    result = CliRunner().invoke(main, ["build", str(program), *options])
    assert result.exit_code == 0
    assert "2:3: missed: no lowering rule, so numpy computes it" in result.stderr
