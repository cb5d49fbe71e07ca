"""Operations become bytes and come back as they were, in all that a pass can see."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from xdsl.dialects.builtin import FloatAttr, ModuleOp, f64
from xdsl.ir import Block, Operation, Region
from xdsl.utils.exceptions import ParseError

from parpass.errors import ArgumentError, SlowerRunWarning
from parpass.integrations.xdsl import xdsl_codec
from parpass.integrations.xdsl.attribute_codec import decoded, encoded, name_of
from parpass.integrations.xdsl.op_codec import decode, encode
from tests.integrations.xdsl.xdsl_programs import (
    KINDS,
    generic_text,
    modules,
    names,
    orders_of_use,
    parsed,
)
from tests.support.profiles import examples

FILECHECK = "PARPASS_XDSL_FILECHECK"  # a folder with the programs of xDSL's own tests


def assert_comes_back(module: ModuleOp) -> None:
    content = encode([module])
    [again] = decode(content)
    again.verify(verify_nested_ops=False)
    assert generic_text(again) == generic_text(module)
    assert orders_of_use(again) == orders_of_use(module)
    assert names(again) == names(module)
    assert encode([again]) == content


@pytest.mark.slow
@examples(1.25)
@given(module=modules())
def test_any_module_comes_back_with_its_text_names_and_orders_of_use(module: ModuleOp):
    assert_comes_back(module)


def test_what_compares_equal_and_differs_stays_apart():
    zero, minus = FloatAttr(0.0, f64), FloatAttr(-0.0, f64)
    assert encoded(zero).content != encoded(minus).content
    assert str(decoded(encoded(minus).content)) == str(minus)
    op = KINDS[0].create(attributes={"x": zero, "y": minus})
    assert_comes_back(ModuleOp([op]))


def test_bytes_do_not_depend_on_what_is_shared_in_memory():
    shared = FloatAttr(1.0, f64)
    once = KINDS[0].create(attributes={"x": shared, "y": shared})
    twice = KINDS[0].create(attributes={"x": shared, "y": FloatAttr(1.0, f64)})
    assert encode([once]) == encode([twice])


@pytest.mark.slow
def test_regions_may_be_deep():
    op: Operation = KINDS[0].create()
    for _ in range(3_000):
        op = KINDS[0].create(regions=[Region(Block([op]))])
    content = encode([op])
    assert encode(decode(content)) == content


def test_a_class_of_a_module_that_no_other_process_can_import_travels_by_value(
    monkeypatch: pytest.MonkeyPatch,
):
    made = ModuleType("made_up_here")
    kind = type("Own", (KINDS[0],), {"__module__": "made_up_here"})
    vars(made)["Own"] = kind
    monkeypatch.setitem(sys.modules, "made_up_here", made)
    assert isinstance(name_of(kind), bytes)
    assert name_of(ModuleOp) == "xdsl.dialects.builtin:ModuleOp"


def test_what_is_not_closed_is_refused():
    block = Block(arg_types=[f64])
    user = KINDS[0].create(operands=block.args)
    with pytest.raises(
        ArgumentError, match=r"'builtin.unregistered' uses a value that"
    ):
        encode([user])
    with pytest.raises(ArgumentError, match=r"uses a block that is defined outside"):
        encode([KINDS[0].create(successors=[block])])


def test_uses_by_what_was_taken_out_do_not_travel():
    used = KINDS[0].create(result_types=[f64])
    KINDS[0].create(operands=used.results)
    content = encode([used])
    assert used.results[0].first_use is not None
    assert decode(content)[0].results[0].first_use is None
    assert encode([used], tidy=True) == content
    assert used.results[0].first_use is None


@pytest.mark.slow
def test_forward_references_and_unreachable_blocks_come_back():
    assert_comes_back(
        parsed(
            """
            "test.op"() ({
              %a = "test.op"(%b, %b, %a) : (i32, i32, i32) -> i32
              %b = "test.op"(%a, %b) : (i32, i32) -> i32
              "test.op"(%b, %a, %b) : (i32, i32, i32) -> () loc("here":1:2)
            }) : () -> ()
            func.func @f(%c: i1) {
              cf.cond_br %c, ^two, ^two
            ^one:
              cf.br ^two
            ^two:
              func.return
            }
            """
        )
    )


def test_under_another_release_operations_travel_as_text_with_one_warning(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(xdsl_codec, "TESTED", ("0.0.0",))
    module = parsed("func.func @f() { func.call @g() : () -> () func.return }")
    xdsl_codec.is_tested.cache_clear()
    try:
        with pytest.warns(SlowerRunWarning, match="tested with xdsl 0.0.0") as warned:
            contents = [xdsl_codec.encode([module]), xdsl_codec.encode([module])]
        assert len(warned) == 1
        assert xdsl_codec.symbols_in(contents[0]) == ("g",)
        [again] = xdsl_codec.decode(contents[1])
        assert generic_text(again) == generic_text(module)
    finally:
        xdsl_codec.is_tested.cache_clear()


@pytest.mark.stress
def test_programs_of_xdsls_own_tests_come_back():
    folder = os.environ.get(FILECHECK)
    if folder is None:
        pytest.skip(f"{FILECHECK} names no folder with programs")
    seen = 0
    for path in sorted(Path(folder).rglob("*.mlir")):
        for text in path.read_text().split("// -----"):
            try:
                module = parsed(text)
                generic_text(module)
            except (ParseError, Exception):  # noqa: BLE001 -- they test errors, too
                continue
            assert_comes_back(module)
            seen += 1
    assert seen > 1_000
