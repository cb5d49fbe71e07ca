"""What the command does with Relay's programs it does with loop programs."""

from __future__ import annotations

import contextlib
import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from parpass import IRModule, save_json
from parpass.cli import main
from parpass.relay import parse
from parpass.runner import run_pipeline_sync
from parpass.transform import PassContext
from parpass.transform.debug.reproducer import Reproducer
from tests.cli.breaking_loops import PROGRAM
from tests.support.cli.calling import command
from tests.support.cpu_time import cpu_limit
from tests.support.tir.shared_loops import FAMILIES

LOAD = ("--load", "tests.cli.breaking_loops")
SMALLEST = """\
@kernel = primfn() -> () {
  @tir.exp(0f32, dtype=float32);
}
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.tir"
    path.write_text(PROGRAM)
    return path


def opt(*arguments: object, given: str | None = None) -> Result:
    return CliRunner().invoke(main, ["opt", *map(str, arguments)], input=given)


@pytest.mark.slow
def test_programs_are_written_as_they_are_read(model: Path):
    result = opt(model, "-j0")
    assert (result.exit_code, result.stdout) == (0, PROGRAM)
    assert opt("-", "-j0", given=PROGRAM).stdout == PROGRAM
    assert opt("-", "-j0", "--ir=tir", given=PROGRAM).stdout == PROGRAM


@pytest.mark.parametrize("name", ["Simplify", "tir.Simplify", "tir.transform.Simplify"])
def test_passes_go_by_tvms_names(model: Path, name: str):
    text = "@f = primfn(n: int32) -> () {{ {}; }}"
    model.write_text(text.format("n + 1 - n"))
    result = opt(model, "-j0", "-p", f"{name},InferType,UnrollLoop")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "@f = primfn(n: int32) -> () {\n  1;\n}\n"


@pytest.mark.parametrize("name", ["RemoveNoOp", "UnrollLoop"])
def test_a_small_file_of_shared_statements_is_soon_done(tmp_path: Path, name: str):
    path, out = tmp_path / "shared.json", tmp_path / "out.json"
    program = IRModule({"main": FAMILIES["sequences"]["of_statements"](60)})
    path.write_text(save_json(program))
    with cpu_limit(10):
        result = opt(path, "-p", f"tir.{name}", "-j0", "-o", out)
    assert result.exit_code == 0, result.output
    assert len(out.read_text()) < 2 * len(path.read_text())


def test_passes_are_listed_and_explained():
    listed = opt("--list-passes").stdout
    assert "UnrollLoop    " in listed
    assert "FoldConstant" in listed
    assert opt("--help-pass", "tir.UnrollLoop").stdout.startswith("tir.UnrollLoop: a")


def test_what_cannot_be_read_is_shown_with_its_place(model: Path):
    model.write_text(PROGRAM.replace("floordiv(x, 7)", "floordiv(y, 7)"))
    result = opt(model, "-j0")
    assert result.exit_code == 2
    assert "error: no variable named 'y'" in result.stderr
    shown = result.stderr.splitlines()
    at = next(n for n, line in enumerate(shown) if line.startswith("14 |"))
    assert shown[at + 1] == f"   |{' ' * (shown[at].index('(y') - 3)}^"


def test_what_passes_say_is_shown_with_its_place(model: Path):
    result = opt(model, "-j0", *LOAD, "-p", "DiagnoseLoopExp")
    assert result.exit_code == 1
    assert "model.tir:14:33\n" in result.stderr
    assert "^" * len("@tir.exp(3f32, dtype=float32)") + "\n" in result.stderr


def test_programs_are_printed_around_passes(model: Path):
    for name in ("UnrollLoop", "tir.UnrollLoop"):
        asked = f"--print-ir-after={name}"
        shown = opt(model, "-j0", "-p", "UnrollLoop,PrintIR", asked)
        assert PROGRAM.rstrip("\n") in shown.stderr
        assert "// IR Dump After tir.UnrollLoop //" in shown.stderr
        assert shown.stderr.count("@kernel = primfn(") == 2


def test_programs_are_compared(model: Path):
    other = model.with_name("other.tir")
    other.write_text(PROGRAM.replace("A_1", "z").replace("(n + x)", "n + x"))
    same = command("diff", model, other)
    assert (same.exit_code, same.output) == (0, "equal: 3 functions\n")
    other.write_text(PROGRAM.replace("0f32", "4f32"))
    found = command("diff", model, other)
    assert found.exit_code == 1
    assert "function 'kernel'" in found.output


def reproducer(path: Path, pipeline: str = "UnrollLoop,FailOnLoopExp") -> Path:
    """Return where the reproducer of a failure is."""
    context = PassContext(config={"parpass.reproducer": str(path)})
    with contextlib.suppress(ValueError):
        run_pipeline_sync(parse(PROGRAM), pipeline, context=context, workers=0)
    return path


def test_a_failure_is_replayed(tmp_path: Path):
    path = reproducer(tmp_path / "file.txt")
    found = Reproducer.from_text(path.read_text())
    assert (found.ir, found.function, found.pipeline) == (
        "tir",
        "kernel",
        "FailOnLoopExp",
    )
    assert [*parse(found.text).functions_by_name] == ["kernel"]
    result = command("replay", path)
    assert result.exit_code == 1
    assert "ValueError: no exp" in result.output


@pytest.mark.slow
def test_a_failure_is_reduced(tmp_path: Path):
    path, out = reproducer(tmp_path / "file.txt"), tmp_path / "out.txt"
    result = command("reduce", path, "-j0", "-o", out)
    assert result.exit_code == 0, result.output
    assert Reproducer.from_text(out.read_text()).text == SMALLEST


@pytest.mark.slow
def test_a_failure_is_bisected(model: Path):
    pipeline = "tir.Simplify,UnrollLoop,FailOnLoopExp"
    result = command("bisect", "-j0", *LOAD, model, "-p", pipeline)
    assert result.exit_code == 0, result.output
    first, *_, good, _ = result.stdout.splitlines()
    assert first.startswith("Pass 'FailOnLoopExp' on function 'kernel', number 8: Val")
    assert good.endswith("-o good.tir")
    assert command(*shlex.split(good)[1:], "-j0").exit_code == 0
    assert len(parse(Path("good.tir").read_text())) == 3


def test_programs_are_kept_as_json(model: Path):
    assert opt(model, "-j0", "-o", "out.json").exit_code == 0
    assert "tir.PrimFunc" in json.dumps(json.loads(Path("out.json").read_text()))
    assert opt("out.json", "-j0").stdout == PROGRAM


RUNNABLE = """\
@double = primfn(a: handle, b: handle, n: int32) -> ()
  buffers = {A: Buffer(A_1: Pointer(float32), float32, [n], []),
             B: Buffer(B_1: Pointer(float32), float32, [n], [])}
  buffer_map = {a: A, b: B} {
  for (i: int32, 0, n) {
    B[i] = (A[i]*2f32);
  }
}
@next = primfn(n: int32) -> int32 {
  @tir.ret((n + 1), dtype=int32);
}
"""


def run(path: Path, *arguments: object) -> Result:
    return CliRunner().invoke(main, ["run", str(path), *map(str, arguments)])


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (
            ("--function=double", "--input=a=a.npy", "--input=b=[0, 0, 0]"),
            "output_0: float32 (3,)\n[2. 4. 6.]\n",
        ),
        (("--function=next", "--input=n=4"), "output_0: int32 ()\n5\n"),
    ],
)
def test_what_is_written_and_returned_comes_out(
    model: Path, arguments: tuple[str, ...], printed: str
):
    model.write_text(RUNNABLE)
    np.save("a.npy", np.array([1, 2, 3], "float32"))
    result = run(model, *arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (0, printed, "")
    assert np.load("a.npy").tolist() == [1, 2, 3]


def test_what_is_not_given_is_random_and_as_long_as_what_is(model: Path):
    model.write_text(RUNNABLE)
    result = run(model, "--function=double", "--shape=a:3", "--shape=b:3", "--seed=1")
    assert result.stdout.startswith("output_0: float32 (3,)\n")
    assert run(model, "--function=double", "--input=n=5").stdout.startswith(
        "output_0: float32 (5,)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "got open ones: 'a' of Tensor[(?,), float32], 'b' of "),
        (("--input=x=1",), 2, "no parameter 'x'; there are a, b, n"),
        (("--input=a=[1]", "--input=b=[1]", "--input=n=2"), 1, "expected 2 for dim"),
    ],
)
def test_what_cannot_be_run_says_what_is_missing(
    model: Path, arguments: tuple[str, ...], code: int, message: str
):
    model.write_text(RUNNABLE)
    result = run(model, "--function=double", *arguments)
    assert result.exit_code == code
    assert message in result.stderr
