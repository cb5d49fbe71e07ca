"""A pipeline of xDSL's passes gives what xDSL gives, here and in workers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from xdsl.context import Context
from xdsl.dialects.builtin import (
    FunctionType,
    ModuleOp,
    StringAttr,
    UnregisteredOp,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Dialect, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    traits_def,
)
from xdsl.passes import ModulePass, PassPipeline
from xdsl.rewriter import Rewriter
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from parpass.cli import main
from parpass.errors import ArgumentError
from parpass.integrations.xdsl import FUNCTION_LOCAL, ParallelPipeline, function_local
from parpass.integrations.xdsl.context_spec import universe
from parpass.runner import Runner
from parpass.transform import PassContext
from tests.integrations.xdsl.xdsl_programs import context, generic_text, parsed
from tests.support.runner.pooled import POOLED
from tests.support.watching import ChangeLog

PROGRAM = """
builtin.module attributes {"here" = 1 : i32} {
  func.func private @outside(i32) -> i32
  "memref.global"() <{sym_name = "table", sym_visibility = "private",
    type = memref<4xi32>, initial_value = dense<[1, 2, 3, 4]> : tensor<4xi32>
  }> : () -> ()
  %c = arith.constant 1 : i32
  func.func @main(%a: i32, %n: index) -> i32 {
    %zero = arith.constant 0 : i32
    %from = arith.constant 0 : index
    %step = arith.constant 1 : index
    %x = arith.addi %a, %zero : i32
    %y = arith.muli %x, %x : i32
    %z = arith.muli %x, %x : i32
    %t = memref.get_global @table : memref<4xi32>
    scf.for %i = %from to %n step %step {
      %r = func.call @other(%y) : (i32) -> i32
      memref.store %r, %t[%i] : memref<4xi32>
    }
    %s = func.call @outside(%z) : (i32) -> i32
    func.return %s : i32
  }
  %d = "test.op"(%c) : (i32) -> i32
  func.func @other(%a: i32) -> i32 {
    %unused = arith.constant 5 : i32
    %b = func.call @main_(%a) : (i32) -> i32
    func.return %b : i32
  }
  func.func @main_(%a: i32) -> i32 {
    func.return %a : i32
  }
}
"""
PLACES: dict[str, tuple[int, dict[str, Any]]] = {
    "here": (0, {}),
    "workers": (2, dict(POOLED)),
}


def by_xdsl(passes: str, module: ModuleOp) -> str:
    def verify(_before: object, mod: ModuleOp, _after: object) -> None:
        mod.verify()

    known = universe().all_passes
    PassPipeline.parse_spec(known, passes, verify).apply(context(), module)
    return generic_text(module)


def apply(
    passes: Any, module: ModuleOp, config: dict[str, Any], runner: Runner | None
) -> str:
    with PassContext(config=config):
        pipeline = ParallelPipeline(passes, workers=0, runner=runner)
        pipeline.apply(context(), module)
    return generic_text(module)


@pytest.fixture(params=list(PLACES))
def place(request: pytest.FixtureRequest, runner: Runner) -> Any:
    workers, config = PLACES[request.param]
    return config, runner if workers else None


@pytest.mark.slow
@pytest.mark.parametrize(
    "passes",
    [
        "canonicalize,cse,convert-scf-to-cf",
        "lower-affine,function-persist-arg-names,canonicalize,dce",
        "scf-for-loop-range-folding,licm,constant-fold-interp,control-flow-hoist",
    ],
)
def test_it_gives_what_xdsl_gives(passes: str, place: Any):
    assert apply(passes, parsed(PROGRAM), *place) == by_xdsl(passes, parsed(PROGRAM))


@pytest.mark.slow
def test_changes_are_told_of_functions_that_passes_consume(place: Any):
    config, runner = place
    log = ChangeLog(functions="main*")
    with PassContext(config=config, instruments=[log]):
        pipeline = ParallelPipeline("canonicalize,cse", workers=0, runner=runner)
        pipeline.apply(context(), parsed(PROGRAM))
    told = [line.partition(":")[0] for line in log.log if " changed " in line]
    assert told == ["canonicalize changed main", "cse changed main"]
    first, second = log.changes
    assert "%zero = arith.constant 0" in (first.before or "")
    assert (first.after, second.before) == (second.before, first.after)
    assert (second.after or "").count("arith.muli") == 1


@pytest.mark.slow
def test_functions_that_are_as_before_stay_the_same_objects(place: Any):
    module = parsed(PROGRAM)
    before = list(module.ops)
    apply("canonicalize", module, *place)
    after = list(module.ops)
    kept = [op for op in after if op in before]
    assert [op.properties.get("sym_name") for op in after if op not in before] == [
        op.properties["sym_name"]
        for op in before
        if isinstance(op, FuncOp) and op.sym_name.data in ("main", "other")
    ]
    assert len(kept) == len(before) - 2
    module.verify()


@function_local
@dataclass(frozen=True)
class FailOn(ModulePass):
    """Fails on a function, after it has spoilt it."""

    name = "fail-on"
    function: str = "other"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.ops:
            if isinstance(inner, FuncOp) and inner.sym_name.data == self.function:
                inner.sym_name = StringAttr("spoilt")
                if inner.body.blocks:
                    raise ValueError(f"{self.function} is refused")


@pytest.mark.slow
def test_a_failure_names_pass_and_function_and_leaves_the_module(place: Any):
    module = parsed(PROGRAM)
    before = generic_text(module)
    with pytest.raises(ValueError, match="other is refused") as failure:
        apply([FailOn()], module, *place)
    assert any("'fail-on'" in n and "'other'" in n for n in failure.value.__notes__)
    assert generic_text(module) == before


@pytest.mark.slow
def test_a_function_that_fails_can_be_skipped(
    place: Any, capsys: pytest.CaptureFixture[str]
):
    config, runner = place
    module, other = parsed(PROGRAM), parsed(PROGRAM)
    after = apply(
        [FailOn("other"), universe().all_passes["cse"]()()],
        module,
        {**config, "parpass.on_failure": "skip"},
        runner,
    )
    assert after == by_xdsl("cse", other)
    assert "'fail-on' was skipped on function 'other'" in capsys.readouterr().err


@function_local
@dataclass(frozen=True)
class Spoil(ModulePass):
    """Takes the end off a function."""

    name = "spoil"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if inner.name == "func.return":
                inner.detach()
                inner.erase()


@pytest.mark.slow
def test_each_pass_is_verified_and_the_one_that_spoilt_is_named(place: Any):
    with pytest.raises(VerifyException) as failure:
        apply([universe().all_passes["cse"]()(), Spoil()], parsed(PROGRAM), *place)
    assert "after pass 'spoil'" in failure.value.__notes__


@function_local
@dataclass(frozen=True)
class Declare(ModulePass):
    """Declares what it would call."""

    name = "declare"
    result: str = "i32"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        own = [one for one in op.ops if isinstance(one, FuncOp) and one.body.blocks]
        kinds = {"main": "i32", "other": self.result, "main_": "i32"}
        for one in own:
            text = f"func.func private @new() -> {kinds[one.sym_name.data]}"
            [new] = parsed(text).ops
            new.detach()
            op.body.block.add_op(new)


@pytest.mark.slow
def test_what_passes_add_to_functions_is_merged_by_name(place: Any):
    module = parsed(PROGRAM)
    apply([Declare()], module, *place)
    last = module.body.block.last_op
    assert isinstance(last, FuncOp)
    assert last.sym_name.data == "new"
    assert len(list(module.ops)) == len(list(parsed(PROGRAM).ops)) + 1
    with pytest.raises(ArgumentError, match="'new' for function 'main' and another"):
        apply([Declare("i64")], parsed(PROGRAM), *place)


@function_local
@dataclass(frozen=True)
class Widen(ModulePass):
    """Makes numbers of a function wide, and so its signature, and calls of others."""

    name = "widen"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for one in op.ops:
            if not isinstance(one, FuncOp) or one.is_declaration:
                continue
            block = one.body.blocks[0]
            for value in [*block.args, *(r for i in one.walk() for r in i.results)]:
                Rewriter.replace_value_with_new_type(value, i64)
            one.function_type = FunctionType.from_lists([i64], [i64])


CHAIN = "".join(
    f"""
    func.func @f{at}(%a: i32) -> i32 {{
      %b = func.call @f{(at + 1) % 6}(%a) : (i32) -> i32
      %c = "test.op"(%b) : (i32) -> i32
      func.return %c : i32
    }}
    """
    for at in range(6)
)


@pytest.mark.slow
def test_calls_are_verified_with_what_others_state_after_the_pass(place: Any):
    by_itself = parsed(CHAIN)
    Widen().apply(context(), by_itself)
    by_itself.verify()
    passes = [
        universe().all_passes["cse"]()(),
        Widen(),
        universe().all_passes["dce"]()(),
    ]
    assert apply(passes, parsed(CHAIN), *place) == generic_text(by_itself)


@irdl_op_definition
class OwnOp(IRDLOperation):
    name = "own.op"
    traits = traits_def(Pure())


@irdl_op_definition
class LooseOp(IRDLOperation):
    name = "loose.op"


@irdl_attr_definition
class LooseType(ParametrizedAttribute, TypeAttribute):
    name = "loose.type"


@function_local
@dataclass(frozen=True)
class AddOwn(ModulePass):
    """Adds an operation of a dialect that it finds in the context."""

    name = "add-own"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        assert ctx.get_op("loose.op").name == "loose.op"
        assert ctx.get_type("loose.type").name == "loose.type"
        kind = ctx.get_op("not.known")
        assert issubclass(kind, UnregisteredOp)
        for one in op.ops:
            if isinstance(one, FuncOp) and one.body.blocks:
                first = one.body.blocks[0].first_op
                assert isinstance(first, Operation)
                new = [ctx.get_op("own.op").create(), kind.create()]
                one.body.blocks[0].insert_ops_before(new, first)


@pytest.mark.slow
def test_dialects_and_operations_of_the_program_travel(runner: Runner):
    known = context()
    known.load_dialect(Dialect("own", [OwnOp], []))
    known.load_op(LooseOp)
    known.load_attr_or_type(LooseType)
    module = parsed(PROGRAM)
    with PassContext(config=dict(POOLED)):
        ParallelPipeline([AddOwn()], runner=runner).apply(known, module)
    assert sum(isinstance(op, OwnOp) for op in module.walk()) == 3


@pytest.mark.slow
def test_failures_of_modules_are_replayed(tmp_path: Path):
    path = tmp_path / "failure.mlir"
    passes = "cse,riscv-allocate-registers{allocation-strategy=unknown}"
    config = {"parpass.reproducer": str(path)}
    with pytest.raises(Exception, match="unknown"):
        apply(passes, parsed(PROGRAM), config, None)
    result = CliRunner().invoke(main, ["replay", str(path)])
    assert "Reproduced the same failure." in result.output


def test_passes_that_are_not_known_to_be_local_are_run_on_modules():
    passes = ParallelPipeline("canonicalize,function-persist-arg-names").passes
    assert [one.is_functionwise for one in passes] == [True, False]
    assert passes[0].info.name == "canonicalize"


def test_the_table_has_passes_of_xdsl_only():
    assert universe().all_passes.keys() >= FUNCTION_LOCAL
