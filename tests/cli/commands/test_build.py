"""`parpass build` and `parpass cache`; libraries are run by `parpass run`."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from parpass.relay.frontend.onnx.operators import CONVERTERS
from parpass.report.profile import decoded_profile
from parpass.target import code_gen
from tests.support.cli.calling import command as parpass
from tests.support.cli.commands import write_model, write_open_model
from tests.support.runner.pooled import POOLED, folders

X = "x=[[1, -2, 3], [4, 5, -6]]"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder of one's own, for files and for what is kept."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARPASS_CACHE_DIR", str(tmp_path / "kept"))
    write_model(tmp_path / "model.onnx", "Relu", "Sqrt")
    return tmp_path


def test_a_network_is_built_and_run(folder: Path):
    result = parpass("build", "model.onnx", "-o", "net.so", "-j0")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "compiling 1 of 1 kernels..." in result.stderr
    result = parpass("run", "net.so", "--input", X, "-o", "y.npy")
    assert (result.exit_code, result.output) == (0, "")
    expected = np.sqrt(np.array([[1, 0, 3], [4, 5, 0]], "float32"))
    np.testing.assert_allclose(np.load(folder / "y.npy"), expected, rtol=1e-6)
    assert parpass("run", "net.so").stdout.startswith("output_0: float32 (2, 3)")


def test_the_second_build_takes_what_is_kept(folder: Path):
    build = ("build", "model.onnx", "-j0", "-o")
    parpass(*build, "one.so")
    result = parpass("cache")
    assert result.stdout.startswith(f"objects kept in {folder / 'kept'}: 1, 0.0 MB")
    assert "compiling" not in parpass(*build, "two.so").stderr
    assert (folder / "one.so").read_bytes() == (folder / "two.so").read_bytes()
    assert "compiling 1 of 1" in parpass(*build, "three.so", "--no-cache").stderr
    assert ": 1, " in parpass("cache", "--clear").stdout
    assert ": 0, " in parpass("cache").stdout
    assert "compiling 1 of 1" in parpass(*build, "four.so").stderr


@pytest.mark.usefixtures("no_program")
def test_a_build_with_a_cache_says_what_one_without_says(folder: Path):
    build = ("build", "model.onnx", "-j0", "-q", "--statistics=csv", "-o", "net.so")
    expected = parpass(*build, "--no-cache").output, (folder / "net.so").read_bytes()
    found: list[str] = []
    for more in ([], [], ["--cache=kept"], ["--verify-cache=1"]):
        result = parpass(*build, "--cache", *more)
        assert (result.output, (folder / "net.so").read_bytes()) == expected
        shown = parpass(*build, "--cache", *more, "--explain-speed").stderr
        found += re.findall(r"(\d) of 1 function from the cache", shown)[-1:]
    assert found == ["1", "1", "1", "0"]
    assert "got both" in parpass(*build, "--cache", "--no-cache").stderr
    assert parpass("cache").stdout.startswith(f"objects kept in {folder / 'kept'}: ")


@pytest.mark.usefixtures("no_program")
def test_a_cache_knows_a_model_wherever_it_is(folder: Path):
    found: list[str] = []
    for place in ("one", "two"):
        (folder / place).mkdir()
        model = write_model(folder / place / "model.onnx", "Relu", "Sqrt")
        for path in (model, model.relative_to(folder)):
            build = ("build", str(path), "-j0", "-q", "-o", "net.so", "--cache")
            shown = parpass(*build, "--explain-speed").stderr
            found += re.findall(r"(\d) of 1 function from the cache", shown)[-1:]
    assert found == ["0", "1", "1", "1"]


def test_it_is_shown_where_the_time_went_or_nothing():
    build = ("build", "model.onnx", "-o", "net.so", "-j0", "--quiet")
    assert parpass(*build).output == ""
    shown = parpass(*build, "--explain-speed", "--no-cache").stderr
    for part in ("lowering", "passes on loops", "LLVM", "link"):
        assert f"│ {part}" in shown


def test_what_has_a_long_text_for_llvm_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(code_gen, "LARGE_TEXT", 100)
    build = ("build", "model.onnx", "-o", "net.so", "-j0", "--explain-speed")
    shown = parpass(*build).stderr
    assert re.search(r"\nSlow for LLVM: 'fused_\w+': its text has [\d,]+ char", shown)


def test_a_header_is_written_for_c(folder: Path):
    result = parpass("build", "model.onnx", "-o", "net.so", "--header", "net.h", "-j0")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "int32_t default_run(" in (folder / "net.h").read_text()


def test_what_numpy_computes_is_named(folder: Path):
    (folder / "sort.relay").write_text(
        "def @main(%x: Tensor[(2, 3), float32]) { sort(%x, axis=-1) }"
    )
    result = parpass("build", "sort.relay", "-o", "net.so", "-j0", "--explain-speed")
    told = (
        "Note: no lowering rule applies to these functions, so numpy computes them: "
        "fused_sort\n"
    )
    assert told in result.stderr
    why = r"\nComputed by numpy: 'fused_sort_\w+': no rule for 'sort'\n"
    assert re.search(why, result.stderr)
    result = parpass("run", "net.so", "--input", X)
    assert result.stdout.endswith("[[-2.  1.  3.]\n [-6.  4.  5.]]\n")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("build", "model.onnx", "-o", "none/x.so"), 2, "'none' does not exist"),
        (("build", "model.onnx", "-o", "kept"), 2, "a file, got the folder 'kept'"),
        (("build", "model.onnx", "-o", "x.so", "--target=gpu"), 2, "'--target'"),
        (("build", "model.onnx", "-o", "x.so", "-O5"), 2, "a level from 0 to 4, got 5"),
        (("build", "if.relay", "-o", "x.so", "-j0"), 1, "CodeGenError: expected calls"),
        (("build", "other.relay", "-o", "x.so", "-j0"), 2, "a function 'main'"),
        (("run", "wrong.so"), 2, "is no library of parpass"),
        (("run", "net.so", "--input", "y=1"), 2, "no parameter 'y'; there are x"),
        (("run", "net.so", "--input", "x=1"), 2, "expected shape (2, 3) for input"),
        (("run", "net.so", "--function", "f"), 2, "has one network, its 'main'"),
    ],
)
def test_what_is_wrong_is_told(
    folder: Path, words: tuple[str, ...], code: int, told: str
):
    kind = "%c: bool, %x: float32"
    (folder / "if.relay").write_text(
        f"def @main({kind}) {{ if (%c) {{ %x }} else {{ exp(%x) }} }}"
    )
    (folder / "other.relay").write_text("def @f(%x: float32) { exp(%x) }")
    (folder / "wrong.so").write_bytes(b"\x7fELF" * 40)
    (folder / "kept").mkdir(exist_ok=True)
    if words[1] == "net.so":
        parpass("build", "model.onnx", "-o", "net.so", "-j0")
    result = parpass(*words)
    assert result.exit_code == code
    assert told in " ".join(result.stderr.split())


@pytest.fixture
def several(folder: Path) -> tuple[str, ...]:
    """Give three networks, and a folder for their libraries."""
    write_model(folder / "relus.onnx", "Relu", "Relu", "Exp")
    (folder / "sort.relay").write_text(
        "def @main(%x: Tensor[(2, 3), float32]) { sort(%x, axis=-1) }"
    )
    (folder / "libs").mkdir()
    return "build", "relus.onnx", "sort.relay", "model.onnx", "-o", "libs"


def test_several_networks_are_built_as_each_alone(
    folder: Path, several: tuple[str, ...]
):
    result = parpass(*several, "-j0")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == (
        "simplifying 3 networks, and fusing their operators...\n"
        "compiling 3 of 3 kernels...\n"
        "Note: no lowering rule applies to these functions of 'sort', so numpy "
        "computes them: fused_sort\n"
    )
    found = {path.name: path.read_bytes() for path in (folder / "libs").iterdir()}
    assert sorted(found) == ["model.so", "relus.so", "sort.so"]
    for file in several[1:4]:
        parpass("build", file, "-o", "alone.so", "-j0", "--no-cache")
        name = f"{Path(file).stem}.so"
        assert found[name] == (folder / "alone.so").read_bytes()
    result = parpass(*several, "-q", "--no-cache", "--explain-speed", "--report=r.html")
    assert result.exit_code == 0
    assert "Computed by numpy: 'fused_sort" in result.stderr
    assert "FuseNetwork" in (folder / "r.html").read_text()
    for name, content in found.items():
        assert (folder / "libs" / name).read_bytes() == content


def test_of_several_networks_none_is_written_if_one_fails(
    folder: Path, several: tuple[str, ...]
):
    kind = "%c: bool, %x: float32"
    (folder / "sort.relay").write_text(
        f"def @main({kind}) {{ if (%c) {{ %x }} else {{ exp(%x) }} }}"
    )
    found = [parpass(*several, f"-j{jobs}", "-q", "--no-cache") for jobs in (0, 2)]
    for result in found:
        assert (result.exit_code, result.stdout) == (1, "")
        assert "Error: CodeGenError: expected calls" in result.stderr
        assert "in network 'sort'" in result.stderr
        assert not [*(folder / "libs").iterdir()]
    assert found[0].stderr == found[1].stderr


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--header=x.h",), "--header is for one INPUT, got 3"),
        (("--emit-map=x.json",), "--emit-map is for one INPUT, got 3"),
        (
            ("-o", "none"),
            "expected a folder that exists for 3 libraries, got 'none'",
        ),
        (("./relus.onnx",), "'relus.onnx' and 'relus.onnx' would be one file"),
        (("--report=libs/sort.so",), "-o, for sort.relay also writes to 'libs/sort.so"),
        (("-", "-"), "expected '-' at most once"),
        (("other.relay",), "other.relay: expected a Relay program with a function 'ma"),
    ],
)
def test_what_several_networks_cannot_have_is_told_before_anything_is_built(
    folder: Path, several: tuple[str, ...], more: tuple[str, ...], told: str
):
    (folder / "other.relay").write_text("def @f(%x: float32) { exp(%x) }")
    result = parpass(*several, *more)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())
    assert not [*(folder / "libs").iterdir()]


_WAITS = """\
import os
import time
from parpass.relay.backend.lowering import register_injective

@register_injective("exp")
def waits(call, at):
    with open("begun", "w") as pipe:
        pipe.write(str(os.getppid()))
    time.sleep(600)
"""


@pytest.mark.slow
def test_an_interrupt_between_kernels_of_several_networks_leaves_nothing(
    folder: Path, several: tuple[str, ...]
):
    (folder / "rules.py").write_text(_WAITS)
    os.mkfifo(folder / "begun")
    pooled = [f"--config={key}={value}" for key, value in POOLED.items()]
    words = [sys.executable, "-m", "parpass", *several, "-q", "-j2", "--load=rules.py"]
    with subprocess.Popen(
        [*words, *pooled], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            # The worker's parent, once it lowers the kernel.
            coordinator = int((folder / "begun").read_text())
            assert folders(coordinator)
            process.send_signal(signal.SIGINT)
            ended = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, *ended) == (130, b"", b"")
    assert not [*(folder / "libs").iterdir()]
    assert not folders(coordinator)


def test_a_build_is_watched_by_the_options_of_opt(folder: Path):
    build = ("build", "model.onnx", "-j0", "-q", "--no-cache", "-o")
    assert parpass(*build, "plain.so").output == ""
    files = ("--profile=p.json", "--profile-memory", "--repeat=2", "--dump-ir=dump")
    shown = ("--timing=csv", "--statistics", "--print-ir-after=tir.VectorizeLoop")
    result = parpass(*build, "net.so", *files, *shown, "--filter-print-funcs=fused*")
    assert (result.exit_code, result.stdout) == (0, "")
    assert (folder / "net.so").read_bytes() == (folder / "plain.so").read_bytes()

    profile = decoded_profile((folder / "p.json").read_bytes(), "p.json")
    assert (profile.pipeline, len(profile.runs)) == ("parpass build -O3", 2)
    for run in profile.runs:
        assert {"FuseOps", "LowerToTIR", "target.CodeGen"} <= run.passes.keys()
        assert run.memory is not None
        assert run.memory.passes["LowerToTIR"] > 1000
    before, kernel = sorted((folder / "dump").iterdir())
    assert kernel.name.startswith(f"{before.name}_")
    lowered = (kernel / "001_LowerToTIR.relay").read_text()
    assert lowered.startswith("// parpass opt 000_before.relay --load ")
    assert f"@{kernel.name}(" in (kernel / "000_before.relay").read_text()
    assert result.stderr.count("// IR Dump After tir.VectorizeLoop") == 1
    assert "\nLowerToTIR,1," in result.stderr
    assert "pass  " in result.stderr


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--print-ir-after=FuseOp", "no pass matches 'FuseOp'; did you mean 'FuseOps'"),
        ("--dump-ir-limit=1M", "nothing is dumped without --dump-ir DIR"),
        ("--header=net.so", "-o also writes to 'net.so'; choose another"),
        ("--verify-cache=1", "there is no cache to verify; add --cache"),
        ("--repeat=2", "runs are repeated for --profile OUT, which is not given"),
    ],
)
def test_options_that_cannot_be_are_told_before_anything_is_built(
    folder: Path, option: str, told: str
):
    result = parpass("build", "model.onnx", "-o", "net.so", option)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())
    assert not (folder / "net.so").exists()


def test_open_dimensions_are_listed_with_a_command_to_copy(folder: Path):
    write_open_model(folder / "open.onnx")
    build = ("build", "open.onnx", "-o", "net.so", "-j0", "-q", "--const", "rate=16000")
    result = parpass(*build)
    *advice, command = result.stderr.splitlines()
    assert result.exit_code == 2
    assert "".join(advice) == (
        "Error: open.onnx: the shapes of its inputs must be known; open are 'x' of "
        "(batch, ?), 'y' of (batch, 3); set lengths by --dim, or whole shapes by "
        "--shape, with your lengths instead of 1:"
    )
    assert command == (
        "  parpass build open.onnx -o net.so -j0 -q --const rate=16000 --dim batch=1 "
        "--dim '*=1'"
    )
    copied = shlex.split(command.replace("*=1", "*=3"))[1:]
    assert parpass(*copied).exit_code == 0
    given = ("--input", "x=[[1, 2, 3]]", "--input", "y=[[1, 1, 1]]")
    assert parpass("run", "net.so", *given).stdout == (
        "output_0: float32 (1, 1)\n[[9.]]\n"
    )


def test_a_fixed_input_selects_the_branch_that_is_built(folder: Path):
    write_open_model(folder / "open.onnx")
    np.save(folder / "rate.npy", np.array(8000))
    build = ("build", "open.onnx", "-o", "net.so", "-j0", "-q", "--dim=*=3", "--dim")
    result = parpass(*build, "batch=2")
    assert result.exit_code == 2
    assert "node 3 (If 'z'): graphs that give" in result.stderr
    assert "inputs fixed by --const" in result.stderr
    assert parpass(*build, "batch=2", "--const", "rate=rate.npy").exit_code == 0
    assert parpass("run", "net.so").stdout.startswith("output_0: float32 ()")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--dim", "batch"), "expected NAME=1, or '*=1' for all, got 'batch'"),
        (("--dim", "batch=-1"), "expected NAME=1, or '*=1' for all, got 'batch=-1'"),
        (("--dim", "bath=1"), "--dim names 'bath', but no model has such a dimension"),
        (("--const", "rate"), "Invalid value for '--const': expected NAME=VALUE, got"),
        (("--const", "rate=[1"), "Invalid value for '--const': expected a .npy file"),
        (("--const", "rat=1"), "--const names 'rat', but no model has such an input"),
        (("--const", "rate=[1, 2]"), "--const: expected a value of int64 for input"),
    ],
)
def test_what_is_said_of_inputs_is_checked(
    folder: Path, arguments: tuple[str, ...], complaint: str
):
    write_open_model(folder / "open.onnx")
    result = parpass("build", "open.onnx", "-o", "net.so", "--dim=*=1", *arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr


@pytest.mark.parametrize("option", ["--shape=x:1", "--dim=n=1", "--const=x=1"])
def test_programs_take_no_shapes_of_models(folder: Path, option: str):
    (folder / "net.relay").write_text("def @main(%x: Tensor[(?), float32]) { %x }")
    result = parpass("build", "net.relay", "-o", "net.so", option)
    name = option.partition("=")[0]
    assert (result.exit_code, result.stderr) == (
        2,
        f"Error: {name} is for the inputs of ONNX models\n",
    )


def test_libraries_take_no_shapes_of_models():
    parpass("build", "model.onnx", "-o", "net.so", "-j0", "-q")
    result = parpass("run", "net.so", "--shape", "x:2,3")
    assert (result.exit_code, result.stderr) == (
        2,
        "Error: --shape is for the inputs of ONNX models\n",
    )


def test_open_shapes_of_programs_are_named_together(folder: Path):
    text = "def @main(%x: Tensor[(?), int8], %y: Tensor[(?, 2), int8]) { %x }"
    (folder / "net.relay").write_text(text)
    result = parpass("build", "net.relay", "-o", "net.so")
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: net.relay: expected known shapes for the graph executor, got open ones "
        "of the parameters 'x' of Tensor[(?,), int8], 'y' of Tensor[(?, 2), int8]; "
        "write them into the program, or use 'parpass run', which takes the shapes of "
        "--input\n"
    )


def test_what_cannot_be_imported_is_one_message_and_a_traceback_if_it_is_asked_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    def careless(_node: object) -> None:
        raise IndexError("out of range")

    monkeypatch.setitem(CONVERTERS, "Relu", careless)
    result = parpass("build", "model.onnx", "-o", "net.so")
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: model.onnx: node 1 (Relu 'v0'): it cannot be imported: IndexError: out "
        "of range (inputs: x: Tensor[(2, 3), float32])\n"
    )
    shown = parpass("build", "model.onnx", "-o", "net.so", "--traceback").stderr
    assert shown.startswith("Traceback (most recent call last):")
    assert shown.endswith(result.stderr)
