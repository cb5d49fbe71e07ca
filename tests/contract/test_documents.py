"""The Python code of TVM's documents, after two import lines.

First that of `pass-infra`, then that of the RFC on porting passes, as they stand there
but for the slips that the contract lists (D4 to D8), and for one more: the name of the
pass in the first example hides the module `transform` of which it goes on to speak.
"""

# ruff: noqa: N802, N806 -- quoted code
# pyright: basic, reportArgumentType=false

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import parpass as tvm
from parpass import relay
from tests.contract.marking import Run
from tests.support.docs.steps import snippets
from tests.support.onnx.models import graph_model


@relay.transform.module_pass(opt_level=2)
def transform(mod, ctx):
    tp = relay.TensorType((10,), "float32")
    x = relay.var("x", tp)
    gv = relay.GlobalVar("abs")
    func = relay.Function([x], relay.abs(x))
    new_mod = tvm.IRModule({gv: func})
    new_mod.update(mod)
    return new_mod


module_pass: Any = transform


def test_the_context_is_entered_left_and_found():
    default = tvm.transform.PassContext.current()
    with tvm.transform.PassContext(opt_level=3, disabled_pass=["xx"]) as entered:
        assert tvm.transform.PassContext.current() is entered
    assert tvm.transform.PassContext.current() is default
    with tvm.transform.PassContext(config={"tir.UnrollLoop": {"auto_max_step": 16}}):
        config = tvm.transform.PassContext.current().config
        assert config["tir.UnrollLoop"].auto_max_step == 16


def test_a_decorated_function_is_a_module_pass(run: Run):
    assert isinstance(module_pass, tvm.transform.ModulePass)
    assert module_pass.info.opt_level == 2

    mod = tvm.IRModule()
    mod = run(module_pass, mod)

    assert [var.name_hint for var in mod.get_global_vars()] == ["abs"]
    assert tvm.structural_equal(mod["abs"].body.op, relay.op.get("abs"))


def test_the_module_pass_keeps_what_is_in_the_module(run: Run):
    x = relay.var("x", shape=(10,))
    mod = tvm.IRModule({"main": relay.Function([x], x)})
    assert set(run(module_pass, mod).functions_by_name) == {"abs", "main"}


def test_a_decorated_class_replaces_every_function(run: Run):
    @relay.transform.function_pass(opt_level=1)
    class TestReplaceFunc:
        def __init__(self, new_func):
            self.new_func = new_func

        def transform_function(self, func, mod, ctx):
            # Just for demo purposes
            # Transform func to new_func
            return self.new_func

    x = relay.var("x", shape=(10, 20))
    f1 = relay.Function([x], x)
    f2 = relay.Function([x], relay.log(x))
    input_mod = tvm.IRModule({"a": f2, "b": f2})
    # fpass is now a special pass that replaces every
    # function to f1
    fpass = TestReplaceFunc(f1)
    # Now every function in input_mod is replaced by f1
    res_mod = run(fpass, input_mod)

    expected = relay.transform.InferType()(tvm.IRModule({"a": f1, "b": f1}))
    tvm.assert_structural_equal(res_mod, expected)


def test_instruments_of_the_current_context_are_overridden(run: Run):
    @tvm.instrument.pass_instrument
    class CountPasses:
        def __init__(self):
            self.names = []

        def enter_pass_ctx(self):
            self.names.append("enter")

        def exit_pass_ctx(self):
            self.names.append("exit")

        def should_run(self, mod, info):
            return info.name != "DeadCodeElimination"

        def run_before_pass(self, mod, info):
            self.names.append(info.name)

        def run_after_pass(self, mod, info):
            pass

        def get_result(self):
            return list(self.names)

    pass_inst: Any = CountPasses()
    pass_seq = tvm.transform.Sequential(
        [relay.transform.FoldConstant(), relay.transform.DeadCodeElimination()]
    )
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], x))

    cur_pass_ctx = tvm.transform.PassContext.current()
    # override PassInstrument instances
    cur_pass_ctx.override_instruments([pass_inst])
    mod = run(pass_seq, mod)
    result = pass_inst.get_result()

    cur_pass_ctx.override_instruments([])
    assert result == ["enter", "sequential", "FoldConstant", "InferType"]
    assert pass_inst.get_result()[-1] == "exit"


def test_fold_constant_is_registered_and_required_by_name(run: Run):
    def FoldConstant():
        return relay.transform.FoldConstant()

    two = relay.add(relay.const(1.0), relay.const(1.0))
    mod = run(FoldConstant(), tvm.IRModule.from_expr(two))
    tvm.assert_structural_equal(mod["main"].body, relay.const(2.0))
    name = "relay._transform.FoldConstant"
    assert isinstance(tvm.transform.create_pass(name), relay.transform.FoldConstant)


def test_the_rfc_makes_a_pass_by_a_decorator(run: Run):
    ir_pass, ExprVisitor = relay.ir_pass, relay.ExprVisitor
    opt_level, pass_name = 1, "mypass"

    # Create a module for all passes?
    mod = relay.Module({})

    # Method 1, Use decorator:
    @ir_pass.function_pass(opt_level=opt_level, name=pass_name)
    def mypass(expr, ctx):
        class Transform(ExprVisitor):
            pass

        return Transform(expr, ctx)  # pyright: ignore[reportCallIssue]

    assert len(run(mypass, mod)) == 0
    assert mypass.info.name == "mypass"


def test_the_rfc_makes_a_pass_of_a_function(run: Run):
    ir_pass = relay.ir_pass
    two = relay.add(relay.const(1.0), relay.const(1.0))
    mod = relay.Module({"main": two})

    # Method 2, pass registered passes directly:
    pass_func = ir_pass.fold_constant
    cf = ir_pass.function_pass(pass_func, opt_level=2, name="FoldConstant", required=[])
    folded = run(cf, mod)

    tvm.assert_structural_equal(folded["main"].body, relay.const(2.0))
    # The old style invocation, on an expression:
    tvm.assert_structural_equal(ir_pass.fold_constant(two), relay.const(2.0))
    tvm.assert_structural_equal(run(cf, two), relay.const(2.0))


def test_the_page_for_tvm_users_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    node = onnx.helper.make_node("Relu", ["data"], ["result"])
    image = np.zeros((1, 3, 224, 224), "float32")
    onnx.save(graph_model([node], {"data": image}, ["result"]), tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[2] / "docs" / "for-tvm-users.md"
    names: dict[str, Any] = {}
    exec("\n".join(snippet.text for snippet in snippets(page)), names)
    assert isinstance(names["mod"], tvm.IRModule)
    assert names["result"].shape == image.shape
    assert 'name="Negate"' in capsys.readouterr().out
