"""What `parpass opt` shows of a run."""

import csv
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from parpass.cli import main
from parpass.ir.module import IRModule
from parpass.relay.expr import Call, Function
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass
from tests.support.cli.calling import opt
from tests.support.cli.commands import FailAlways, write_model

PIPELINE = (
    "InferType,sequential{name=clean}(FoldConstant,EliminateCommonSubexpr),"
    "DeadCodeElimination{inline-once=true}"
)


COUNTERS = ("functions", "params")


@register_pass("test.CountCalls")
class CountCalls(FunctionPass):
    """Counts."""

    pass_info = PassInfo(0, "CountCalls")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        ctx.count("functions")
        ctx.count("params", len(func.params))
        return func


@register_pass("test.Unbind")
class Unbind(FunctionPass):
    """Breaks functions: takes their parameters away."""

    pass_info = PassInfo(0, "Unbind")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        assert isinstance(func.body, Call)
        return Function((), func.body)


@pytest.fixture
def models(tmp_path: Path) -> list[str]:
    ops = {"a": ["Relu", "Relu", "Tanh"], "b": ["Tanh", "Relu"], "c": ["Relu"]}
    return [str(write_model(tmp_path / f"{n}.onnx", *ops[n])) for n in ops]


def headers(result: Result) -> list[str]:
    """Return the headers of IR dumps, without what is around the names."""
    lines = result.stderr.splitlines()
    return [
        line.removeprefix("// -----// IR Dump ").removesuffix(" //----- //")
        for line in lines
        if line.startswith("// -----// ")
    ]


def test_the_ir_is_printed_under_mlirs_headers(models: list[str]):
    result = opt(models[2], "-p", "InferType", "--print-ir-before=InferType")
    assert result.exit_code == 0
    assert result.stderr == (
        "// -----// IR Dump Before InferType //----- //\n"
        "def @main(%x: Tensor[(2, 3), float32]) {\n"
        "  nn.relu(%x)\n"
        "}\n\n"
    )


@pytest.mark.parametrize("option", ["--print-ir-after-all", "--print-ir-after"])
def test_all_passes_but_not_what_holds_them(models: list[str], option: str):
    result = opt(models[2], "-O1", "-p", PIPELINE, option)
    assert headers(result) == [
        "After InferType",
        "After InferType",
        "After DeadCodeElimination",
    ]


def test_names_choose_passes_and_may_name_what_holds_them(models: list[str]):
    options = ["--print-ir-before=clean, DeadCodeElimination", "--print-ir-after=clean"]
    result = opt(models[2], "-p", PIPELINE, *options)
    assert headers(result) == [
        "Before clean",
        "After clean",
        "Before DeadCodeElimination",
    ]


def test_globs_choose_passes_but_not_what_holds_them(models: list[str]):
    result = opt(models[2], "-O1", "-p", PIPELINE, "--print-ir-after=c*,Dead*")
    assert headers(result) == ["After DeadCodeElimination"]


def test_of_a_pass_that_failed_the_ir_is_what_it_failed_on(models: list[str]):
    result = opt(
        *models, "-p", f"InferType,{FailAlways.pass_info.name}", "--print-ir-after-all"
    )
    assert headers(result) == ["After InferType", "After FailAlways Failed"]
    before, after = result.stderr.split(" //----- //\n")[1:]
    assert after.partition("\n\nError: ")[0] == before.partition("\n\n// ---")[0]


def test_an_unknown_name_is_a_usage_error(models: list[str]):
    result = opt(models[2], "-p", PIPELINE, "--print-ir-after=FoldConst")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no pass matches 'FoldConst'; did you mean 'FoldConstant'" in result.stderr


def test_the_pipeline_is_dumped_as_text_to_paste(models: list[str]):
    first = opt(models[2], "-O3", "-p", PIPELINE, "--dump-pass-pipeline")
    assert first.stderr == (
        "InferType,\n"
        "sequential{name=clean}(\n"
        "  FoldConstant,\n"
        "  EliminateCommonSubexpr\n"
        "),\n"
        "DeadCodeElimination{inline_once=true}\n"
    )
    second = opt(models[2], "-O3", "-p", first.stderr, "--dump-pass-pipeline")
    assert second.stderr == first.stderr


def test_the_pass_that_breaks_the_ir_is_named_with_the_function(models: list[str]):
    pipeline = "InferType,CountCalls,Unbind"
    result = opt(*models, "-p", pipeline, "--verify-each")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "function 'a': variable '%x' is used where nothing binds it" in result.stderr
    assert opt(*models, "-p", "CountCalls", "--verify-each").exit_code == 0


def test_statistics_are_a_table(models: list[str]):
    result = opt(*models, "-p", "CountCalls", "--statistics")
    assert result.stderr == (
        "pass        counter    total\n"
        "CountCalls  functions      3\n"
        "CountCalls  params         3\n"
    )


def test_statistics_of_functions_are_in_csv_and_json(models: list[str]):
    result = opt(*models, "-p", "CountCalls", "--statistics", "--statistics=csv")
    each = [f"CountCalls,{name},{what},1" for name in "abc" for what in COUNTERS]
    assert result.stderr.splitlines() == [
        "pass,function,counter,total",
        "CountCalls,,functions,3",
        "CountCalls,,params,3",
        *each,
    ]
    result = opt(*models, "-p", "CountCalls", "--statistics=json")
    assert json.loads(result.stderr) == [
        {
            "name": "CountCalls",
            "counters": dict.fromkeys(COUNTERS, 3),
            "functions": {name: dict.fromkeys(COUNTERS, 1) for name in "abc"},
        }
    ]
    assert opt(*models, "-p", "CountCalls", "--statistics=xml").exit_code == 2


def test_memory_is_a_table_or_csv_or_json_with_functions(models: list[str]):
    options = (*models, "-p", "InferType,CountCalls", "--peak-memory")
    shown = opt(*options).stderr
    assert "Peak memory of passes" in shown
    assert re.search(r"│ InferType +│ +[\d.]+ k?B │ [abc] +│", shown)
    heading, *rows = csv.reader(opt(*options, "--peak-memory=csv").stderr.splitlines())
    assert heading == ["pass", "function", "bytes"]
    functions = [["InferType", name] for name in "abc"]
    assert [row[:2] for row in rows if row[0] == "InferType"] == [
        ["InferType", ""],
        *functions,
    ]
    found = json.loads(opt(*options, "--peak-memory=json").stderr)
    assert {one["name"] for one in found} == {"InferType", "CountCalls"}
    for one in found:
        assert one["bytes"] == max(one["functions"].values())


def test_passes_that_are_skipped_are_told_of_wherever_they_are(models: list[str]):
    result = opt(models[2], "-p", PIPELINE)
    assert result.stderr == (
        "Note: pass 'EliminateCommonSubexpr' does not run below -O3.\n"
    )


@pytest.mark.parametrize(
    "setting",
    [
        "parpass.asking_workers_seconds=0.5",
        "relay.FuseOps.max_depth=3",
        "tir.noalias=true",
        'tir.UnrollLoop={"auto_max_step": 3}',
    ],
)
def test_options_of_the_context_are_set(models: list[str], setting: str):
    assert opt(models[2], "-p", "InferType", "--config", setting).exit_code == 0


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("nokey", "expected KEY=VALUE, got 'nokey'"),
        ("tir.noalia=true", "did you mean 'tir.noalias'"),
        ("relay.FuseOps.max_depth=deep", "expected int, got 'deep' of type str"),
        ("tir.UnrollLoop={", "expected UnrollLoopConfig, got '{'"),
    ],
)
def test_a_wrong_option_of_the_context_is_a_usage_error(
    models: list[str], setting: str, complaint: str
):
    result = opt(models[2], "-p", "InferType", "--config", setting)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'--config'" in result.stderr
    assert complaint in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", [f"CountCalls,{PIPELINE}", f"{PIPELINE},Unbind"])
def test_workers_show_the_same_to_the_byte(models: list[str], pipeline: str):
    arguments = ["opt", *models, "-O3", "-p", pipeline, "--print-ir-before-all"]
    arguments += ["--print-ir-after-all", "--statistics", "--dump-pass-pipeline"]
    arguments += ["--config", "parpass.asking_workers_seconds=0", "--verify-each", "-q"]
    serial, parallel = (
        CliRunner().invoke(main, [*arguments, f"-j{jobs}"]) for jobs in (0, 2)
    )
    assert serial.exit_code == (1 if "Unbind" in pipeline else 0)
    assert parallel.exit_code == serial.exit_code
    assert parallel.output_bytes == serial.output_bytes
    assert parallel.stderr_bytes == serial.stderr_bytes
    assert len(headers(serial)) > 8
