"""verify_memory, VerifyMemory: what a device has is for its threads."""

from __future__ import annotations

from typing import Any

import pytest

from parpass import IRModule, tir
from parpass.errors import IRError
from parpass.tir.analysis import memory_faults, verify_memory
from parpass.tir.transform import VerifyMemory

A, B = (tir.decl_buffer((8,), "int32", name) for name in "AB")


def func(body: tir.Stmt, target: str | None = "cuda") -> tir.PrimFunc:
    made = tir.PrimFunc((A, B), body)
    return made if target is None else made.with_attr("target", target)


def copying(at: Any) -> tir.Stmt:
    return B.vstore([at], A.vload([at]))


def in_threads() -> tir.Stmt:
    axis = tir.IterVar((0, 8), "threadIdx.x", tir.IterVar.ThreadIndex, "threadIdx.x")
    return tir.AttrStmt(axis, "thread_extent", 8, copying(axis.var))


def test_threads_may_access_what_a_device_has():
    assert verify_memory(func(in_threads()))


@pytest.mark.parametrize("target", ["cuda", "opencl -device=any", "vulkan"])
def test_others_may_not(target: str):
    faults = memory_faults(func(tir.SeqStmt([in_threads(), copying(0)]), target))
    assert [one.split("`")[1] for one in faults] == ["B", "A"]


@pytest.mark.parametrize("target", ["llvm -mcpu=any", "c"])
def test_on_the_processor_all_is_well(target: str):
    assert verify_memory(func(copying(0), target))


def test_memory_of_its_own_is_no_parameter():
    own = tir.decl_buffer((8,), "int32", "own")
    body = tir.Allocate(own.data, "int32", (8,), None, own.vstore([0], 1))
    assert verify_memory(func(body))


def test_what_is_a_part_of_a_parameter_is_one():
    handle, data = tir.Var("handle", "handle"), A.data
    part = tir.call_intrin("handle", "tir.tvm_struct_get", handle, 0, 1)
    body = tir.LetStmt(data, part, A.vstore([0], 1))
    made = tir.PrimFunc((handle,), body).with_attr("target", "cuda")
    assert not verify_memory(made)
    assert verify_memory(made.with_attr("calling_conv", 1))


def test_a_target_is_required():
    with pytest.raises(IRError, match="Require the target attribute"):
        verify_memory(func(copying(0), None))


def test_the_pass_refuses_what_has_faults_and_changes_nothing():
    good = func(in_threads())
    assert VerifyMemory()(IRModule({"main": good}))["main"] is good
    with pytest.raises(IRError, match=r"(?s)`B` is directly accessed.*forget to bind"):
        VerifyMemory()(IRModule({"main": func(copying(0))}))
