"""Loops are made of tensor expressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass import structural_equal, te, tir
from parpass.errors import ArgumentError, IRTypeError
from parpass.tir.analysis.definitions import function_faults
from parpass.tir.interpreter.evaluation import evaluate
from tests.te.test_operation import ARGMAX

N = te.size_var("n")
A = te.placeholder((N, 8), name="A")
G = te.placeholder((4, 8), name="G")


def scaled() -> tir.PrimFunc:
    b = te.compute((N, 8), lambda i, j: A[i, j] * 2.0, name="B")
    return te.create_prim_func([A, b])


def test_each_dimension_is_a_loop_that_stores_an_element():
    func = scaled()
    outer: Any = func.body
    inner = outer.body
    store = inner.body
    assert [p.name for p in func.params] == ["A", "B"]
    assert outer.extent is N
    assert (int(inner.min), int(inner.extent), inner.kind) == (0, 8, 0)
    assert isinstance(store, tir.BufferStore)
    assert store.buffer is func.buffer_map[func.params[1]]
    assert store.indices == (outer.loop_var, inner.loop_var)
    assert isinstance(store.value, tir.Mul)


def test_a_reduction_begins_with_its_identity_element():
    k = te.reduce_axis((0, 8), "k")
    b = te.compute((N,), lambda i: te.max(A[i, k], axis=k), name="B")
    loop: Any = te.create_prim_func([A, b]).body
    begin, rest = loop.body
    assert structural_equal(begin.value, te.min_value("float32"))
    assert isinstance(rest, tir.For)
    update: Any = rest.body
    assert isinstance(update.value, tir.Max)
    assert isinstance(update.value.a, tir.BufferLoad)
    assert update.value.a.buffer is update.buffer


def test_a_reduction_may_begin_with_another_value_and_leave_values_out():
    k = te.reduce_axis((0, 8), "k")
    b = te.compute((N,), lambda i: te.sum(A[i, k], k, k.var > 2, 5.0), name="B")
    loop: Any = te.create_prim_func([A, b]).body
    begin, rest = loop.body
    assert begin.value.value == 5.0
    assert isinstance(rest.body, tir.IfThenElse)


def test_results_of_a_reduction_of_tuples_are_stored_once_all_are_known():
    k = te.reduce_axis((0, 8), "k")
    best = te.compute((N,), lambda i: ARGMAX((k.var, A[i, k]), axis=k), name="best")
    func = te.create_prim_func([A, *best])
    assert [p.name for p in func.params] == ["A", "best_v0", "best_v1"]
    loop: Any = func.body
    *_, rest = loop.body
    first, second = rest.body, rest.body.body
    assert isinstance(first, tir.LetStmt)
    assert isinstance(second, tir.LetStmt)
    assert isinstance(second.body, tir.SeqStmt)


def test_elements_of_several_tensors_are_stored_in_one_nest_of_loops():
    sums, products = te.compute(
        (4, 8), lambda i, j: (G[i, j] + 2.0, G[i, j] * 3.0), name="B"
    )
    func = te.create_prim_func([G, sums, products])
    inner: Any = func.body
    assert isinstance(inner.body.body, tir.SeqStmt)
    given = np.arange(32, dtype="float32").reshape(4, 8)
    found = [np.zeros_like(given), np.zeros_like(given)]
    evaluate(func, [given, *found])
    assert np.array_equal(found[0], given + 2)
    assert np.array_equal(found[1], given * 3)


def test_tensors_between_are_computed_first_into_memory_of_the_function():
    b = te.compute((N, 8), lambda i, j: A[i, j] + 1.0, name="B")
    c = te.compute((N, 8), lambda i, j: te.exp(b[i, j]) + b[i, 0], name="C")
    func = te.create_prim_func([c, A])
    assert [p.name for p in func.params] == ["C", "A"]
    assert isinstance(func.body, tir.Allocate)
    assert func.body.buffer_var.name == "B"
    assert isinstance(func.body.body, tir.SeqStmt)
    assert function_faults(func) == []


def test_functions_of_equal_tensors_are_equal():
    assert structural_equal(scaled(), scaled(), map_free_vars=True)


def test_what_is_read_must_be_given():
    b = te.compute((N, 8), lambda i, j: A[i, j], name="B")
    with pytest.raises(ArgumentError, match="expected tensor 'A', which is read"):
        te.create_prim_func([b])


def test_a_reduction_within_an_expression_is_refused():
    k = te.reduce_axis((0, 8), "k")
    b = te.compute((N,), lambda i: te.sum(A[i, k], axis=k) + 1.0, name="B")
    with pytest.raises(IRTypeError, match="compute it separately first"):
        te.create_prim_func([A, b])
