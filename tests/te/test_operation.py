"""Tensors are computed by expressions of indices."""

from __future__ import annotations

from typing import Any

import pytest

import parpass
from parpass import te, tir
from parpass.errors import ArgumentError, IRTypeError

A = te.placeholder((4, 8), name="A")


def test_an_element_of_a_tensor_is_a_load_of_it():
    i: Any = te.var("i")
    load = A[i, 0]
    assert isinstance(load, tir.ProducerLoad)
    assert (load.producer, load.indices[0], load.dtype) == (A, i, "float32")
    again = A[i][0]
    assert again.producer is A
    assert parpass.structural_equal(load, again)


def test_a_tensor_has_the_shape_and_the_dtype_of_what_computes_it():
    n = te.size_var("n")
    b = te.compute((n, 4), lambda i, j: A[j, i].astype("int32"), name="b")
    assert (b.shape[0], int(b.shape[1]), b.dtype, b.name) == (n, 4, "int32", "b")
    assert [axis.var.name for axis in b.op.axis] == ["i", "j"]


def test_indices_may_be_taken_all_together():
    def element(*at: Any) -> Any:
        return A(*at)

    b = te.compute((2, 3), element, name="b")
    assert [axis.var.name for axis in b.op.axis] == ["i0", "i1"]


def test_a_number_is_an_element():
    assert te.compute((2,), lambda i: 1.0).dtype == "float32"


def test_a_reduction_over_an_axis_keeps_what_it_is_made_of():
    k = te.reduce_axis((0, 8), "k")
    b = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), "b")
    (body,) = b.op.body
    assert isinstance(body, tir.Reduce)
    assert b.op.reduce_axis == (k,)
    assert body.dtype == "float32"
    assert parpass.structural_equal(body, te.sum(A[b.op.axis[0].var, k], axis=[k]))


def test_an_axis_of_threads_has_a_tag():
    axis = te.thread_axis("threadIdx.x")
    assert (axis.var.name, axis.thread_tag, axis.dom) == (*("threadIdx.x",) * 2, None)
    named = te.thread_axis((0, 8), "blockIdx.x", "block")
    assert (named.var.name, int(named.dom.extent)) == ("block", 8)
    with pytest.raises(ArgumentError, match="tag must be given"):
        te.thread_axis((0, 8))


def test_maxima_of_two_values_are_no_reductions():
    a, b = te.var("a"), te.var("b")
    assert isinstance(te.max(a, b), tir.Max)
    assert isinstance(tir.min(a, b), tir.Min)


def both(x: Any, y: Any) -> Any:
    larger = x[1] >= y[1]
    return tuple(tir.Select(larger, x[at], y[at]) for at in range(2))


ARGMAX = te.comm_reducer(
    both, lambda i, v: (te.const(-1, i), te.min_value(v)), "argmax"
)


K = te.reduce_axis((0, 8), "k")


def test_a_reduction_of_tuples_gives_tensors():
    k = te.reduce_axis((0, 8), "k")
    index, value = te.compute(
        (4,), lambda i: ARGMAX((k.var, A[i, k]), axis=k), name="best"
    )
    assert (index.dtype, value.dtype) == ("int32", "float32")
    assert (index.name, value.name) == ("best.v0", "best.v1")


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: A[0, 0, 0], IRTypeError, "expected 2 indices for tensor 'A', got 3"),
        (
            lambda: te.compute((2, 2), lambda i: i, "b"),
            ArgumentError,
            "a function of 2 indices for the 2 dimensions of 'b', got one of 1",
        ),
        (
            lambda: te.sum(A[0, 0], axis=tir.IterVar((0, 2), "k", 0)),
            IRTypeError,
            "expected axes of te.reduce_axis",
        ),
        (
            lambda: te.compute((2,), lambda i: (te.sum(A[0, i], K), i), "b"),
            IRTypeError,
            "expected all results of one reduction for 'b', in order, or expressions",
        ),
        (
            lambda: te.compute((2,), lambda i: (te.sum(A[i, K], K),) * 2, "b"),
            IRTypeError,
            r"got the results \[0, 0\] of 1 among 2 elements",
        ),
    ],
)
def test_what_does_not_fit_is_refused(build: Any, error: Any, message: str):
    with pytest.raises(error, match=message):
        build()
