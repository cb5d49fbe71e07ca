"""Printing is the inverse of parsing."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from parpass.errors import UnprintablePassError
from parpass.transform import (
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    module_pass,
    parse_pipeline,
    print_pipeline,
    register_pass,
)
from parpass.transform.pipeline import options_of
from tests.support.toy.ir import Program
from tests.support.toy.passes import Add, AddFrom, Duplicate, FailOn, Keep


@register_pass("toy.Many")
class Many(ModulePass):
    """Has options of every kind, with types and without."""

    pass_info = PassInfo(0, "Many")

    def __init__(
        self,
        plain: Any = None,
        word: str = "a",
        rate: float = 1.0,
        flags: list[bool] | None = None,
        words: tuple[str, ...] = (),
    ) -> None:
        self.plain = plain
        self.word = word
        self.rate = rate
        self.flags = flags
        self.words = words


@register_pass("toy.Hidden")
class Hidden(ModulePass):
    """Does not keep its option."""

    pass_info = PassInfo(0, "Hidden")

    def __init__(self, amount: int = 1) -> None:
        self._amount = amount


_scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from(["true", "null", "inf", "-1", "1e5", "word", "a-b", "a=b"])
)
_values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=3), max_leaves=6
)
_passes = st.one_of(
    st.builds(Add, st.integers()),
    st.builds(AddFrom, st.text()),
    st.builds(Keep),
    st.builds(
        Many,
        _values,
        st.text(),
        st.floats(allow_nan=False),
        st.none() | st.lists(st.booleans()),
        st.lists(st.text()).map(tuple),
    ),
)
_names = st.just("sequential") | st.text()


def sequentials(inner: st.SearchStrategy[Pass]) -> st.SearchStrategy[Sequential]:
    return st.builds(
        Sequential,
        st.lists(inner, max_size=3),
        st.integers(0, 3),
        _names,
        st.lists(st.text(), max_size=2),
    )


pipelines = sequentials(
    st.recursive(_passes, lambda inner: inner | sequentials(inner), max_leaves=6)
)


def structure(pass_: Pass | None) -> Any:
    """Return what makes a pass the pass that it is: class, settings, options."""
    assert pass_ is not None
    if isinstance(pass_, Sequential):
        info = pass_.info
        children = [structure(child) for child in pass_.passes]
        return (info.name, info.opt_level, info.required, children)
    specs, _ = options_of(type(pass_))
    return (type(pass_), {name: repr(getattr(pass_, name)) for name in specs})


@pytest.mark.slow
@given(pipelines, st.sampled_from([None, 0, 2]))
def test_parsing_what_was_printed_gives_the_pipeline(
    pipeline: Sequential, indent: int | None
):
    text = print_pipeline(pipeline, indent=indent)
    parsed = parse_pipeline(text)
    assert structure(parsed) == structure(pipeline)
    assert print_pipeline(parsed, indent=indent) == text


def bits(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def float_of(bits: int) -> float:
    return struct.unpack("<d", bits.to_bytes(8, "little"))[0]


@given(st.floats() | st.integers(0, (1 << 64) - 1).map(float_of))
@example(-0.0)
@example(float_of(0xFFF8_0000_0000_0000))  # a NaN with the sign
@example(float_of(0x7FF0_0000_0000_0001))  # that signals
@example(float_of(0xFFF8_0000_0000_0007))  # with a payload
def test_a_float_comes_back_bit_by_bit_or_is_refused(value: float):
    made = Many(value, rate=value)
    if math.isnan(value) and bits(value) & ~(1 << 63) != 0x7FF8 << 48:
        with pytest.raises(UnprintablePassError, match="a NaN with a payload has no"):
            print_pipeline(made)
        return
    [parsed] = parse_pipeline(print_pipeline(made)).passes
    assert isinstance(parsed, Many)
    assert (bits(parsed.plain), bits(parsed.rate)) == (bits(value), bits(value))


@pytest.mark.parametrize(
    ("pipeline", "text"),
    [
        (Sequential([Add(), Keep()]), "Add,Keep"),
        (Sequential([]), "sequential()"),
        (Sequential([Keep()], name="mine"), "sequential{name=mine}(Keep)"),
        (Sequential([Sequential([Keep()])]), "sequential(sequential(Keep))"),
        (Sequential([Keep(), Sequential([Add(2)])]), "Keep,sequential(Add{amount=2})"),
        (Add(3), "Add{amount=3}"),
        (Many("x y", flags=[True]), 'Many{plain="x y" flags=[true]}'),
        (
            Sequential([Add()], opt_level=2, name="a b", required=["Add", "Keep"]),
            'sequential{name="a b" opt_level=2 required=Add,Keep}(Add)',
        ),
    ],
)
def test_options_at_their_defaults_are_left_out(pipeline: Pass, text: str):
    assert print_pipeline(pipeline) == text


def test_it_can_be_indented():
    inner = Sequential([Keep(), Sequential([]), Sequential([Add(2)])], name="inner")
    pipeline = Sequential([Add(), inner, Duplicate()])
    assert print_pipeline(pipeline, indent=2) == (
        "Add,\n"
        "sequential{name=inner}(\n"
        "  Keep,\n"
        "  sequential(),\n"
        "  sequential(\n"
        "    Add{amount=2}\n"
        "  )\n"
        "),\n"
        "Duplicate"
    )


@module_pass(opt_level=0)
def loose(mod: Program, ctx: PassContext) -> Program:
    """Is not registered."""
    return mod


@pytest.mark.parametrize(
    ("pass_", "why"),
    [
        (loose, "'loose' .*: its class, ModulePassOfCallable, is not registered"),
        (FailOn(3, KeyError), "'FailOn' .*: option 'error': a type has no text"),
        (Hidden(), "'Hidden' .*: option 'amount' is not kept as an attribute"),
        (Sequential([None]), "'sequential' .*: it holds None for a pass"),
        (Many(plain={1}), "'Many' .*: option 'plain': a set has no text"),
    ],
)
def test_what_has_no_text_is_refused(pass_: Pass, why: str):
    with pytest.raises(UnprintablePassError, match=why) as caught:
        print_pipeline(Sequential([Keep(), pass_]))
    assert caught.value.pass_name == pass_.info.name


def one_more(name: str, key: str) -> type[ModulePass]:
    """Return a class of passes with a name, registered under a key."""

    class Same(ModulePass):
        pass_info = PassInfo(0, name)

        def transform_module(self, mod: Program, ctx: PassContext) -> Program:
            return mod

    return register_pass(key)(Same)


def test_passes_of_one_name_are_told_apart_by_their_keys():
    kinds = [one_more("Same", f"toy.{key}") for key in ("a.Same", "b.Same", "Unlike")]
    text = print_pipeline(Sequential([kind() for kind in kinds]))
    assert text == "toy.a.Same,Same,Unlike"
    assert [type(one) for one in parse_pipeline(text).passes] == kinds


def test_a_pass_that_was_made_by_a_decorator_is_found_by_its_key():
    kinds = [module_pass(loose.pass_func, 0, "Made") for _ in range(2)]
    for prefix, one in zip("ab", kinds, strict=True):
        register_pass(f"toy.{prefix}.Made")(one)
    text = print_pipeline(Sequential(kinds))
    assert text == "toy.a.Made,Made"
    assert parse_pipeline(text).passes == tuple(kinds)


def test_a_class_is_printed_by_the_key_that_is_its_own():
    kind = one_more("Two", "toy.b.Twice")
    register_pass("toy.Keep.Alone")(kind)
    one_more("Three", "toy.c.Twice")
    assert print_pipeline(kind()) == "Alone"
