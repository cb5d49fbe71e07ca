"""Weights without a type have the one that data and attributes say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from parpass import PassContext, relay, structural_equal
from parpass.errors import DiagnosticError
from parpass.ir import IRModule
from parpass.relay import Expr, TensorType, var
from parpass.relay.op import nn
from parpass.relay.transform import InferType
from parpass.runner import Runner

Build = Callable[..., Expr]


def image(channels: int = 8, layout: str = "NCHW") -> Expr:
    lengths = {"N": 1, "C": channels, "H": 10, "W": 10, "D": 10}
    return var("data", shape=tuple(lengths[axis] for axis in layout))


def weights(expr: Expr) -> list[str]:
    """Return the types of the variables but the data, as they are written."""
    function = InferType()(relay.Function(tuple(relay.analysis.free_vars(expr)), expr))
    assert isinstance(function, relay.Function)
    types = [(param.type_annotation, param.checked_type) for param in function.params]
    assert all(stated == found for stated, found in types)
    return [str(found) for _, found in types[1:]]


W = tuple(map(var, "abcd"))


@pytest.mark.parametrize(
    ("built", "wanted"),
    [
        (nn.conv1d(image(layout="NCW"), W[0], channels=4, kernel_size=3), "(4, 8, 3)"),
        (nn.conv2d(image(), W[0], channels=4, kernel_size=(3, 5)), "(4, 8, 3, 5)"),
        (
            nn.conv2d(image(), W[0], groups=8, channels=16, kernel_size=3),
            "(16, 1, 3, 3)",
        ),
        (
            nn.conv2d(
                image(layout="NHWC"),
                W[0],
                channels=4,
                kernel_size=3,
                data_layout="NHWC",
                kernel_layout="HWIO",
            ),
            "(3, 3, 8, 4)",
        ),
        (
            nn.conv3d(image(layout="NCDHW"), W[0], channels=4, kernel_size=3),
            "(4, 8, 3, 3, 3)",
        ),
        (
            nn.conv2d_transpose(image(), W[0], channels=4, kernel_size=3, groups=2),
            "(8, 2, 3, 3)",
        ),
        (nn.dense(image(), W[0], units=4), "(4, 10)"),
        (nn.matmul(image(), W[0], units=4), "(10, 4)"),
        (nn.matmul(image(), W[0], units=4, transpose_b=True), "(4, 10)"),
        (nn.bias_add(image(), W[0]), "(8,)"),
        (nn.bias_add(image(), W[0], axis=-1), "(10,)"),
        (nn.prelu(image(), W[0]), "(8,)"),
    ],
)
def test_one_weight(built: Expr, wanted: str) -> None:
    assert weights(built) == [f"Tensor[{wanted}, float32]"]


def _batch_norm(*args: Any) -> Expr:
    return nn.batch_norm(*args)[0]


def _group_norm(*args: Any) -> Expr:
    return nn.group_norm(*args, num_groups=2)


@pytest.mark.parametrize(
    ("build", "count", "length"),
    [
        (_batch_norm, 4, 8),
        (nn.layer_norm, 2, 10),
        (nn.instance_norm, 2, 8),
        (_group_norm, 2, 8),
    ],
)
def test_the_vectors_of_a_normalisation(build: Build, count: int, length: int) -> None:
    expected = [f"Tensor[({length},), float32]"] * count
    assert weights(build(image(), *W[:count])) == expected


def test_a_weight_has_the_datas_dtype_and_its_unknown_lengths() -> None:
    data = var("data", shape=(1, relay.Any(), 10), dtype="float16")
    assert weights(nn.bias_add(data, W[0])) == ["Tensor[(?,), float16]"]
    conv = nn.conv1d(data, W[0], channels=4, kernel_size=3)
    assert weights(conv) == ["Tensor[(4, ?, 3), float16]"]


def layers(depth: int) -> Expr:
    """Return layers whose weights are known only after the layers before."""
    body = image(3)
    for at in range(depth):
        channels = 4 + at
        weight = var(f"w{at}")
        body = nn.conv2d(body, weight, channels=channels, kernel_size=1)
        vectors = (var(f"{name}{at}") for name in "gbmv")
        body = nn.relu(_batch_norm(body, *vectors))
    return body


def test_what_is_deduced_goes_on_through_all_layers() -> None:
    found = weights(layers(3))
    convolutions = [one for one in found if one.count(",") > 2]
    assert convolutions == [
        f"Tensor[({out}, {into}, 1, 1), float32]"
        for out, into in [(4, 3), (5, 4), (6, 5)]
    ]
    assert len(found) == 15


def test_layers_of_any_depth_are_deduced() -> None:
    body = var("data", shape=(1, 2))
    for at in range(500):
        body = nn.bias_add(body, var(f"b{at}"))
    assert set(weights(body)) == {"Tensor[(2,), float32]"}


def test_data_that_is_known_later_tells_the_weight_too() -> None:
    x = var("x")
    inner = relay.Function((x,), nn.bias_add(x, W[0]))
    called = relay.Tuple((var("data", shape=(2, 3)), inner(var("data", shape=(2, 3)))))
    assert "Tensor[(3,), float32]" in weights(called)


@pytest.mark.parametrize(
    "built",
    [
        nn.conv2d(image(), W[0], kernel_size=3),
        nn.conv2d(image(), W[0], channels=4),
        nn.dense(image(), W[0]),
        relay.add(image(), W[0]),
    ],
)
def test_what_nothing_tells_needs_an_annotation(built: Expr) -> None:
    with pytest.raises(DiagnosticError, match="type annotation on parameter 'a'"):
        weights(built)


def test_what_two_layers_say_of_one_weight_must_agree() -> None:
    both = nn.dense(image(), W[0], units=4), nn.dense(image(), W[0], units=5)
    with pytest.raises(DiagnosticError, match=r"\(5, 10\).*got Tensor\[\(4, 10\)"):
        weights(relay.Tuple(both))


def test_an_axis_that_the_data_has_not_is_an_error_of_the_call() -> None:
    with pytest.raises(DiagnosticError, match=r"'nn.bias_add': expected an axis") as at:
        weights(nn.bias_add(image(), W[0], axis=7))
    assert "annotation" not in str(at.value)


def test_a_weight_stays_what_its_annotation_says() -> None:
    weight = var("w", TensorType((4, 10), "float16"))
    with pytest.raises(DiagnosticError, match="dtype"):
        weights(nn.dense(image(), weight, units=4))


def test_workers_deduce_the_same(runner: Runner) -> None:
    functions = {
        f"f{at}": relay.Function(tuple(relay.analysis.free_vars(body)), body)
        for at, body in enumerate(map(layers, range(1, 5)))
    }
    mod = IRModule(functions)
    isolated = PassContext(config={"parpass.isolated": True})
    found = runner.run_sync(mod, InferType(), context=isolated)
    assert structural_equal(found, InferType()(mod))
