"""Every rewriting rule keeps the value, and is good for something."""

from __future__ import annotations

import itertools
import random
from typing import Any, cast

import numpy as np
import pytest

from parpass import tir
from parpass.errors import InternalError, IRTypeError
from parpass.ir.node import post_order
from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.analyzer_state import AnalyzerState
from parpass.tir.arith.interval import Interval
from parpass.tir.arith.rewrite_simplify import RewriteSimplifier
from parpass.tir.arith.rule_engine import CONDITIONS, INDICES, VECTOR
from parpass.tir.arith.rule_language import Rule, rules
from parpass.tir.interpreter.lane_arithmetic import binary
from tests.support.special_floats import assert_same_bits
from tests.tir.arith.prim_values import Undefined, value_of
from tests.tir.arith.rule_instances import instance, names_of

CONSTANTS = (1, 2, 4, -2, 3, -1, 0, 8, -4, 6, 5, -3)
RANGES = (range(8), range(-7, 8), range(1, 8))
ALL = [*INDICES, *CONDITIONS, *VECTOR]
TEXTS = {rule.text: [one for one in ALL if one.text == rule.text] for rule in ALL}


def operands(pattern: str, rng: random.Random, dtype: str) -> dict[str, Any]:
    """Return what stands for the names of a pattern: variables, and constants."""
    found: dict[str, Any] = {}
    for name in sorted(names_of(pattern)):
        of_name = {"b": "bool", "x": dtype}.get(name, dtype.removesuffix("x4"))
        if name == "n":
            found[name] = 4
        elif name.startswith("c"):
            found[name] = tir.const(rng.choice(CONSTANTS))
        elif rng.randrange(3) == 0 and of_name == "int32":
            found[name] = tir.Var(name) * rng.choice(CONSTANTS) + rng.randrange(8)
        else:
            found[name] = tir.Var(name, of_name)
    return found


def before_rule(text: str, rng: random.Random) -> Any:
    """Return an expression that the pattern of a rule may match."""
    pattern = text.partition(" -> ")[0]
    for dtype in ("int32", "bool", "int32x4"):
        values = operands(pattern, rng, dtype)
        if "same(" in text:  # which is of differences that are equal
            first, second = "yx" if "x - w" in text else "xy"
            values |= {"z": values[first] + 3, "w": values[second] + 3}
        try:
            return instance(pattern, values)
        except IRTypeError:
            continue
    raise AssertionError("the pattern is of no dtype")


def applied(rule: Rule, seed: int) -> tuple[Any, Any, range] | None:
    """Return an instance of the pattern, and what the rule makes of it, if anything."""
    before = before_rule(rule.text, random.Random(seed))
    known = AnalyzerState()
    values = RANGES[seed % len(RANGES)]
    for var in variables_of(before):
        if var.dtype == "int32":
            known.facts.variables[var] = Interval(values[0], values[-1])
    node = known.table.first(before)
    try:
        after = rule.compiled()(node, RewriteSimplifier(known))
    except ZeroDivisionError:
        return None
    return None if after is None else (before, after, values)


def variables_of(expr: Any) -> list[Any]:
    return [one for one in post_order(expr) if isinstance(one, tir.Var)]


def assert_same_values(before: Any, after: Any, values: range, rng: random.Random):
    choices: dict[str, Any] = {"int32": values, "bool": (False, True)}
    choices["int32x4"] = [tuple(rng.choices(values, k=4)) for _ in range(4)]
    variables = variables_of(before)
    for _ in range(8):
        given = {var: rng.choice(choices[var.dtype]) for var in variables}
        try:
            expected = value_of(before, given)
        except Undefined:
            continue
        assert value_of(after, given) == expected, (before, after, given)


def instances(text: str, tries: range, enough: int) -> int:
    """Check instances of a rule, until there were enough, and count them."""
    found = 0
    for seed, rule in itertools.product(tries, TEXTS[text]):
        got = applied(rule, seed)
        if got is not None:
            assert_same_values(*got, random.Random(seed))
            found += 1
            if found == enough:
                break
    return found


@pytest.mark.parametrize("text", TEXTS)
def test_a_rule_keeps_the_value(text: str):
    assert instances(text, range(10_000), enough=3), "the rule never applies"


@pytest.mark.stress
@pytest.mark.parametrize("text", TEXTS)
def test_a_rule_keeps_the_value_of_many_instances(text: str):
    assert instances(text, range(1000), enough=10_000)


FLOATS = (0.0, -0.0, 1.0, -1.0, 3.0, 1e-45, 3e38, np.inf, -np.inf, np.nan)


def floats_for(name: str, rng: np.random.Generator) -> Any:
    """Return 200 values of a variable, most of them special."""
    if name == "b":
        return rng.random(200) < 0.5
    return rng.choice(np.array(FLOATS, "float32"), 200)


def of_floats(text: str, rng: random.Random, dtype: str) -> Any:
    """Return an instance of a rule's pattern on floats; None where it is of ints."""
    pattern = text.partition(" -> ")[0]
    values: dict[str, Any] = {}
    for name in sorted(names_of(pattern)):
        if name == "n":
            values[name] = 4
        elif name.startswith("c"):
            values[name] = tir.FloatImm("float32", rng.choice(FLOATS))
        else:
            of_name = {"b": "bool", "x": dtype}.get(name, "float32")
            values[name] = tir.Var(name, of_name)
    try:
        return instance(pattern, values, "float32")
    except IRTypeError:
        return None


def lanes_of(expr: Any, values: dict[str, Any]) -> Any:
    """Return what an expression is, for each of the values of its variables."""
    known: dict[Any, Any] = {}
    node: Any
    for node in post_order(expr):
        match node:
            case tir.Var():
                known[node] = values[node.name]
            case tir.IntImm() | tir.FloatImm():
                known[node] = np.dtype(node.dtype).type(node.value)
            case tir.Broadcast():
                known[node] = known[node.value]
            case tir.Ramp():
                lane = np.arange(200, dtype="float32") % 4
                known[node] = known[node.base] + lane * known[node.stride]
            case tir.Not():
                known[node] = np.logical_not(known[node.a])
            case tir.And() | tir.Or():
                join = np.logical_and if isinstance(node, tir.And) else np.logical_or
                known[node] = join(known[node.a], known[node.b])
            case tir.Select():
                parts = (node.condition, node.true_value, node.false_value)
                known[node] = np.where(*[known[one] for one in parts])
            case _:
                compute = binary(cast("Any", type(node)), node.a.dtype)
                assert compute is not None
                a, b = np.broadcast_arrays(known[node.a], known[node.b])
                known[node] = compute(a, b)
    return known[expr]


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "few"), [("float32", 20), ("float32x4", 1)])
def test_no_rule_changes_a_float(dtype: str, few: int) -> None:
    rng, simplified = np.random.default_rng(0), set[str]()
    for text, seed in itertools.product(TEXTS, range(2)):
        before = of_floats(text, random.Random(seed), dtype)
        if before is None:
            continue
        after = Analyzer().simplify(before)
        if type(after) is not type(before):
            simplified.add(text)
        values = {one.name: floats_for(one.name, rng) for one in variables_of(before)}
        with np.errstate(all="ignore"):
            found, wanted = lanes_of(after, values), lanes_of(before, values)
        assert_same_bits(np.broadcast_to(found, wanted.shape), wanted, str(before))
    assert len(simplified) >= few  # what changes no value is simplified


@pytest.mark.parametrize("line", ["x + y", "x -> y", "x + y -> z"])
def test_what_is_no_rule_is_refused(line: str):
    with pytest.raises(InternalError):
        [rule.compiled() for part in rules(line) for rule in part.parsed()]
