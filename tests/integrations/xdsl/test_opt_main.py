"""`parpass mlir-opt` shows what `xdsl-opt` shows: output, exit code and messages."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from xdsl.transforms.experimental.func_to_pdl_rewrite import FuncToPdlRewrite

from parpass.errors import SlowerRunWarning
from parpass.integrations.xdsl import xdsl_codec
from parpass.integrations.xdsl.parallel_run import ParallelRun
from parpass.runner import Runner, open_runner
from tests.integrations.xdsl.xdsl_opt_runs import Outcome, by_mlir_opt, by_xdsl_opt

PROGRAM = """\
#map = affine_map<(d0) -> (d0 + 1)>
builtin.module attributes {own = 1 : i32} {
  func.func private @outside(i32) -> ()
  func.func @first(%a: i32) -> i32 {
    %zero = arith.constant 0 : i32
    %0 = arith.addi %a, %zero : i32
    %1 = func.call @second(%0) : (i32) -> i32
    "test.op"() {m = #map} : () -> () loc("a.py":1:2)
    func.return %1 : i32
  }
  "test.op"() : () -> ()
  func.func @second(%a: i32) -> i32 {
    %0 = arith.muli %a, %a : i32
    %1 = arith.muli %a, %a : i32
    %2 = arith.addi %0, %1 : i32
    func.call @outside(%2) : (i32) -> ()
    func.return %2 : i32
  }
}
"""
UNKNOWN = 'func.func @f() {\n  "un.known"() : () -> ()\n  func.return\n}\n'
SYNTAX = "func.func @f() {\n  func.return\n}\nfunc.func @g() {\n  func.retur\n}\n"
WRONG = """\
func.func @f() {
  func.return
}
func.func @g(%a : i32) -> i64 {
  func.return %a : i32
}
"""
REGISTERS = """\
riscv_func.func @f() {
  %0 = rv32.li 6 : !riscv.reg
  riscv_func.return
}
riscv_func.func @g() {
  %0 = rv32.li 6 : !riscv.reg
  riscv_func.return
}
"""
RESOURCES = """\
func.func @f() {
  "test.op"() {v = dense_resource<one> : tensor<1xf32>} : () -> ()
  func.return
}
{-#
  dialect_resources: { builtin: { one: "0x0400000000000080" } }
#-}
"""
LOCAL = "canonicalize,cse"
DIAGNOSTICS = ["--split-input-file", "--verify-diagnostics", "--parsing-diagnostics"]


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    # Isolated, so that all that can go to a worker does.
    with open_runner(workers=2, isolated=True) as opened:
        yield opened


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (PROGRAM, ["-p", LOCAL]),
        (PROGRAM, []),
        (PROGRAM, ["-p", "func-to-pdl-rewrite,cse"]),
        (PROGRAM, ["-p", f"{LOCAL},convert-func-to-riscv-func,dce"]),
        (PROGRAM, ["-p", LOCAL, "--print-op-generic"]),
        (PROGRAM, ["-p", LOCAL, "--print-debuginfo"]),
        (PROGRAM, ["-p", LOCAL, "--print-between-passes"]),
        (PROGRAM, ["-p", LOCAL, "--time-passes"]),
        (PROGRAM, ["-p", LOCAL, "--syntax-highlight"]),
        (PROGRAM, ["-p", LOCAL, "--disable-verify"]),
        (PROGRAM, ["-p", LOCAL, "--no-implicit-module"]),
        (PROGRAM, ["-p", "cse,nonesuch"]),
        (PROGRAM, ["-t", "nonesuch"]),
        (PROGRAM, ["-p", "cse", "-t", "riscv-asm"]),
        (PROGRAM, ["--shrink"]),
        (PROGRAM.replace("\n", "\r\n"), ["-p", LOCAL]),
        (PROGRAM.replace("@second(%a", "@first(%a"), ["-p", LOCAL]),
        (UNKNOWN, ["-p", LOCAL]),
        (UNKNOWN, ["-p", LOCAL, "--allow-unregistered-dialect"]),
        (SYNTAX, ["-p", LOCAL]),
        (SYNTAX, ["-p", LOCAL, "--parsing-diagnostics"]),
        (WRONG, ["-p", LOCAL]),
        (WRONG, ["-p", LOCAL, "--verify-diagnostics"]),
        (REGISTERS, ["-p", "riscv-allocate-registers{add-regalloc-stats=true}"]),
        (
            f"{PROGRAM}// -----\n{WRONG}// -----\n{SYNTAX}// -----\n{PROGRAM}",
            ["-p", LOCAL, *DIAGNOSTICS],
        ),
        ("", []),
    ],
)
def test_in_workers_all_is_as_by_xdsl(text: str, arguments: list[str], runner: Runner):
    given = text.encode()
    expected = by_xdsl_opt(arguments, given)
    assert by_mlir_opt(runner, arguments, given) == expected


def test_resources_are_written_after_the_module(runner: Runner, tmp_path: Path):
    # Their names are given out once in a process.
    path = tmp_path / "resources.mlir"
    path.write_text(RESOURCES)
    told = by_mlir_opt(runner, [str(path), "-p", LOCAL])
    assert told.code == 0
    assert b'one: "0x0400000000000080"' in told.output


FAILING = """\
func.func @f(%m: memref<?x?xf32, affine_map<(a, b) -> (b, a)>>, %i: index) -> f32 {
  %v = memref.load %m[%i, %i] : memref<?x?xf32, affine_map<(a, b) -> (b, a)>>
  func.return %v : f32
}
"""


@pytest.mark.parametrize(
    ("passes", "text", "expected"),
    [
        (
            f"{LOCAL},convert-func-to-riscv-func,{LOCAL},dce",
            PROGRAM,
            [("parse", True), ("apply", True)],
        ),
        ("convert-memref-to-ptr,cse", FAILING, [("parse", False)]),  # not once more
    ],
)
def test_what_is_to_be_had_from_workers_comes_from_them(
    passes: str,
    text: str,
    expected: list[tuple[str, bool]],
    runner: Runner,
    monkeypatch: pytest.MonkeyPatch,
):
    done: list[tuple[str, bool]] = []

    def told(name: str) -> None:
        usual = getattr(ParallelRun, name)

        def method(*given: Any, **named: Any) -> Any:
            result = usual(*given, **named)
            done.append((name, bool(result)))
            return result

        monkeypatch.setattr(ParallelRun, name, method)

    told("parse")
    told("apply")
    given = ["-p", passes], text.encode()
    assert by_mlir_opt(runner, *given) == by_xdsl_opt(*given)
    assert done == expected


def test_of_a_program_that_fails_in_workers_nothing_of_it_is_shown(
    runner: Runner, recwarn: pytest.WarningsRecorder
):
    expected = by_xdsl_opt(["-p", LOCAL], WRONG.encode())
    assert by_mlir_opt(runner, ["-p", LOCAL], WRONG.encode()) == expected
    assert expected.code == 1
    assert not recwarn.list


@pytest.mark.parametrize("passes", ["cse,func-to-pdl-rewrite", "func-to-pdl-rewrite"])
def test_what_fails_after_workers_have_helped_is_run_once_more_by_xdsl(
    passes: str, runner: Runner, monkeypatch: pytest.MonkeyPatch
):
    failing = False

    def apply(self: FuncToPdlRewrite, ctx: Any, op: Any) -> None:
        nonlocal failing
        print("seen")  # noqa: T201 -- which is shown once
        failing, fails = False, failing
        if fails:  # as one that needs what only verification here would have filled
            raise TypeError("not iterable")

    monkeypatch.setattr(FuncToPdlRewrite, "apply", apply)
    given = ["-p", passes], PROGRAM.encode()
    expected = by_xdsl_opt(*given)
    assert (expected.code, expected.output[:5]) == (0, b"seen\n")
    failing = True
    assert by_mlir_opt(runner, *given) == expected
    assert not failing


def test_what_fails_before_workers_have_helped_is_raised_as_it_is(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
):
    tried: list[Any] = []

    def apply(self: FuncToPdlRewrite, ctx: Any, op: Any) -> None:
        tried.append(op)
        raise TypeError("not iterable")

    monkeypatch.setattr(FuncToPdlRewrite, "apply", apply)
    given = PROGRAM.replace("\n", "\r\n").encode()  # which workers do not parse
    made = by_mlir_opt(runner, ["-p", "func-to-pdl-rewrite"], given)
    assert "not iterable" in made.error
    assert len(tried) == 1


def test_an_untested_release_is_named_and_runs_by_xdsl_alone(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(xdsl_codec, "TESTED", ("0.0.0", "0.0.1"))
    xdsl_codec.is_tested.cache_clear()
    try:
        with pytest.warns(SlowerRunWarning, match=r"0\.0\.0 and 0\.0\.1"):
            told = by_mlir_opt(runner, ["-p", LOCAL], PROGRAM.encode())
    finally:
        xdsl_codec.is_tested.cache_clear()
    assert told == by_xdsl_opt(["-p", LOCAL], PROGRAM.encode())


def _run(command: list[str], given: str) -> Outcome:
    made = subprocess.run(
        [sys.executable, *command],
        input=given.encode(),
        capture_output=True,
        check=False,
    )
    last = made.stderr.decode().rstrip().rpartition("\n")[2]
    return Outcome(
        made.stdout, last.replace("parpass mlir-opt", "xdsl-opt"), made.returncode
    )


XDSL_OPT = ["-c", "import sys; sys.argv[0] = 'xdsl-opt'\n"]
XDSL_OPT[1] += "from xdsl.tools.xdsl_opt import main; main()"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (PROGRAM, ["-p", LOCAL]),
        (WRONG, ["-p", LOCAL]),
        (PROGRAM, ["nonesuch.mlir"]),
        (PROGRAM, ["--nonesuch"]),
        ("", ["--version"]),
    ],
)
def test_the_commands_show_the_same(text: str, arguments: list[str]):
    expected = _run([*XDSL_OPT, *arguments], text)
    small = _run(["-m", "parpass", "mlir-opt", *arguments], text)
    assert small == expected
    large = ["--threshold", "0", "-j2"]
    assert _run(["-m", "parpass", "mlir-opt", *arguments, *large], text) == expected
