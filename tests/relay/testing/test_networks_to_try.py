"""The networks of `relay.testing`, and passes run on expressions."""

from __future__ import annotations

from itertools import chain
from typing import Any, cast

import numpy as np
import pytest

import parpass as tvm
from parpass import relay
from parpass.errors import ArgumentError, IRTypeError
from parpass.relay.analysis import get_total_mac_number, list_op_freqs
from parpass.relay.testing import mlp, mobilenet, resnet, run_opt_pass

CIFAR: dict[str, Any] = {"image_shape": (3, 28, 28), "num_classes": 10}


def test_a_perceptron_has_the_parameters_of_tvms() -> None:
    mod, params = mlp.get_workload(2)
    main: relay.Function = mod["main"]
    assert [one.name_hint for one in main.params] == ["data", *params]
    names = [(f"fc{i}_weight", f"fc{i}_bias") for i in (1, 2, 3)]
    assert [*params] == [*chain.from_iterable(names)]
    assert params["fc1_weight"].shape == (128, 784)
    assert main.ret_type == relay.TensorType((2, 10), "float32")


def test_a_workload_is_the_same_each_time_and_runs() -> None:
    (mod, params), (_, again) = mlp.get_workload(1), mlp.get_workload(1)
    assert params == again
    executor = relay.create_executor("graph", mod, tvm.cpu(0), "llvm", params)
    found: Any = executor.evaluate()(np.ones((1, 1, 28, 28), "float32"))
    found = found.numpy()
    np.testing.assert_allclose(found.sum(), 1, rtol=1e-5)
    assert found.std() > 0


def test_the_global_random_numbers_are_left_alone() -> None:
    np.random.seed(3)
    expected = np.random.random()
    np.random.seed(3)
    mlp.get_workload(1)
    assert np.random.random() == expected


@pytest.mark.slow
def test_mobilenet_has_the_multiplications_of_its_paper() -> None:
    net = relay.testing.run_infer_type(mobilenet.get_net())
    # The paper says 569 million.
    assert get_total_mac_number(net) == pytest.approx(569e6, rel=0.01)
    assert isinstance(net, relay.Function)
    assert len(net.params) == 1 + 27 * 5 + 2


def convolutions_of(net: relay.Function) -> int:
    return list_op_freqs(tvm.IRModule.from_expr(net))["nn.conv2d"]


@pytest.mark.slow
@pytest.mark.parametrize(("layers", "convolutions"), [(18, 21), (50, 53)])
def test_resnet_has_its_convolutions(layers: int, convolutions: int) -> None:
    net = resnet.get_net(num_layers=layers)
    assert convolutions_of(net) == convolutions
    typed = relay.testing.run_infer_type(net)
    assert isinstance(typed, relay.Function)
    assert typed.ret_type == relay.TensorType((1, 1000), "float32")


def test_small_images_have_networks_of_their_own() -> None:
    net = resnet.get_net(num_layers=8, **CIFAR)
    assert convolutions_of(net) == 1 + 6 + 3
    with pytest.raises(ArgumentError, match=r"2 \+ 6 n below 164.* height 28, got 9"):
        resnet.get_net(num_layers=9, **CIFAR)
    with pytest.raises(ArgumentError, match=r"18, 34, .* height 224, got 9"):
        resnet.get_net(num_layers=9)


@pytest.mark.slow
def test_the_layouts_of_an_image_give_one_result() -> None:
    images = np.random.default_rng(0).random((1, 3, 28, 28), "float32")
    results: list[Any] = []
    for layout, axes in (("NCHW", (0, 1, 2, 3)), ("NHWC", (0, 2, 3, 1))):
        data = images.transpose(axes)
        mod, params = mobilenet.get_workload(
            num_classes=5, image_shape=data.shape[1:], layout=layout
        )
        same = {
            name: np.full(one.shape, 0.01, "float32") for name, one in params.items()
        }
        run = relay.create_executor("graph", mod, params=same).evaluate()
        results.append(run(data).numpy())
    np.testing.assert_allclose(*results, rtol=1e-4)


def test_another_layout_is_refused() -> None:
    with pytest.raises(ArgumentError, match="'NCHW' or 'NHWC', got 'NCHW4c'"):
        mobilenet.get_net(layout="NCHW4c")


def test_a_parameter_whose_name_says_nothing_is_refused() -> None:
    x = relay.var("x", shape=(2,))
    with pytest.raises(IRTypeError, match=r"whose name ends in one of .* got 'x'"):
        relay.testing.create_workload(relay.Function((x,), x))
    open_ = relay.var("w_weight", shape=(2, relay.Any()))
    with pytest.raises(IRTypeError, match="a tensor of known shape for parameter 'w_w"):
        relay.testing.create_workload(relay.Function((open_,), open_))


def test_a_pass_is_run_on_an_expression() -> None:
    two = relay.add(relay.const(1.0), relay.const(1.0))
    folded = relay.testing.run_opt_pass(two, relay.transform.FoldConstant())
    assert isinstance(folded, relay.Constant)
    x = relay.var("x", shape=(2,))
    function = relay.testing.run_infer_type(relay.Function((x,), x))
    assert isinstance(function, relay.Function)
    with pytest.raises(ArgumentError, match="a class is a pass when it is called"):
        relay.testing.run_opt_pass(x, cast("Any", relay.transform.FoldConstant))


def test_a_pass_is_run_with_or_without_the_prelude() -> None:
    expr = relay.const(1.0)
    infer_type = relay.transform.InferType()
    for import_prelude in (False, True):
        assert run_opt_pass(expr, infer_type, import_prelude) is expr
