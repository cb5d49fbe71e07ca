"""`parpass bisect`: the pair of pass and function that makes it wrong."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from tests.support.cli.calling import command
from tests.support.onnx.models import graph_model
from tests.support.relay.breaking import PROGRAM

PIPELINE = "InferType,FoldConstant,{},DeadCodeElimination"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.relay"
    path.write_text(PROGRAM)
    return path


def test_values_that_differ_are_traced_to_pass_and_function(model: Path):
    result = command("bisect", "-j0", model, "-p", PIPELINE.format("MiscompileExp"))
    assert result.exit_code == 0
    first, alone, good, bad = result.stdout.splitlines()
    # Four functions: 1-4 are FoldConstant, 5-8 MiscompileExp.
    assert first.startswith(
        "Pass 'MiscompileExp' on function 'inner', number 6: the value of function "
        "'main' differs: "
    )
    assert alone == "This pair alone is enough: --opt-bisect=6"
    assert good.endswith("--opt-bisect-limit=5 -o good.relay")
    assert bad.endswith("--opt-bisect-limit=6 -o bad.relay")


def test_the_two_commands_show_the_difference(model: Path):
    result = command("bisect", "-j0", model, "-p", PIPELINE.format("MiscompileExp"))
    for line in result.stdout.splitlines()[-2:]:
        assert command(*shlex.split(line)[1:], "-j0").exit_code == 0
    assert "1f" not in Path("good.relay").read_text()
    assert "1f" in Path("bad.relay").read_text()


def test_what_is_said_of_a_models_inputs_is_said_in_the_two_commands(model: Path):
    nodes = [
        helper.make_node("Mul", ["x", "scale"], ["m"]),
        helper.make_node("Exp", ["m"], ["y"]),
    ]
    inputs = {"x": np.ones((2, 3), "float32"), "scale": np.ones(1, "float32")}
    proto = graph_model(nodes, inputs, ["y"])
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    Path("exp.onnx").write_bytes(proto.SerializeToString())
    said = ["--dim", "batch=2", "--const", "scale=[2]"]
    passes = PIPELINE.format("MiscompileExp")
    result = command("bisect", "-j0", "exp.onnx", "-p", passes, *said)
    assert result.stdout.startswith("Pass 'MiscompileExp' on function 'main', number 2")
    for line in result.stdout.splitlines()[-2:]:
        assert " --dim batch=2 --const 'scale=[2]' --opt-bisect-limit" in line
        assert command(*shlex.split(line)[1:], "-j0").exit_code == 0
    assert "%x: Tensor[(2, 3), float32])" in Path("bad.relay").read_text()


@pytest.mark.parametrize("jobs", ["-j0", "-j2"])
def test_a_pass_that_fails_is_found(model: Path, jobs: str):
    result = command("bisect", jobs, model, "-p", PIPELINE.format("FailOnExp"))
    assert result.exit_code == 0
    assert result.stdout.startswith(
        "Pass 'FailOnExp' on function 'inner', number 6: ValueError: no exp\n"
    )


@pytest.mark.slow
def test_a_pass_that_crashes_is_found(model: Path):
    # Two pairs, as each crash costs a process that has to load what passes need.
    model.write_text("def @f(%x: float32) { %x }\ndef @g(%x: float32) { exp(%x) }")
    result = command("bisect", "-j1", model, "-p", "CrashOnExp")
    assert result.exit_code == 0
    assert "Pass 'CrashOnExp' on function 'g', number 2: " in result.stdout


def test_a_command_may_decide(model: Path):
    script = "import sys; sys.exit('tanh' not in open(sys.argv[1]).read())"
    check = shlex.join([sys.executable, "-c", script]) + " {}"
    passes = "RemoveUnusedFunctions{entry-functions=[other]}"
    result = command("bisect", "-j0", model, "-p", passes, "--check", check)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(
        "Pass 'RemoveUnusedFunctions' on the module, number 1: exit code 1\n"
    )


def test_a_command_that_cannot_tell_ends_it(model: Path):
    result = command("bisect", "-j0", model, "-p", "InferType", "--check", "exit 125;")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "it cannot tell" in result.stderr


@pytest.mark.parametrize(
    ("passes", "check", "why"),
    [
        ("FoldConstant", None, "Nothing is wrong when all passes run."),
        ("FoldConstant", "false", "The result is wrong even if"),
    ],
)
def test_where_nothing_can_be_found_it_is_said(
    model: Path, passes: str, check: str | None, why: str
):
    extra = ["--check", check] if check else []
    result = command("bisect", "-j0", model, "-p", passes, *extra)
    assert (result.exit_code, result.stdout) == (3, "")
    assert why in result.stderr


def test_values_of_closures_need_a_command(model: Path):
    model.write_text("def @main(%f: fn (int32) -> int32) { %f(1) }")
    result = command("bisect", "-j0", model, "-p", "InferType")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "values cannot be compared" in result.stderr
