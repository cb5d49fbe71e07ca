"""`parpass opt`, called in this process."""

import csv
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from onnx import helper

from parpass.cli import main
from parpass.errors import SlowerRunWarning
from tests.support.cli import commands
from tests.support.cli.calling import opt, place_in
from tests.support.cli.commands import write_model, write_open_model
from tests.support.integrations.cache_server import serving
from tests.support.onnx.models import graph_model, random

FAILING = commands.FailAlways.pass_info.name
SAYING = commands.SayError.pass_info.name
INTERRUPTED = commands.InterruptAlways.pass_info.name

RELU = """\
def @main(%x: Tensor[(2, 3), float32]) {
  nn.relu(%x)
}
"""

TYPED = RELU.replace(") {", ") -> Tensor[(2, 3), float32] {")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "relu.onnx", "Relu")


def test_without_passes_the_module_is_read_and_written(model: Path):
    result = opt(model)
    assert (result.exit_code, result.stdout, result.stderr) == (0, RELU, "")


@pytest.mark.parametrize("option", ["-p", "--passes", "--pass-pipeline"])
def test_passes_are_run(model: Path, option: str):
    result = opt(model, option, "InferType")
    assert (result.exit_code, result.stdout, result.stderr) == (0, TYPED, "")


@pytest.mark.usefixtures("no_program")
def test_results_are_kept_for_the_next_command(model: Path, tmp_path: Path):
    kept = f"--cache={tmp_path / 'kept'}"
    found: list[str] = []
    for more in ([], [], ["--verify-cache", "1"]):
        result = opt(model, "-p", "InferType", kept, "--explain-speed", *more)
        assert (result.exit_code, result.stdout) == (0, TYPED)
        found += re.findall(r"(\d) of 1 function from the cache", result.stderr)
    assert found == ["0", "1", "0"]
    assert "add --cache" in opt(model, "--verify-cache", "1").stderr


@pytest.mark.usefixtures("no_program")
def test_results_are_taken_from_other_caches(model: Path, tmp_path: Path):
    mine, theirs = f"--cache={tmp_path / 'mine'}", f"--cache-from={tmp_path / 'theirs'}"
    opt(model, "-p", "InferType", f"--cache={tmp_path / 'theirs'}")
    found: list[str] = []
    for options in ([theirs], [mine, theirs, f"--cache-from={tmp_path}"], [mine]):
        result = opt(model, "-p", "InferType", "--explain-speed", *options)
        assert (result.exit_code, result.stdout) == (0, TYPED)
        found += re.findall(r"(\d) of 1 function from the cache", result.stderr)
    assert found == ["1", "1", "1"]
    with pytest.warns(SlowerRunWarning, match="none', a layer of a cache: no results"):
        result = opt(model, "-p", "InferType", f"--cache-from={tmp_path / 'none'}")
    assert (result.exit_code, result.stdout) == (0, TYPED)


@pytest.mark.usefixtures("no_program")
def test_results_are_shared_by_a_server(model: Path):
    with serving() as server:
        for option, count in (("to", 0), ("from", 1)):
            option = f"--cache-{option}={server.url}"
            result = opt(model, "-p", "InferType", "--explain-speed", option)
            assert (result.exit_code, result.stdout) == (0, TYPED)
            assert f"{count} of 1 function from the cache" in result.stderr
        assert server.asked == ["GET", "PUT", "GET"]
    result = opt(model, "-p", "InferType", "--cache-to=somewhere")
    assert result.exit_code == 2
    assert "'--cache-to': expected a URL such as https" in result.stderr


@pytest.mark.parametrize("given", ["", "ftp://a/b", "https://", __file__])
def test_what_is_neither_folder_nor_url_is_refused(model: Path, given: str):
    result = opt(model, "-p", "InferType", f"--cache-from={given}")
    assert result.exit_code == 2
    assert re.search(r"'--cache-from': expected .*URL", result.stderr)


def test_several_models_become_functions_of_one_module(model: Path, tmp_path: Path):
    other = write_model(tmp_path / "tanh.onnx", "Tanh")
    result = opt(model, other)
    assert "def @relu(%x:" in result.stdout
    assert "def @tanh(%x:" in result.stdout


def test_the_ir_can_go_to_a_file(model: Path, tmp_path: Path):
    out = tmp_path / "out.relay"
    result = opt(model, "-p", "InferType", "-o", out)
    assert (result.exit_code, result.output) == (0, "")
    assert out.read_text() == TYPED


@pytest.fixture
def weighty(tmp_path: Path) -> Path:
    """Return a model with weights."""
    node = helper.make_node("Add", ["x", "w"], ["y"])
    numbers = random(3)
    model = graph_model([node], {"x": numbers}, ["y"], known={"w": numbers})
    path = tmp_path / "add.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_values_of_constants_are_written_to_files_unless_asked_not_to(
    weighty: Path, tmp_path: Path
):
    out = tmp_path / "out.relay"
    assert (opt(weighty, "-o", out).exit_code, opt(out, "-o", out).output) == (0, "")
    full = out.read_text()
    assert "#[metadata]" in full
    assert opt(out, "--print-metadata").stdout == full
    assert opt(weighty, "-o", out, "--no-print-metadata").exit_code == 0
    assert out.read_text() == opt(weighty).stdout
    assert "meta[relay.Constant][0]" in out.read_text()
    assert "#[metadata]" not in out.read_text()


def test_text_without_the_values_of_its_constants_says_how_to_write_them(
    weighty: Path,
):
    result = CliRunner().invoke(main, ["opt", "-"], input=opt(weighty).stdout)
    assert result.exit_code == 2
    assert "the text has no section of constants" in result.stderr
    assert "write it again with --print-metadata" in result.stderr


def test_json_is_read_and_written_by_suffix(weighty: Path, tmp_path: Path):
    as_json, as_text = tmp_path / "out.json", tmp_path / "out.relay"
    assert opt(weighty, "-o", as_json).exit_code == 0
    assert opt(weighty, "-o", as_text).exit_code == 0
    assert as_json.read_text().startswith('{"parpass": ')
    again = opt(as_json, "--print-metadata")
    assert (again.exit_code, again.stdout) == (0, as_text.read_text())
    by_pipe = CliRunner().invoke(main, ["opt", "-"], input=as_json.read_text())
    assert by_pipe.stdout == opt(weighty).stdout


@pytest.mark.parametrize(
    ("content", "complaint"),
    [("{", "bad.json: JSON: "), ('{"parpass": 3, "nodes": [], "root": 1}', "a int")],
)
def test_json_that_is_no_module_is_an_input_error(
    tmp_path: Path, content: str, complaint: str
):
    path = tmp_path / "bad.json"
    path.write_text(content)
    result = opt(path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert complaint in result.stderr


def test_several_programs_are_not_written_as_json(tmp_path: Path):
    path, out = tmp_path / "two.relay", tmp_path / "out.json"
    path.write_text(f"{RELU}// -----\n{RELU}")
    result = opt(path, "-o", out)
    assert result.exit_code == 2
    assert "is to hold one Relay module as JSON, got 2 programs" in result.stderr
    assert not out.exists()


def test_onnx_is_not_written(model: Path, tmp_path: Path):
    result = opt(model, "-o", tmp_path / "out.onnx")
    assert result.exit_code == 2
    assert "out.relay' gets text" in result.stderr


def test_a_model_may_come_on_standard_input(model: Path):
    content = model.read_bytes()
    piped = CliRunner().invoke(main, ["opt", "-", "-p", "InferType"], input=content)
    assert (piped.exit_code, piped.stdout) == (0, TYPED)
    broken = CliRunner().invoke(main, ["opt", "-"], input=content[:20])
    assert broken.exit_code == 2
    assert "<stdin>" in broken.stderr


def test_shapes_of_inputs_can_be_given(model: Path):
    assert "%x: Tensor[(4, 5), float32]" in opt(model, "--shape", "x:4,5").stdout
    assert "%x: Tensor[(?, 5), float32]" in opt(model, "--shape", "x:[?,5]").stdout
    wrong = opt(model, "--shape", "y:1")
    assert wrong.exit_code == 2
    assert "--shape names 'y', but no model has such an input" in wrong.stderr


def test_symbolic_dimensions_are_any(tmp_path: Path):
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("x", 1, ["batch", 3])],
        [helper.make_tensor_value_info("y", 1, ["batch", 3])],
    )
    path = tmp_path / "open.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    assert "%x: Tensor[(?, 3), float32]" in opt(path).stdout
    assert "%x: Tensor[(8, 3), float32]" in opt(path, "--shape=x:8,3").stdout


def test_dimensions_and_inputs_can_be_set(tmp_path: Path):
    path = write_open_model(tmp_path / "open.onnx")
    shown = opt(path, "--dim", "batch=4", "--const", "rate=16000").stdout
    assert "(%x: Tensor[(4, ?), float32], %y: Tensor[(4, 3), float32])" in shown


@pytest.mark.parametrize("shape", ["x", "x:a,b", ":1", "x:-1"])
def test_a_wrong_shape_is_a_usage_error(model: Path, shape: str):
    result = opt(model, "--shape", shape)
    assert result.exit_code == 2
    assert "expected NAME:1,3,224,224" in " ".join(result.stderr.split())


def test_shapes_are_for_models(tmp_path: Path):
    path = tmp_path / "relu.relay"
    path.write_text(RELU)
    result = opt(path, "--shape", "x:1")
    assert (result.exit_code, result.stderr) == (
        2,
        "Error: --shape is for the inputs of ONNX models\n",
    )


def test_a_failed_run_leaves_the_file_as_it_was(model: Path, tmp_path: Path):
    out = tmp_path / "out.relay"
    out.write_text("old")
    assert opt(model, "-p", FAILING, "-o", out).exit_code == 1
    assert out.read_text() == "old"


def test_timing_is_shown_on_standard_error(model: Path):
    result = opt(model, "-p", "InferType,FoldConstant", "--timing")
    assert result.stdout == TYPED
    assert "Time of passes" in result.stderr
    assert "│   FoldConstant" in result.stderr
    assert "│     InferType" in result.stderr


def test_timing_is_shown_of_failed_runs_too(model: Path):
    result = opt(model, "-p", f"InferType,{FAILING}", "--timing")
    assert result.exit_code == 1
    assert f"│   {FAILING}" in result.stderr


@pytest.mark.parametrize("passes", ["InferType,FoldConstant", FAILING])
def test_where_the_time_went_is_shown_of_every_run(model: Path, passes: str):
    result = opt(model, "-p", passes, "--explain-speed")
    assert result.exit_code == (passes == FAILING)
    assert "Where the time went" in result.stderr
    assert "│ local: without workers" in result.stderr
    assert "Advice: " in result.stderr
    assert "Where the time went" not in result.stdout


def test_a_run_is_compared_with_a_serial_one_where_that_is_asked_for(model: Path):
    told = opt(model, "-p", "InferType", "-j2", "--explain-speed")
    assert "Speed-up over a serial run not measured" in " ".join(told.stderr.split())
    options = ("--explain-speed", "--compare-serial", "--statistics")
    compared = opt(model, "-p", "InferType", "-j2", "--isolate", *options)
    assert compared.stdout == TYPED
    assert re.search(r"Measured speed-up [\d.]+x", compared.stderr)
    alone = opt(model, "-p", "InferType", "--compare-serial")
    assert alone.exit_code == 2
    assert "'--compare-serial': what it measures is shown by --exp" in alone.stderr


@pytest.mark.parametrize("options", [(), ("-p", "InferType"), ("--split-input-file",)])
def test_reading_and_writing_are_part_of_where_the_time_went(
    tmp_path: Path, options: tuple[str, ...]
):
    program = tmp_path / "program.relay"
    program.write_text("def @main(%x: int8) { %x }")
    result = opt(program, *options, "--explain-speed")
    share = r"took [\d.]+ \w+, [\d.]+% of the total"
    told = f"Outside the passes: reading {share}; writing {share}$"
    assert re.search(told, " ".join(result.stderr.split()))


def test_passes_above_the_level_are_skipped_with_a_note(model: Path):
    passes = "EliminateCommonSubexpr"
    assert opt(model, "-p", passes).stderr == (
        "Note: pass 'EliminateCommonSubexpr' does not run below -O3.\n"
    )
    assert opt(model, "-p", passes, "-O3").stderr == ""


def test_a_level_alone_stands_for_its_pipeline(model: Path):
    by_level = opt(model, "-O3", "--dump-pass-pipeline")
    by_name = opt(model, "-O3", "-p", "DefaultPipeline{opt-level=3}")
    assert by_level.exit_code == 0
    assert "FoldScaleAxis" in by_level.stderr
    assert by_level.stdout == by_name.stdout
    assert "Primitive=1" in by_level.stdout
    assert "Primitive" not in opt(model).stdout


def test_a_failed_pass_is_named_with_the_function(model: Path):
    result = opt(model, "-p", FAILING)
    assert (result.exit_code, result.stdout) == (1, "")
    where = place_in(commands.FailAlways)
    assert result.stderr == (
        "Error: ValueError: it cannot be\n"
        "  in pass 'FailAlways', on function 'main'\n"
        f"  where: {where}; --traceback shows all\n"
    )


def test_the_traceback_is_shown_when_asked_for(model: Path):
    result = opt(model, "-p", FAILING, "--traceback")
    assert result.exit_code == 1
    first, place, *_ = result.stderr.splitlines()
    assert first == "Traceback (most recent call last):"
    assert place.endswith(", in transform_function")  # and none of parpass before
    assert "where: " not in result.stderr


def test_errors_of_the_program_are_shown_once(model: Path):
    result = opt(model, "-p", SAYING)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "error: a bad program\n"
        "Error: the program has errors, shown above\n"
        "  in pass 'SayError'\n"
    )


def test_a_pass_that_exits_is_a_failing_pass(model: Path):
    result = opt(model, "-p", commands.ExitAlways.pass_info.name)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "Error: SystemExit: 3\n"
        "  in pass 'ExitAlways', on function 'main'\n"
        f"  where: {place_in(commands.ExitAlways)}; --traceback shows all\n"
    )


def test_timing_can_be_json(model: Path):
    result = opt(model, "-p", "InferType,FoldConstant", "--timing=json")
    assert result.stdout == TYPED
    [whole] = json.loads(result.stderr)
    assert [one["name"] for one in whole["passes"]] == ["InferType", "FoldConstant"]
    assert whole["seconds"] >= sum(one["seconds"] for one in whole["passes"])
    assert whole["passes"][1]["passes"][0]["name"] == "InferType"
    assert opt(model, "-p", "InferType", "--timing=xml").exit_code == 2


def test_timing_can_be_csv(model: Path):
    result = opt(model, "-p", "InferType,FoldConstant", "--timing=csv")
    heading, *rows = csv.reader(result.stderr.splitlines())
    assert heading == ["pass", "depth", "seconds", "self_seconds"]
    assert [row[:2] for row in rows] == [
        ["sequential", "0"],
        ["InferType", "1"],
        ["FoldConstant", "1"],
        ["InferType", "2"],
    ]
    assert all(0 <= float(own) <= float(whole) for _, _, whole, own in rows)


@pytest.mark.parametrize("argument", ["--list-passes", "MODEL", "--list-configs"])
@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        (["--config", "no.such=1"], "invalid config option 'no.such'"),
        (["--config", "nokey"], "expected KEY=VALUE, got 'nokey'"),
        (["-O", "x"], "'x' is not a valid integer"),
    ],
)
def test_settings_are_checked_whatever_is_done(
    argument: str, option: list[str], complaint: str, model: Path
):
    result = opt(argument.replace("MODEL", str(model)), *option)
    assert (result.exit_code, result.stdout) == (2, "")
    assert complaint in result.stderr


def test_an_interrupt_is_quiet_and_the_next_one_still_interrupts(model: Path):
    before = signal.getsignal(signal.SIGINT)
    result = opt(model, "-p", INTERRUPTED)
    assert (result.exit_code, result.output) == (130, "")
    assert signal.getsignal(signal.SIGINT) is before is not signal.SIG_IGN


@pytest.mark.parametrize(
    ("passes", "complaint"),
    [
        ("FoldConstnt", "no pass named 'FoldConstnt'; did you mean 'FoldConstant'"),
        ("xyzzy", "see 'parpass opt --list-passes'"),
        ("InferType,", "column 11: expected a pass name, got the end"),
        ("", "column 1: expected a pass name, got the end"),
        ("InferType{often=true}", "pass 'InferType' has no option 'often'"),
    ],
)
def test_a_wrong_pipeline_is_a_usage_error(model: Path, passes: str, complaint: str):
    result = opt(model, "-p", passes)
    assert (result.exit_code, result.stdout) == (2, "")
    assert complaint in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere.onnx"], "'nowhere.onnx' does not exist"),
        ([], "Missing argument 'INPUT...'"),
        (["relu.onnx", "-j", "-1"], "-1 is not in the range"),
        (["relu.onnx", "-j", "many"], "'many' is not a valid integer"),
        (["relu.onnx", "-O", "x"], "'x' is not a valid integer"),
        (["relu.onnx", "-O9"], "expected a level from 0 to 4, got 9: no pass has"),
        (["relu.onnx", "-O5", "-p", "FastMath"], "expected a level from 0 to 4, got 5"),
        (["relu.onnx", "-o", "nowhere/out"], "directory 'nowhere' does not exist"),
        (["relu.onnx", "-o", "."], "is a directory"),
        (["relu.onnx", "--nope"], "No such option"),
    ],
)
def test_a_wrong_command_line_is_a_usage_error(
    model: Path, arguments: list[str], complaint: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(model.parent)
    result = opt(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert complaint in result.stderr


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x08\x12"])
def test_a_file_that_is_not_onnx_is_an_input_error(tmp_path: Path, content: bytes):
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    result = opt(path, "-p", "InferType")
    assert (result.exit_code, result.stdout) == (2, "")
    assert str(path) in result.stderr


def test_a_truncated_file_is_an_input_error(model: Path):
    whole = model.read_bytes()
    model.write_bytes(whole[: len(whole) // 2])
    result = opt(model)
    assert (result.exit_code, result.stdout) == (2, "")
    assert str(model) in result.stderr


def test_unsupported_operators_are_listed_with_their_counts(tmp_path: Path):
    path = write_model(tmp_path / "odd.onnx", "Relu", "Det", "Det", "Bernoulli")
    result = opt(path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "unsupported operators: " in result.stderr
    assert "Bernoulli (1 x)" in result.stderr
    assert "Det (2 x)" in result.stderr


def test_an_output_takes_the_place_of_a_file_when_it_is_whole(
    model: Path, tmp_path: Path
):
    output = tmp_path / "out.relay"
    output.write_text("as it was")
    output.chmod(0o640)
    link = tmp_path / "link.relay"
    link.symlink_to(output)
    assert opt(model, "-o", str(link)).exit_code == 0
    assert output.read_text().startswith("def @main")
    assert (link.is_symlink(), output.stat().st_mode & 0o777) == (True, 0o640)
    assert opt(output, "-o", str(output)).exit_code == 0  # onto what was read
    assert output.read_text().startswith("def @main")
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
def test_an_output_that_cannot_be_written_whole_leaves_the_file_as_it_was(
    model: Path, tmp_path: Path
):
    output = tmp_path / "out.relay"
    output.write_text("as it was")
    limited = (
        "import resource, signal, sys; from parpass.cli import main; "
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20)); main()"
    )
    # Python would cut bytecode off, too, for all that import that module later: -B.
    command = [sys.executable, "-B", "-c", limited, "opt", str(model)]
    ended = subprocess.run(
        [*command, "-o", str(output), "-j0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (
        2,
        f"Error: cannot write '{output}': File too large\n",
    )
    assert output.read_text() == "as it was"
    assert not list(tmp_path.glob(".*"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has it")
def test_an_output_that_cannot_be_written_is_an_input_error(model: Path):
    result = opt(model, "-o", "/dev/full")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "Error: cannot write '/dev/full': No space left on device\n"
    )


def test_help_has_every_option_and_an_example():
    text = opt("--help").stdout
    for option in ["--passes", "--jobs", "-O LEVEL", "--output", "--traceback"]:
        assert option in text
    assert "parpass opt resnet50.onnx vgg19.onnx" in text
    assert "hundreds of megabytes" in " ".join(text.split())
    assert "Exit codes: 0 ok, 1 a pass failed, 2 " in text
