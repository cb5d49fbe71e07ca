"""The command reads MLIR's text, and writes what xDSL's own command writes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline

from parpass.cli import main
from parpass.errors import UnreadFunctionError
from parpass.integrations.xdsl import FUNCTION_LOCAL
from parpass.integrations.xdsl.context_spec import universe
from parpass.integrations.xdsl.owned_ops import UnparsedOps
from parpass.integrations.xdsl.xdsl_adapter import MLIRFormat
from parpass.integrations.xdsl.xdsl_passes import pass_of
from parpass.runner import Runner
from parpass.transform import PassContext, Sequential, parse_pipeline, print_pipeline
from parpass.transform.debug.reproducer import Reproducer
from tests.integrations.xdsl.test_xdsl_codec import FILECHECK
from tests.integrations.xdsl.xdsl_programs import context, parsed
from tests.support.cli.calling import command
from tests.support.runner.pooled import POOLED

PROGRAM = """\
#map = affine_map<(d0) -> (d0 + 1)>
builtin.module {
  func.func private @outside(i32) -> ()
  func.func @first(%a: i32) -> i32 {
    %zero = arith.constant 0 : i32
    %0 = arith.addi %a, %zero : i32
    %1 = func.call @second(%0) : (i32) -> i32
    "odd.op"() {m = #map} : () -> ()
    func.return %1 : i32
  }
  func.func @second(%a: i32) -> i32 {
    %0 = arith.muli %a, %a : i32
    %1 = arith.muli %a, %a : i32
    %2 = arith.addi %0, %1 : i32
    func.call @outside(%2) : (i32) -> ()
    func.return %2 : i32
  }
}
"""


def by_xdsl(text: str, passes: str) -> str:
    def verify(_before: object, mod: ModuleOp, _after: object) -> None:
        mod.verify()

    module, known = parsed(text), universe().all_passes
    pipeline = PassPipeline.parse_spec(known, passes, verify)
    pipeline.apply(context(), module)
    return str(module) + "\n"


def passes_of(text: str) -> Sequential:
    known = universe().all_passes
    return Sequential([pass_of(p) for p in PassPipeline.parse_spec(known, text).passes])


def by_parpass(text: str, passes: str) -> str:
    programs = MLIRFormat()
    return programs.astext(passes_of(passes)(programs.parse(text, "x")))


def opt(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["opt", "--quiet", *arguments])


@pytest.mark.slow
@pytest.mark.parametrize("passes", ["canonicalize,cse", "apply-pdl,dce,canonicalize"])
def test_workers_parse_and_print_and_the_text_is_that_of_xdsl(
    passes: str, runner: Runner
):
    programs = MLIRFormat()
    read = programs.parse(PROGRAM, "a.mlir")
    assert [
        name for name, box in read.functions.items() if isinstance(box, UnparsedOps)
    ] == [
        "first",
        "second",
    ]
    with PassContext(config=dict(POOLED)):
        there = runner.run_sync(read, passes_of(passes))
    here = passes_of(passes)(programs.parse(PROGRAM, "a.mlir"))
    expected = by_xdsl(PROGRAM, passes)
    assert programs.astext(there) == programs.astext(here) == expected


def test_what_is_read_and_written_without_passes_is_the_text_of_xdsl(tmp_path: Path):
    path = tmp_path / "a.mlir"
    path.write_text(PROGRAM)
    assert opt(str(path)).output == by_xdsl(PROGRAM, "dce")


@pytest.mark.slow
def test_the_command_knows_the_passes_and_their_options(tmp_path: Path):
    path = tmp_path / "a.mlir"
    path.write_text(PROGRAM)
    result = opt(str(path), "-p", "canonicalize,cse", "-j0")
    assert result.output == by_xdsl(PROGRAM, "canonicalize,cse")
    wrong = opt(str(path), "-p", "canonicalise")
    assert "did you mean 'canonicalize'" in wrong.output
    wrong = opt(str(path), "-p", "riscv-allocate-registers{stats=true}")
    assert "has no option 'stats'; it has 'allocation_strategy'" in wrong.output


def test_pipelines_with_options_are_printed_as_they_are_read():
    text = 'riscv-allocate-registers{allocation_strategy="a b" force_infinite=true},cse'
    assert print_pipeline(parse_pipeline(text)) == text


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_errors_in_a_function_have_the_line_of_the_file(
    workers: int, runner: Runner, tmp_path: Path
):
    wrong = PROGRAM.replace("%2 = arith.addi %0, %1 : i32", "%2 = arith.addi %0 : i32")
    read = MLIRFormat().parse(wrong, "a.mlir")
    config = dict(POOLED) if workers else {}
    for policy in ("fail", "skip", "retry"):
        with PassContext(config=config), pytest.raises(UnreadFunctionError) as failure:
            runner.run_sync(read, passes_of("cse"), on_failure=policy)
        assert str(failure.value).startswith("a.mlir:14:24\n")
        assert not hasattr(failure.value, "__notes__")
        [told] = failure.value.diagnostics
        assert str(told.span) == "a.mlir:14:24"
        assert told.message == "Expected ','"


def test_the_line_on_which_a_function_begins_is_as_in_the_file():
    wrong = PROGRAM.replace("func.func @second(%a:", "func.func @second(%a;")
    read = MLIRFormat().parse(wrong, "a.mlir")
    with pytest.raises(UnreadFunctionError, match=r"^a.mlir:11:23\n"):
        passes_of("cse")(read)


@pytest.mark.slow
def test_a_program_is_verified_before_the_first_pass():
    wrong = PROGRAM.replace("func.return %1 : i32", "func.return")
    read = MLIRFormat().parse(wrong, "a.mlir")
    with pytest.raises(Exception, match=r"func\.return") as failure:
        passes_of("cse")(read)
    assert "in pass 'cse', on function 'first'" in failure.value.__notes__


OWN = '''
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.passes import ModulePass

from parpass.integrations.xdsl import (
    function_local, register_dialect, register_xdsl_pass
)


@irdl_op_definition
class OwnOp(IRDLOperation):
    name = "own.op"
    assembly_format = "attr-dict"


register_dialect(Dialect("own", [OwnOp]))


@register_xdsl_pass
@function_local
@dataclass(frozen=True)
class Refuse(ModulePass):
    """Refuses a function."""

    name = "refuse"
    function: str = ""

    def apply(self, ctx, op):
        for one in op.ops:
            if not isinstance(one, FuncOp) or one.is_declaration:
                continue
            if one.sym_name.data == self.function:
                raise ValueError(f"{self.function} is refused")
'''


@pytest.mark.slow
def test_own_dialects_and_passes_are_loaded_and_failures_are_replayed(
    tmp_path: Path,
):
    (tmp_path / "own.py").write_text(OWN)
    path, failure = tmp_path / "a.mlir", tmp_path / "failure.mlir"
    path.write_text(PROGRAM.replace('"odd.op"() {m = #map} : () -> ()', "own.op"))
    load = ["--load", str(tmp_path / "own.py")]
    passes = ["-p", "cse,refuse{function=second}"]
    result = opt(str(path), *load, *passes, "--reproducer", str(failure), "-j0")
    assert "second is refused" in result.output
    assert "in pass 'refuse', on function 'second'" in result.output
    replayed = CliRunner().invoke(main, ["replay", str(failure)])
    assert "Reproduced the same failure." in replayed.output
    there = ["-j2", "--config", "parpass.asking_workers_seconds=0.0"]
    skipped = opt(str(path), *load, *passes, *there, "--on-failure", "skip")
    assert skipped.exit_code == 0
    assert "own.op" in skipped.output


RESOURCES = """\
builtin.module {
  func.func @f() -> tensor<1xf32> {
    %0 = arith.constant dense_resource<weights_of_f> : tensor<1xf32>
    func.return %0 : tensor<1xf32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      weights_of_f: "0x08000000041A503E"
    }
  }
#-}
"""


def test_dialect_resources_are_kept(tmp_path: Path):
    path = tmp_path / "a.mlir"
    path.write_text(RESOURCES)
    result = opt(str(path), "-p", "cse,printf-to-llvm", "-j0")
    assert result.output == RESOURCES


def test_what_cannot_be_read_is_no_failure_of_a_pass(tmp_path: Path):
    path, failure = tmp_path / "a.mlir", tmp_path / "failure.mlir"
    path.write_text(PROGRAM.replace("arith.muli %a", "arith.mulli %a"))
    passes = ["-p", "cse", "-j0", "--reproducer", str(failure)]
    for extra in (
        [],
        passes,
        [*passes, "--on-failure", "skip"],
        ["-p", "printf-to-llvm"],
    ):
        result = opt(str(path), *extra)
        assert result.exit_code == 2
        assert f"Error: the program cannot be read\n{path}:12:" in result.stderr
        assert "pass '" not in result.stderr
        assert not failure.exists()


@pytest.mark.parametrize(
    "words",
    ["bisect {} -p cse --check true -j0", "diff {} {} -q", "replay {}", "opt {}"],
)
def test_each_command_tells_what_cannot_be_read(tmp_path: Path, words: str):
    path, head = tmp_path / "a.mlir", ""
    if words.startswith("replay"):
        made = Reproducer(
            error="ValueError: x",
            pass_name="cse",
            function=None,
            ir="mlir",
            pipeline="cse",
            text=PROGRAM,
        )
        head = made.to_text().removesuffix(PROGRAM)
    path.write_text(head + PROGRAM.replace("arith.muli %a", "arith.mulli %a"))
    result = command(*words.replace("{}", str(path)).split())
    line = 12 + head.count("\n")
    assert result.exit_code == 2
    assert result.stderr.startswith(
        f"Error: the program cannot be read\n{path}:{line}:"
    )


def test_a_bisection_with_a_pass_of_another_ir_says_so(tmp_path: Path):
    path = tmp_path / "a.mlir"
    path.write_text(PROGRAM)
    result = command("bisect", path, "-p", "cse,InferType", "--check", "true", "-j0")
    assert result.exit_code == 2
    assert "pass 'InferType' runs on IRModule, not XDSLModule" in result.stderr
    assert "wrong without any" not in result.stderr


def test_what_cannot_be_read_may_be_expected(tmp_path: Path):
    path = tmp_path / "a.mlir"
    expected = "// expected-error@+1 {{Expected ','}}\n%2 = arith.addi %0 : i32"
    path.write_text(PROGRAM.replace("%2 = arith.addi %0, %1 : i32", expected))
    result = opt(str(path), "--verify-diagnostics", "-p", "cse", "-j0")
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_level_has_no_passes_for_them(tmp_path: Path):
    path = tmp_path / "a.mlir"
    path.write_text(PROGRAM)
    result = opt(str(path), "-O3", "-j0")
    assert result.exit_code == 2
    assert (
        "IR 'mlir' has no registered pipeline for -O; name passes by -p"
    ) in result.stderr


def test_programs_are_compared_line_by_line(tmp_path: Path):
    path, other = tmp_path / "a.mlir", tmp_path / "b.mlir"
    path.write_text(PROGRAM)

    def differences(text: str) -> list[str]:
        other.write_text(text)
        found = CliRunner().invoke(main, ["diff", str(path), str(other)])
        return found.stdout.splitlines()

    assert differences(PROGRAM) == ["equal: 3 functions"]
    found, *shown = differences(
        PROGRAM.replace("arith.addi %0, %1", "arith.addi %1, %1")
    )
    assert [line[0] for line in shown if line[0] in "+-"] == ["-", "+"]
    assert found == (
        "function 'second': line 4: '%2 = arith.addi %0, %1 : i32' and "
        "'%2 = arith.addi %1, %1 : i32'"
    )
    named = PROGRAM.replace("builtin.module {", "builtin.module @m {")
    [found] = differences(named)
    assert found == "line 1: 'builtin.module {' and 'builtin.module @m {'"


def test_the_pair_that_fails_is_found_though_nothing_can_be_evaluated(tmp_path: Path):
    own = OWN.replace('"refuse"', '"decline"')  # a name is registered once
    (tmp_path / "own.py").write_text(own)
    path = tmp_path / "a.mlir"
    path.write_text(PROGRAM)
    words = ["bisect", "-j0", str(path), "--load", str(tmp_path / "own.py"), "-p"]
    found = CliRunner().invoke(main, [*words, "cse,decline{function=second},dce"])
    assert found.exit_code == 0, found.stderr
    assert "Pass 'decline' on function 'second', number " in found.stdout
    good = CliRunner().invoke(main, [*words, "cse"])
    assert good.exit_code == 2
    assert "no pass fails, and values cannot be compared" in good.stderr


def test_programs_get_smaller_by_operations_for_which_arguments_stand_in():
    programs = MLIRFormat()
    mod = programs.parse(PROGRAM, "a.mlir")
    [way] = programs.reduction_patterns()
    smaller = way.without(mod, way.items(mod))
    assert programs.astext(smaller) == (
        "builtin.module {\n  func.func private @outside(i32) -> ()\n"
        "  func.func @first(%a: i32) -> i32 {\n    func.return %a : i32\n  }\n"
        "  func.func @second(%a: i32) -> i32 {\n    func.return %a : i32\n  }\n}\n"
    )
    assert programs.module_size(smaller) < programs.module_size(mod)
    assert way.without(smaller, way.items(smaller)) is smaller
    assert programs.astext(mod) == programs.astext(programs.parse(PROGRAM, "a.mlir"))


@pytest.mark.stress
def test_failures_are_reduced(tmp_path: Path):
    (tmp_path / "own.py").write_text(OWN)
    path, failure = tmp_path / "a.mlir", tmp_path / "failure.mlir"
    path.write_text(PROGRAM)
    load = ["--load", str(tmp_path / "own.py"), "--reproducer", str(failure)]
    opt(str(path), *load, "-p", "cse,refuse{function=second}")
    small = tmp_path / "small.mlir"
    CliRunner().invoke(main, ["reduce", str(failure), "-o", str(small)])
    assert "@second" in small.read_text()
    assert "@first" not in small.read_text()


def _programs() -> list[str]:
    folder = os.environ.get(FILECHECK)
    if folder is None:
        pytest.skip(f"{FILECHECK} names no folder with programs")
    paths = sorted(Path(folder).rglob("*.mlir"))
    texts = [text for path in paths for text in path.read_text().split("// -----")]
    # Names of resources are given out once in a process.
    return [text for text in texts if "dense_resource" not in text]


def _outcome(run: Any) -> str | None:
    try:
        return run()
    except Exception:  # noqa: BLE001 -- whatever a pass does
        return None


@pytest.mark.stress
@pytest.mark.parametrize(
    "passes",
    [
        "canonicalize,cse",
        "convert-scf-to-cf,canonicalize,dce",
        "lower-affine,licm,scf-for-loop-range-folding",
        "convert-arith-to-riscv,convert-func-to-riscv-func,canonicalize",
        "convert-linalg-to-loops,control-flow-hoist,cse",
        "convert-memref-to-ptr,convert-ptr-to-llvm,reconcile-unrealized-casts",
        "linalg-generalize-named-ops,convert-linalg-to-memref-stream,memref-streamify",
        "convert-scf-to-riscv-scf,riscv-allocate-registers,dce",
        "convert-arith-to-varith,varith-fuse-repeated-operands,convert-varith-to-arith",
        "apply-pdl,dce,expand-math-to-polynomials,canonicalize",
    ],
)
def test_programs_of_xdsls_own_tests_come_out_as_xdsl_writes_them(passes: str):
    _assert_text_is_xdsls(passes, _programs())


@pytest.mark.stress
@pytest.mark.parametrize("name", sorted(FUNCTION_LOCAL))
def test_functions_one_by_one_give_what_whole_modules_give(name: str):
    texts = _programs()
    own = [text for text in texts if name in text.partition("\n")[0]]
    _assert_text_is_xdsls(name, own + texts[::10])


def _assert_text_is_xdsls(passes: str, texts: list[str]) -> None:
    for text in texts:
        expected = _outcome(lambda text=text: by_xdsl(text, passes))
        assert _outcome(lambda text=text: by_parpass(text, passes)) == expected
