"""A pass of one IR is not run on modules of another."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from parpass.cli import main
from parpass.errors import PassInputError
from parpass.integrations.xdsl.xdsl_adapter import MLIRFormat
from parpass.ir.module import IRModule
from parpass.relay.transform import FoldConstant, RemoveUnusedFunctions
from parpass.runner import Runner
from parpass.tir.transform import Simplify
from parpass.transform import (
    Pass,
    PassContext,
    Sequential,
    create_pass,
    module_pass,
    parse_pipeline,
    register_pass,
)
from parpass.transform.adapter_registry import find_adapter
from tests.support.runner.pooled import POOLED
from tests.support.toy.ir import program
from tests.support.toy.passes import Add

PROGRAM = "func.func @f(%a: i32) -> i32 {\n  func.return %a : i32\n}\n"


@pytest.mark.parametrize("wrong", [FoldConstant(), RemoveUnusedFunctions(), Simplify()])
def test_a_pass_on_an_irmodule_names_what_it_expected_and_got(wrong: Pass):
    name = wrong.info.name
    told = f"pass '{name}' expected IRModule, got Program: it belongs to another IR"
    with pytest.raises(PassInputError, match=told) as failure:
        wrong(program(1))
    assert failure.value.pass_name == name


def test_passes_of_xdsl_are_for_its_modules():
    MLIRFormat()  # whose import makes them known
    for name in ("cse", "mlir-opt"):
        with pytest.raises(PassInputError, match="expected XDSLModule, got IRModule"):
            create_pass(name)(IRModule({}))
    read = MLIRFormat().parse(PROGRAM, "a.mlir")
    with pytest.raises(PassInputError, match="expected IRModule, got XDSLModule"):
        FoldConstant()(read)


def test_it_is_an_error_where_the_pass_would_run_and_before_its_hooks(runner: Runner):
    seen: list[str] = []

    @module_pass(opt_level=0)
    def note(mod: object, _ctx: PassContext) -> object:
        seen.append("note")
        return mod

    passes = Sequential([note, FoldConstant(), note])
    with PassContext(opt_level=3, config=dict(POOLED)):
        with pytest.raises(PassInputError, match="FoldConstant"):
            runner.run_sync(program(1), passes)
        assert seen == ["note"]
        without = PassContext(opt_level=0, config=dict(POOLED))
        assert runner.run_sync(program(1), passes, context=without) == program(1)


def test_the_command_tells_so_before_it_runs_anything(tmp_path: Path):
    path = tmp_path / "a.mlir"
    path.write_text(PROGRAM)
    made = CliRunner().invoke(main, ["opt", str(path), "-p", "FoldConstant", "-j0"])
    assert made.exit_code == 2
    told = "pass 'FoldConstant' runs on IRModule, not XDSLModule; did you mean"
    assert told in made.stderr


def test_of_passes_with_one_short_name_those_of_the_ir_are_meant():
    register_pass("test_a.Same")(Add)
    register_pass("test_b.Same")(FoldConstant)
    for mod, expected in ((program(1), Add), (IRModule({}), FoldConstant)):
        [made] = parse_pipeline("Same", adapter=find_adapter(mod)).passes
        assert type(made) is expected


_OTHER_FIRST = """
from parpass.relay import parse
from parpass.transform import FunctionPass, PassInfo, register_adapter, register_pass
from parpass.transform.adapter_registry import find_adapter
from parpass.transform.pipeline import parse_pipeline
from tests.support.toy.ir import Program, ToyAdapter

register_adapter(Program, ToyAdapter(), passes_in=["__main__"])


@register_pass("toy.FoldConstant")
class FoldConstant(FunctionPass):
    pass_info = PassInfo(0, "FoldConstant")

    def transform_function(self, func, mod, ctx):
        return func


adapter = find_adapter(parse("def @main() { 1f }"))
for _ in range(2):
    [made] = parse_pipeline("FoldConstant", adapter=adapter).passes
    print(type(made).__module__.startswith("parpass.relay"))
"""


@pytest.mark.slow
def test_passes_of_the_ir_are_looked_for_where_they_are_not_loaded_yet():
    ran = subprocess.run(
        [sys.executable, "-c", _OTHER_FIRST],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("True\nTrue\n", "")
