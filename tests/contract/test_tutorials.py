"""How TVM's tutorials begin, under `import parpass as tvm`: in code of our own."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# As a tutorial's reader writes it.

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import parpass as tvm
from parpass import relay
from parpass.errors import EvaluationError, IRTypeError, ModuleTypeError
from tests.support.relay.networks import mlp, resnet

PADS = [2] * 4


def upscaling() -> onnx.ModelProto:
    """Return a network that makes an image three times as large."""
    rng = np.random.default_rng(0)
    weights = {
        "conv1.weight": rng.standard_normal((4, 1, 5, 5)).astype("float32"),
        "conv1.bias": rng.standard_normal(4).astype("float32"),
        "conv2.weight": rng.standard_normal((9, 4, 3, 3)).astype("float32"),
        "to": np.array([-1, 1, 3, 3, 8, 8], "int64"),
        "out": np.array([-1, 1, 24, 24], "int64"),
    }
    nodes = [
        helper.make_node(
            "Conv", ["1", "conv1.weight", "conv1.bias"], ["a"], pads=[2] * 4
        ),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "conv2.weight"], ["c"], pads=[1] * 4),
        helper.make_node("Reshape", ["c", "to"], ["d"]),
        helper.make_node("Transpose", ["d"], ["e"], perm=[0, 1, 4, 2, 5, 3]),
        helper.make_node("Reshape", ["e", "out"], ["f"]),
    ]
    image = helper.make_tensor_value_info("1", onnx.TensorProto.FLOAT, ["n", 1, 8, 8])
    result = helper.make_tensor_value_info("f", onnx.TensorProto.FLOAT, None)
    known = [numpy_helper.from_array(one, name) for name, one in weights.items()]
    graph = helper.make_graph(nodes, "upscaling", [image], [result], known)
    opset = helper.make_opsetid("", 13)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8)


def test_a_model_is_imported_compiled_and_run():
    onnx_model = upscaling()
    x = np.random.default_rng(1).random((1, 1, 8, 8))
    target, input_name, dtype = "llvm", "1", "float32"

    mod, params = relay.frontend.from_onnx(onnx_model, {input_name: x.shape})
    with tvm.transform.PassContext(opt_level=1):
        executor = relay.build_module.create_executor(
            "graph", mod, tvm.cpu(0), target, params
        ).evaluate()
    found = executor(tvm.nd.array(x.astype(dtype))).numpy()

    evaluator = ReferenceEvaluator(onnx_model)
    results: Any = evaluator.run(None, {input_name: x.astype(dtype)})
    tvm.testing.assert_allclose(found, results[0], rtol=1e-4, atol=1e-4)


def test_weights_are_bound_optimised_saved_and_loaded():
    mod, params = relay.frontend.from_onnx(upscaling(), {"1": (1, 1, 8, 8)})
    restored = relay.load_param_dict(relay.save_param_dict(params))
    assert restored == params

    main = relay.build_module.bind_params_by_name(mod["main"], restored)
    mod = tvm.IRModule.from_expr(main)
    passes = [relay.transform.SimplifyInference(), relay.transform.FoldConstant()]
    with tvm.transform.PassContext(opt_level=3):
        mod = tvm.transform.Sequential(passes)(mod)
    assert [param.name_hint for param in mod["main"].params] == ["1"]


@pytest.mark.slow
def test_a_network_is_made_and_shown(capsys: pytest.CaptureFixture[str]):
    mod, params = resnet.get_workload(num_layers=18, batch_size=1)
    mod.show()
    assert "nn.conv2d" in capsys.readouterr().out
    assert mod.astext(show_meta_data=False).count("nn.batch_norm(") == 18 + 1
    assert params["conv0_weight"].shape == (64, 3, 7, 7)
    assert params["conv0_weight"].dtype == str(tvm.DataType("float32"))


def example() -> relay.Function:
    """Return the kind of function that the tutorial on passes begins with."""
    x = relay.var("x", relay.TensorType((1, 8, 12, 12), "float32"))
    weight = relay.var("weight", shape=(8, 8, 3, 3))
    known = relay.const(np.full((1, 8, 10, 10), 2, "float32"))
    twice = relay.multiply(relay.add(known, known), relay.const(2, "float32"))
    shifted = relay.add(relay.nn.conv2d(x, weight), twice)
    same = [relay.add(shifted, known), relay.add(shifted, known)]
    return relay.Function([x, weight], relay.add(*same))


def operators(mod: tvm.IRModule) -> dict[str, int]:
    return dict(relay.analysis.list_op_freqs(mod))


def test_passes_are_applied_one_by_one():
    mod = tvm.IRModule.from_expr(example())
    mod = relay.transform.FoldConstant()(mod)
    assert operators(mod) == {"nn.conv2d": 1, "add": 4}
    mod = relay.transform.EliminateCommonSubexpr()(mod)
    assert operators(mod) == {"nn.conv2d": 1, "add": 3}
    mod = relay.transform.FuseOps(fuse_opt_level=0)(mod)
    assert str(mod).count("Primitive=1") == 4


def test_a_level_and_a_disabled_pass_choose_among_a_sequence():
    seq = tvm.transform.Sequential(
        [
            relay.transform.FoldConstant(),
            relay.transform.EliminateCommonSubexpr(),
            relay.transform.FuseOps(fuse_opt_level=2),
        ]
    )
    mod = tvm.IRModule.from_expr(example())
    assert operators(seq(mod))["add"] == 4
    with tvm.transform.PassContext(opt_level=3):
        assert operators(seq(mod))["add"] == 3
    disabled = ["EliminateCommonSubexpr"]
    with tvm.transform.PassContext(opt_level=3, disabled_pass=disabled):
        assert operators(seq(mod))["add"] == 4


@relay.transform.function_pass(opt_level=1)
class Scale:
    """Multiplies what is known."""

    def __init__(self, multiplier: relay.Constant):
        self.multiplier = multiplier

    def transform_function(
        self, func: relay.Function, mod: tvm.IRModule, ctx: tvm.transform.PassContext
    ) -> relay.Expr:
        multiplier = self.multiplier

        class Replace(tvm.relay.ExprMutator):
            def visit_constant(self, const: relay.Constant) -> relay.Expr:
                return relay.multiply(multiplier, const)

        return Replace().visit(func)


def test_a_pass_of_ones_own_is_watched():
    met: list[str] = []
    scale = Scale(multiplier=relay.const(3, "float32"))
    assert scale.info.name == "Scale"

    @tvm.instrument.pass_instrument
    class Watch:
        def run_before_pass(self, mod: tvm.IRModule, info: tvm.transform.PassInfo):
            met.append(info.name)

    with tvm.transform.PassContext(opt_level=3, instruments=[Watch()]):
        mod = scale(tvm.IRModule.from_expr(example()))
    assert met[0] == "Scale"
    # Each use of the one constant is of one new product.
    assert operators(mod)["multiply"] == 1 + 2


def test_what_is_forgotten_of_a_pair_is_said_where_it_is():
    mod, params = pair = mlp.get_workload(1)
    data = np.zeros((1, 1, 28, 28), "float32")
    with pytest.raises(EvaluationError, match=r"and 1 more, got none; weights are giv"):
        relay.create_executor("graph", mod).evaluate()(data)
    with pytest.raises(EvaluationError, match="IRModule for mod, got tuple; is it"):
        relay.create_executor("graph", pair)  # pyright: ignore[reportArgumentType] -- that is it
    with pytest.raises(IRTypeError, match="expected params by name, got IRModule"):
        relay.create_executor("graph", mod, params=mod)  # pyright: ignore[reportArgumentType] -- that is it
    with pytest.raises(IRTypeError, match=r"it may be mod\['main'\]"):
        relay.build_module.bind_params_by_name(mod, params)  # pyright: ignore[reportArgumentType] -- that is it
    with pytest.raises(ModuleTypeError, match="an expression, got tuple; is it"):
        tvm.IRModule.from_expr(pair)  # pyright: ignore[reportArgumentType] -- that is it
