"""memory_faults and verify_memory; whose faults there are, VerifyMemory's cases say."""

from __future__ import annotations

import pytest

from parpass import tir
from parpass.errors import IRError
from parpass.tir.analysis import memory_faults, verify_memory

A, B = (tir.decl_buffer((8,), "int32", name) for name in "AB")
COPY = tir.PrimFunc((A, B), B.vstore([0], A.vload([0])))


def test_faults_are_told_in_the_order_of_accesses():
    func = COPY.with_attr("target", "cuda")
    assert [one.split("`")[1] for one in memory_faults(func)] == ["B", "A"]
    assert not verify_memory(func)


def test_without_faults_it_is_verified():
    func = COPY.with_attr("target", "llvm")
    assert memory_faults(func) == []
    assert verify_memory(func)


def test_a_target_is_required():
    with pytest.raises(IRError, match="Require the target attribute"):
        verify_memory(COPY)
