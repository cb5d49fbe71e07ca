"""Boxes of xDSL: several threads may run passes on one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from parpass.integrations.xdsl.owned_ops import OwnedOps
from parpass.integrations.xdsl.xdsl_adapter import MLIRFormat
from tests.integrations.xdsl.xdsl_programs import generic_text, parsed
from tests.support.interleaving import interleaved

PROGRAM = "func.func @f(%a: i32) -> i32 {\n  func.return %a : i32\n}\n"
FILES = ("xdsl/owned_ops.py",)


def function() -> list[Operation]:
    (op,) = parsed(PROGRAM).ops
    op.detach()
    return [op]


def text_box() -> OwnedOps:
    return MLIRFormat().parse(PROGRAM, "a.mlir").functions["f"]


def changed(box: OwnedOps) -> str:
    """Take what is in a box, change it, and return it as text."""
    (op,) = box.take()
    was = generic_text(op)
    op.attributes["changed"] = StringAttr("once")
    assert generic_text(op) != was
    return was


def given_back(box: OwnedOps) -> str:
    ops = box.take()
    box.give_back(ops)
    return box.text


READERS: Sequence[Callable[[OwnedOps], object]] = [
    changed,
    given_back,
    lambda box: box.content,
    lambda box: box.signature,
    lambda box: box.text,
    lambda box: box.is_one,
    lambda box: box.pack(),
]


@pytest.mark.parametrize("make", [lambda: OwnedOps(function()), text_box])
@pytest.mark.parametrize("read", READERS)
def test_what_a_box_tells_is_not_what_another_thread_makes_of_what_was_in_it(
    read: Callable[[OwnedOps], object], make: Callable[[], OwnedOps]
):
    expected = read(make()), changed(make())

    def calls() -> tuple[Callable[[], object], Callable[[], object]]:
        box = make()
        return lambda: read(box), lambda: changed(box)

    assert set(interleaved(calls, FILES)) == {expected}


def test_a_copy_of_a_box_is_another_box_of_the_same():
    box = OwnedOps(function(), made_by="cse")
    made = copy.deepcopy(box)
    assert made == box
    assert made.made_by == "cse"
    assert changed(made) == changed(box)
