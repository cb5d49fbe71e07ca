"""Laws that hold for every operator of the table."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from parpass.errors import IRError, UnknownOpError
from parpass.ir.operators.effect import Effect
from parpass.relay import op
from parpass.relay.expr import Call, Expr, TupleGetItem, TupleWrapper, const
from parpass.relay.op import Op, OpPattern, nn
from tests.support.op_calls import bools, floats, ints, related, type_of, value

VARIANCE = const(np.ones(3, "float32"))


def build(name: str, *args: Any, **attrs: Any) -> Expr | TupleWrapper:
    return getattr(op, name)(*args, **attrs)


# One call of each operator at least; more where attributes change the type.
CALLS: list[Expr | TupleWrapper] = [
    *(build(name, floats(2, 3)) for name in [
        "abs", "negative", "sign", "exp", "log", "log2", "log10", "sqrt", "rsqrt",
        "sigmoid", "erf", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
        "tanh", "floor", "ceil", "trunc", "round", "copy",
    ]),
    *(build(name, floats(2, 3, dtype="float64")) for name in ["erf", "rsqrt"]),
    *(build(name, ints(2, 3)) for name in ["abs", "sign", "round", "floor"]),
    *(build(name, floats(2, 1, 3), floats(4, 1)) for name in [
        "add", "subtract", "multiply", "divide", "floor_divide", "trunc_divide", "mod",
        "floor_mod", "trunc_mod", "power", "maximum", "minimum", "equal", "not_equal",
        "less", "less_equal", "greater", "greater_equal",
    ]),
    *(build(name, ints(3), ints(3, low=1)) for name in [
        "add", "divide", "floor_divide", "trunc_divide", "mod", "power", "less",
    ]),
    *(build(name, bools(3), bools(2, 1)) for name in [
        "logical_and", "logical_or", "logical_xor",
    ]),
    *(build(name, bools(3)) for name in ["logical_not", "copy", "all", "any"]),
    op.where(bools(2, 1), floats(3), floats(1)),
    op.cast(floats(2), "int8"),
    op.clip(ints(3), -1, 1),
    op.full(1.0, (2, 3)),
    op.full(1, 2, "float64"),
    op.zeros((2, 3), "int8"),
    op.ones((), "float32"),
    op.full_like(ints(2), 7),
    op.zeros_like(bools(2)),
    op.ones_like(floats(2, 3)),
    *(build(name, floats(2, 3, 4), axis, keepdims=keep, exclude=exclude)
      for name in ["sum", "mean", "max", "min", "prod", "argmax", "argmin", "variance"]
      for axis, keep, exclude in [
          (None, False, False), (1, False, False), ((0, -1), True, False),
          (1, True, True), (None, False, True),
      ]),
    *(build(name, ints(2, 3), 0) for name in ["sum", "mean", "prod"]),
    op.reshape(floats(2, 3, 4), (0, -1)),
    op.reshape(floats(1), ()),
    op.transpose(floats(2, 3, 4)),
    op.transpose(floats(2, 3, 4), (1, -1, 0)),
    op.expand_dims(floats(2, 3), -1, 2),
    op.squeeze(floats(2, 1, 3, 1)),
    op.squeeze(floats(2, 1, 3, 1), -1),
    op.broadcast_to(floats(3, 1), (2, 3, 4)),
    op.shape_of(floats(2, 3)),
    op.vm.shape_of(floats(2, 3)),
    op.ndarray_size(floats(2, 3), "int64"),
    op.concatenate([floats(2, 3), floats(2, 1)], -1),
    op.stack([floats(2), floats(2), floats(2)], -1),
    op.split(floats(4, 6), 3, 1),
    op.split(floats(4, 6), (1, 4), 1),
    op.take(floats(3, 4), ints(2, 2)),
    op.take(floats(3, 4), ints(2, 2), 1),
    op.take(floats(3, 4), 1, 0),
    op.strided_slice(floats(4, 5), (1, -3), (4, 5), (2,)),
    op.strided_slice(floats(4, 5), 3, -5, -1),
    op.strided_slice(floats(4, 5), (1, -3), (2, -1), slice_mode="size"),
    op.strided_slice(floats(4, 5), 2, 99, axes=-1),
    op.reverse(floats(2, 3), -1),
    op.repeat(floats(2, 3), 2),
    op.repeat(floats(2, 3), 2, 1),
    op.tile(floats(2, 3), (2, 1, 2)),
    op.tile(floats(2, 3), 2),
    op.annotation.on_device(floats(2), "cpu"),
    op.device_copy(floats(2), "cpu", "cuda"),
    nn.relu(ints(3)),
    nn.leaky_relu(floats(3), 0.1),
    nn.prelu(floats(2, 3), floats(3)),
    nn.softmax(floats(2, 3)),
    nn.log_softmax(floats(2, 3), 0),
    nn.dropout_raw(floats(2, 3)),
    nn.conv2d(floats(1, 4, 6, 7), floats(6, 2, 3, 3), padding=(0, 1, 2, 3), groups=2),
    nn.conv2d(ints(1, 1, 4, 4), ints(1, 1, 2, 2), out_dtype="int64"),
    nn.max_pool2d(floats(1, 2, 6, 7), 3, 2, ceil_mode=True),
    nn.max_pool2d(ints(1, 2, 6, 7), 3, 2, padding=1),
    nn.avg_pool2d(floats(1, 2, 6, 7), 3, 2, padding=1, count_include_pad=True),
    nn.avg_pool2d(floats(1, 2, 6, 7), 3, 2, dilation=2),
    nn.global_max_pool2d(floats(1, 2, 3, 4)),
    nn.global_avg_pool2d(floats(1, 2, 3, 4)),
    nn.dense(floats(2, 3), floats(4, 3)),
    nn.dense(floats(3), floats(4, 3), 4, "float64"),
    nn.batch_matmul(floats(2, 3, 4), floats(1, 5, 4)),
    nn.batch_matmul(floats(2, 4, 3), floats(2, 4, 5), "", True, False),
    nn.bias_add(floats(2, 3, 4), floats(3)),
    nn.batch_flatten(floats(2, 3, 4)),
    nn.batch_norm(floats(2, 3, 4), floats(3), floats(3), floats(3), VARIANCE),
    nn.layer_norm(floats(2, 3), floats(3), floats(3)),
    nn.instance_norm(floats(2, 3, 4), floats(3), floats(3)),
    nn.lrn(floats(1, 7, 2, 2)),
    nn.l2_normalize(floats(2, 3), 1e-6, 1),
    nn.l2_normalize(floats(2, 3), 1e-6),
    nn.pad(floats(2, 3), ((1, 2), (0, 3)), 7.0),
    nn.pad(floats(2, 3), ((1, 1), (0, 2)), pad_mode="reflect"),
]  # fmt: skip


def call_of(expr: Expr | TupleWrapper) -> Call:
    call = expr.astuple() if isinstance(expr, TupleWrapper) else expr
    assert isinstance(call, Call)
    return call


def shipped() -> list[Op]:
    """Return Relay's operators, without those that tests registered."""
    names = Op.list_op_names()
    return [Op.get(name) for name in names if not name.startswith(("test.", "tir."))]


def op_of(expr: Expr | TupleWrapper) -> Op:
    found = call_of(expr).op
    assert isinstance(found, Op)
    return found


@pytest.mark.parametrize("call", CALLS, ids=lambda call: op_of(call).name)
def test_the_relation_gives_the_type_of_the_meaning(call: Expr | TupleWrapper) -> None:
    assert related(call) == type_of(value(call))


@pytest.mark.parametrize("call", CALLS, ids=lambda call: op_of(call).name)
def test_attributes_are_pickled_hashed_and_compared_by_value(
    call: Expr | TupleWrapper,
) -> None:
    attrs = call_of(call).attrs
    again = pickle.loads(pickle.dumps(attrs))
    assert again == attrs
    assert hash(again) == hash(attrs)
    assert type(attrs) is (op_of(call).attrs_type or type(None))


def test_calls_have_as_many_arguments_as_their_operator() -> None:
    for call in CALLS:
        assert len(call_of(call).args) == op_of(call).num_inputs


def test_the_public_names_are_there_once() -> None:
    for room in (op, nn):
        assert len(room.__all__) == len(set(room.__all__))
        assert all(hasattr(room, name) for name in room.__all__)


def test_builders_bear_the_name_and_a_docstring() -> None:
    for room in (op, nn):
        for name in room.__all__:
            found = getattr(room, name)
            assert found.__doc__
            if callable(found) and not name[0].isupper():
                assert found.__name__ == name


def test_an_operator_stays_the_same_object_through_pickling() -> None:
    add = Op.get("add")
    assert pickle.loads(pickle.dumps(add)) is add


def test_an_unknown_operator_gives_the_nearest_names() -> None:
    with pytest.raises(UnknownOpError) as caught:
        Op.get("nn.conv4d")
    assert str(caught.value).startswith("no operator named 'nn.conv4d'; did you mean")
    assert "'nn.conv2d'" in str(caught.value)


def test_a_name_is_registered_once() -> None:
    with pytest.raises(IRError) as caught:
        op.register_op(Op.get("add"))
    assert str(caught.value) == "operator 'add' is registered already"


def test_only_annotations_are_not_computed_and_debug_alone_writes() -> None:
    annotations = [entry.name for entry in shipped() if entry.non_computational]
    assert annotations == ["on_device"]
    writing = [entry.name for entry in shipped() if entry.effect is Effect.WRITES]
    assert writing == ["debug"]


def test_python_operators_build_calls() -> None:
    x = floats(2)
    assert op_of(-x).name == "negative"
    assert op_of(1.0 + x).name == "add"
    assert op_of(x < 1.0).name == "less"
    assert call_of(x.astype("int32")).attrs.dtype == "int32"


def test_dropout_is_the_first_field_of_its_pair() -> None:
    first = nn.dropout(floats(2), 0.25)
    assert isinstance(first, TupleGetItem)
    assert first.index == 0
    assert call_of(first.tuple_value).attrs.rate == 0.25


class Facts(NamedTuple):
    """What TVM registers for an operator; without a pattern it fuses with none."""

    pattern: OpPattern | None
    stateful: bool


def tvms_operators() -> dict[str, Facts]:
    text = Path(__file__).with_name("tvm_operators.txt").read_text()
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {
        name: Facts(
            None if pattern == "none" else OpPattern(int(pattern)), rest == ["stateful"]
        )
        for name, pattern, *rest in lines
    }


# Operators that TVM 0.8 has not, with the patterns of those most like them: the later
# versions' own, or those of the other functions of one tensor.
LATER = {
    **dict.fromkeys(
        [f"dyn.{name}" for name in ("all", "any", "max", "mean", "min", "prod", "sum")],
        OpPattern.OPAQUE,
    ),
    "log1p": OpPattern.ELEMWISE,
    "scatter_elements": OpPattern.OPAQUE,
    "trilu": OpPattern.ELEMWISE,
    "trunc_divide": OpPattern.BROADCAST,
    "trunc_mod": OpPattern.BROADCAST,
}


def test_fusion_patterns_and_state_are_tvms() -> None:
    known = tvms_operators()
    assert {entry.name for entry in shipped()} - known.keys() == LATER.keys()
    for entry in shipped():
        wanted = known.get(entry.name) or Facts(LATER[entry.name], stateful=False)
        got = Facts(entry.pattern, bool(entry.get_attr("TOpIsStateful")))
        if entry.name == "debug":  # stays where it is, as for-tvm-users.md says
            wanted = wanted._replace(stateful=True)
        opaque = wanted._replace(pattern=OpPattern.OPAQUE)
        assert got == (opaque if wanted.pattern is None else wanted), entry.name


def test_properties_are_read_under_tvms_names() -> None:
    conv, on_device = Op.get("nn.conv2d"), Op.get("on_device")
    assert conv.get_attr("TOpPattern") == OpPattern.OUT_ELEMWISE_FUSABLE == 4
    assert on_device.get_attr("TNonComputational") is True
    assert on_device.get_attr("TOpIsStateful") is False
    assert on_device.get_attr("FTVMCompute") is None
