"""Tiles: as many results as registers hold, and no more code than that of so many."""

from __future__ import annotations

from itertools import product

import pytest

from parpass import IRModule, relay
from parpass.relay.backend.lowering.kernel_builder import kernel
from parpass.relay.backend.lowering.templates.accumulators import best_tile
from parpass.relay.type_inference.infer import infer_type
from parpass.target import Target
from parpass.target.build_library import lowering
from parpass.target.code_gen import LARGE_TEXT
from parpass.target.emission.kernel_emitter import emitted
from parpass.transform import PassContext, Sequential

WIDE = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4")


@pytest.mark.parametrize("registers", [16, 32])
def test_all_tiles_together_have_no_more_results_than_registers(registers: int):
    for rows, columns, shorter in product((1, 7, 55, 111), (1, 2, 16), (False, True)):
        tile = best_tile(rows, columns, registers, last_is_shorter=shorter)
        assert columns % tile.columns == 0
        kinds = 2 if shorter and tile.columns < columns else 1
        rest = rows % tile.rows
        assert (tile.rows + rest) * tile.columns * kinds <= registers
        assert tile.rows * tile.columns < registers - tile.columns


def test_a_tile_has_room_for_the_results_of_all_phases():
    for rows, columns, phases in product((1, 24, 64), (1, 5, 7), (2, 3, 8)):
        tile = best_tile(rows, columns, 32, phases=phases)
        assert tile.rows * tile.columns * phases + tile.columns < 32
    assert best_tile(3, 5, 32, phases=40) == (1, 1)


X, W = (
    relay.var("x", shape=(1, 1, 111, 111, 16)),
    relay.var("w", shape=(2, 1, 1, 1, 16, 16)),
)
PLAIN_X, PLAIN_W = (
    relay.var("x", shape=(1, 5, 27, 27)),
    relay.var("w", shape=(62, 5, 1, 1)),
)
CONVOLUTIONS = {
    "in blocks": relay.nn.contrib_conv2d_nchwc(
        X, W, data_layout="NCHW16c", kernel_layout="OIHW16i16o"
    ),
    "in NCHW": relay.nn.conv2d(PLAIN_X, PLAIN_W),
}

SHAPES = {"in blocks": (2, 1, 1, 16), "in NCHW": (62, 1, 1)}


@pytest.mark.parametrize("which", CONVOLUTIONS)
def test_a_row_of_any_length_has_a_text_that_llvm_takes_quickly(which: str):
    call = CONVOLUTIONS[which]
    scale, shift = (relay.var(name, shape=SHAPES[which]) for name in ("a", "b"))
    body = relay.nn.relu(call * scale + shift)
    params = relay.analysis.free_vars(body)
    function = relay.Function(params, body, attrs={"Primitive": 1})
    loops = kernel(infer_type(function), "main", WIDE)
    with PassContext(config={"tir.instrument_bound_checkers": False}):
        passes = Sequential(list(lowering(WIDE).passes)[:-1])
    text, _ = emitted(passes(IRModule({"main": loops}))["main"], "main", ())
    assert len(text) < LARGE_TEXT
