"""Relay programs that share nodes: linear, or refused by a stated bound, everywhere.

Each level of a program uses the one below it twice, as the same object; 40 levels are
some hundred nodes, and more than any memory holds as a tree.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import parpass as tvm
from parpass import IRModule, relay
from parpass.errors import ParpassError, SizeLimitError
from parpass.relay import analysis, transform
from parpass.relay.dataflow_pattern import is_op, wildcard
from tests.relay.shared_networks import FAMILIES
from tests.support.cpu_time import late_among
from tests.support.relay.pass_table import PASSES

_SECONDS = (
    10.0  # many times as long as it takes; what doubles at each level takes years
)
_DEPTH = 40

_PASSES = PASSES | {
    "FirstOrderGradient": transform.FirstOrderGradient,
    "level 3": lambda: transform.default_pipeline(3),
}


def _either(depth: int) -> Any:
    pattern: Any = is_op("nn.relu")(wildcard())
    for _ in range(depth):
        sums = is_op("add")(pattern, pattern)
        pattern = sums | is_op("multiply")(pattern, pattern)
    return pattern


def _sums(depth: int) -> Any:
    pattern: Any = wildcard()
    for _ in range(depth):
        pattern = is_op("add")(pattern, pattern)
    return pattern


_DOORS: dict[str, Callable[[IRModule], Any]] = {
    "build": lambda mod: relay.build(mod, target="llvm", workers=0, cache=False),
    "text": lambda mod: relay.parse(mod.astext()),
    "repr": lambda mod: repr(mod["main"].body),
    "json": lambda mod: tvm.load_json(tvm.save_json(mod)),
    "pickle": lambda mod: pickle.loads(pickle.dumps(mod)),
    "hash": tvm.structural_hash,
    "equality": lambda mod: tvm.structural_equal(mod, pickle.loads(pickle.dumps(mod))),
    "all_vars": lambda mod: analysis.all_vars(mod["main"]),
    "free_vars": lambda mod: analysis.free_vars(mod["main"]),
    "well_formed": lambda mod: analysis.well_formed(mod["main"]),
    "check_kind": lambda mod: analysis.check_kind(mod["main"].checked_type, mod),
    "gradient": lambda mod: transform.gradient(mod["main"], mod.copy()),
    "matching": lambda mod: _either(_DEPTH).match(mod["main"].body),
    "matching of sums": lambda mod: _sums(_DEPTH).match(mod["main"].body),
    "partitioning": lambda mod: _sums(3).partition(mod["main"].body),
}


@functools.cache
def _typed(family: str, depth: int) -> IRModule:
    return transform.InferType()(FAMILIES[family](depth))


def _cells(
    call: Callable[[IRModule], Any], names: Iterator[str], depth: int
) -> dict[str, Callable[[], Any]]:
    return {name: functools.partial(call, _typed(name, depth)) for name in names}


def _some(at: int, each: int) -> Iterator[str]:
    """Yield every so many-th family; another number gives others."""
    return (name for n, name in enumerate(FAMILIES) if (n + at) % each == 0)


@pytest.mark.parametrize("name", _PASSES)
def test_passes_end_on_what_is_shared(name: str) -> None:
    families = _some(list(_PASSES).index(name), 6)
    cells = _cells(lambda mod: _PASSES[name]()(mod), families, _DEPTH)
    assert late_among(cells, _SECONDS, ParpassError) == []


@pytest.mark.parametrize("name", _DOORS)
def test_what_is_no_pass_ends_on_what_is_shared(name: str) -> None:
    cells = _cells(_DOORS[name], _some(list(_DOORS).index(name), 6), _DEPTH)
    assert late_among(cells, _SECONDS, ParpassError) == []


@pytest.mark.stress
@pytest.mark.parametrize("name", [*_PASSES, *_DOORS])
def test_all_ends_on_all_that_is_shared(name: str) -> None:
    def call(mod: IRModule) -> Any:
        return _DOORS[name](mod) if name in _DOORS else _PASSES[name]()(mod)

    cells = _cells(call, iter(FAMILIES), 60)
    assert late_among(cells, 2 * _SECONDS, ParpassError) == []


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("FirstOrderGradient", "nested tuples"),
        ("gradient", "nested tuples"),
        ("gradient", "a tuple parameter"),
        ("build", "nested tuples"),
        ("build", "a tuple parameter"),
    ],
)
def test_what_would_be_too_large_is_refused_with_the_bound(
    name: str, family: str
) -> None:
    mod = _typed(family, 60)
    cells: dict[str, Callable[[], Any]] = {
        name: lambda: _DOORS[name](mod) if name in _DOORS else _PASSES[name]()(mod)
    }
    with pytest.raises(SizeLimitError, match=r"at most \d+ .*, got .*; .* twice"):
        late_among(cells, _SECONDS)


def _built_at_level_3(mod: IRModule) -> Any:
    with tvm.transform.PassContext(opt_level=3):
        return _DOORS["build"](mod)


@pytest.mark.slow
def test_functions_that_call_the_one_before_twice_end_soon() -> None:
    """That is f(f(x)) at each level."""
    mod = _typed("inline functions", _DEPTH)
    for name, call in {
        "Inline": transform.Inline(),
        "build": _built_at_level_3,
    }.items():
        with pytest.raises(SizeLimitError, match=r"at most \d+ .*, got .* double"):
            late_among({name: functools.partial(call, mod)}, _SECONDS)


def test_gradients_of_small_tuples_are_as_before() -> None:
    mod = transform.FirstOrderGradient()(_typed("nested tuples", 2))
    found: Any = transform.InferType()(mod)["main"].checked_type.ret_type
    assert str(found).count("float32") == 5  # four tensors, and the gradient by one


def test_a_pattern_with_parts_in_common_is_refused_soon() -> None:
    body: Any = FAMILIES["constants"](_DEPTH)["main"].body
    cells = {"match": lambda: _either(_DEPTH).match(body)}
    assert late_among(cells, _SECONDS) == []
    small: Any = FAMILIES["sums"](3)["main"].body
    assert _either(3).match(small)
    assert not _either(2).match(small)
