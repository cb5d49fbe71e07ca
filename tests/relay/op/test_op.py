"""The table of operators, builders, and calls that no generator draws."""

from __future__ import annotations

import pickle

import pytest

from parpass.errors import IRError, UnknownOpError
from parpass.relay import op
from parpass.relay.expr import Expr, TupleGetItem, TupleWrapper
from parpass.relay.op import Op, OpPattern, nn
from tests.support.relay.op.calls import (
    bools,
    call_of,
    floats,
    ints,
    name_of,
    related,
    type_of,
    value,
)

# Of kinds of which `GENERATED` of `tests/support/relay/op/operators.py` has none.
CALLS: list[Expr | TupleWrapper] = [
    op.power(ints(3), ints(3, low=1)),
    op.copy(bools(3)),
    op.cast(floats(2), "int8"),
    op.clip(ints(3), -1, 1),
    op.full(1.0, (2, 3)),
    op.zeros_like(bools(2)),
    op.sum(ints(2, 3), 0),
    op.mean(ints(2, 3), 0),
    op.prod(ints(2, 3), 0),
    op.ndarray_size(floats(2, 3), "int64"),
    nn.conv2d(ints(1, 1, 4, 4), ints(1, 1, 2, 2), out_dtype="int64"),
    nn.max_pool2d(ints(1, 2, 6, 7), 3, 2, padding=1),
    nn.dense(floats(3), floats(4, 3), 4, "float64"),
    nn.l2_normalize(floats(2, 3), 1e-6),
    nn.pad(floats(2, 3), ((1, 1), (0, 2)), pad_mode="reflect"),
]


@pytest.mark.parametrize("call", CALLS, ids=name_of)
def test_the_relation_gives_the_type_of_the_meaning(call: Expr | TupleWrapper) -> None:
    assert related(call) == type_of(value(call))


def test_the_public_names_are_there_once() -> None:
    for package in (op, nn):
        assert len(package.__all__) == len(set(package.__all__))
        assert all(hasattr(package, name) for name in package.__all__)


def test_builders_bear_the_name_and_a_docstring() -> None:
    for package in (op, nn):
        for name in package.__all__:
            found = getattr(package, name)
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


def test_python_operators_build_calls() -> None:
    x = floats(2)
    assert name_of(-x) == "negative"
    assert name_of(1.0 + x) == "add"
    assert name_of(x < 1.0) == "less"
    assert call_of(x.astype("int32")).attrs.dtype == "int32"


def test_dropout_is_the_first_field_of_its_pair() -> None:
    first = nn.dropout(floats(2), 0.25)
    assert isinstance(first, TupleGetItem)
    assert first.index == 0
    assert call_of(first.tuple_value).attrs.rate == 0.25


def test_properties_are_read_under_tvms_names() -> None:
    conv, on_device = Op.get("nn.conv2d"), Op.get("on_device")
    assert conv.get_attr("TOpPattern") == OpPattern.OUT_ELEMWISE_FUSABLE == 4
    assert on_device.get_attr("TNonComputational") is True
    assert on_device.get_attr("TOpIsStateful") is False
    assert on_device.get_attr("FTVMCompute") is None
