"""LLVM makes object code for one thread at a time, and a fork waits for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from parpass.target import Target
from parpass.target.llvm_object import llvm_binding, object_code
from tests.support.forking import forked_in_the_midst

TEXT = """
define i32 @f() #0 {
  ret i32 7
}
"""


def code() -> bytes:
    return object_code(TEXT, Target("llvm").resolved(), "f")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks")
def test_a_child_is_not_forked_while_llvm_is_at_work():
    made = code()
    locks: Any = llvm_binding().ffi

    def work(stay: Callable[[], None]) -> None:
        def inside() -> None:
            stay()

        def leave() -> None: ...

        # Called while llvmlite's own lock is held.
        locks.register_lock_callback(inside, leave)
        try:
            code()
        finally:
            locks.unregister_lock_callback(inside, leave)

    assert forked_in_the_midst(work, lambda: code() == made)
