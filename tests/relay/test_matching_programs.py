"""Generated programs with matches and references go everywhere."""

from __future__ import annotations

import pytest
from hypothesis import given

from parpass.ir.module import IRModule
from parpass.ir.serialization import load_json, save_json
from parpass.ir.structural import assert_structural_equal, structural_hash
from parpass.relay.analysis import function_faults
from parpass.relay.text.parser import parse
from parpass.relay.transform import InferType
from tests.support.drawn import MATCHING
from tests.support.profiles import examples


def plain(mod: IRModule) -> str:
    """Return a module's text without types, which nothing brings back."""
    return mod.astext(annotate=lambda node: "")


@pytest.mark.slow
@given(MATCHING)
@examples(0.6)
def test_they_are_well_formed_and_come_back_from_text_and_json(mod: IRModule):
    typed = InferType()(mod)
    for function in typed.functions_by_name.values():
        assert function_faults(function, typed) == []
    for one in (mod, typed):
        for again in (parse(one.astext()), load_json(save_json(one))):
            assert_structural_equal(again, one)
            assert structural_hash(again) == structural_hash(one)
            assert plain(again) == plain(one)
