from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest

from parpass.errors import IRTypeError
from parpass.relay import op
from parpass.relay.expr import Constant, var
from parpass.relay.op import nn


def test_numbers_and_arrays_become_constants() -> None:
    x = var("x", shape=(2,))
    for operand, dtype in ((1, "int32"), (1.0, "float32"), (np.zeros(2), "float64")):
        first, second = op.add(x, operand).args  # pyright: ignore[reportArgumentType]
        assert first is x
        assert isinstance(second, Constant)
        assert second.data.dtype == dtype


def test_a_builder_takes_expressions_only_not_the_results_of_several() -> None:
    x = var("x", shape=(1, 1, 2, 2))
    several: Any = nn.batch_norm(x, x, x, x, x)
    for build in (lambda: nn.relu(several), lambda: nn.conv2d(several, x)):
        with pytest.raises(IRTypeError) as caught:
            build()
        assert str(caught.value) == (
            "expected a Relay expression or a number, got TupleWrapper"
        )


def test_a_builder_is_what_was_declared() -> None:
    assert str(inspect.signature(op.take)) == (
        "(data: 'Expr', indices: 'Operand', axis: 'int | None' = None, "
        "batch_dims: 'int' = 0, mode: 'str' = 'clip') -> 'Call'"
    )
    assert op.take.__doc__ is not None
    assert op.take.__doc__.startswith("Pick elements, or slices")


def test_what_shares_a_declaration_has_names_and_defaults_of_its_own() -> None:
    layouts = {"conv1d": "NCW", "conv2d": "NCHW", "conv3d": "NCDHW"}
    for name, layout in layouts.items():
        build = getattr(nn, name)
        assert (build.__name__, build.__qualname__) == (name, name)
        assert inspect.signature(build).parameters["data_layout"].default == layout
        assert pickle.loads(pickle.dumps(build)) is build


def test_what_is_not_given_is_stored_in_full() -> None:
    x, w = var("x", shape=(1, 1, 8, 8)), var("w", shape=(1, 1, 3, 3))
    assert nn.conv2d(x, w).attrs == nn.conv2d(x, w, (1, 1), (0, 0, 0, 0)).attrs
    assert nn.conv2d(x, w).attrs.padding == (0, 0, 0, 0)
    assert op.cumsum(x).attrs.exclusive is False
    assert op.strided_slice(x, 0, 1).attrs.strides == (1,)


def test_attributes_may_stand_between_arguments() -> None:
    x, at = var("x", shape=(2, 2)), var("at", shape=(2, 2), dtype="int32")
    call = op.gather(x, 1, indices=at)
    assert (call.args, call.attrs.axis) == ((x, at), 1)


MISFITS: list[tuple[Any, dict[str, Any], str]] = [
    (op.add, {}, r"^add\(\) missing 1 required positional argument: 'rhs'$"),
    (op.add, {"lhs": 1}, r"^add\(\) got multiple values for argument 'lhs'$"),
    (
        nn.conv2d,
        {"weight": 1, "stride": 1},
        r"^conv2d\(\) got an unexpected keyword argument 'stride'",  # 3.13 has a hint
    ),
]


@pytest.mark.parametrize(("build", "named", "words"), MISFITS)
def test_what_does_not_fit_a_signature_is_refused_in_pythons_words(
    build: Any, named: dict[str, Any], words: str
) -> None:
    with pytest.raises(TypeError, match=words):
        build(var("x", shape=(2,)), **named)


def test_arguments_may_be_named() -> None:
    x, y = var("x", shape=(2,)), var("y", shape=(2,))
    assert op.add(rhs=y, lhs=x).args == (x, y)
    assert nn.relu(data=x).args == (x,)
