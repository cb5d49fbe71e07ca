"""Relay programs in which each level uses the one below it twice, as the same object.

A program of `depth` levels has some nodes for each of them, and `2**depth` as a tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import parpass
from parpass import relay

_TENSOR = relay.TensorType((2,), "float32")


def _x() -> Any:
    return relay.var("x", shape=(2,))


def _module(params: Any, body: Any) -> Any:
    return parpass.IRModule.from_expr(relay.Function(list(params), body))


def _of_level(level: Callable[[Any, int], Any]) -> Callable[[int], Any]:
    """Return what makes a module of so many levels of expressions of a tensor."""

    def made(depth: int) -> Any:
        x = _x()
        expr: Any = relay.nn.relu(x)
        for at in range(depth):
            expr = level(expr, at)
        return _module(relay.analysis.free_vars(expr), expr)

    return made


def _projected(expr: Any, at: int) -> Any:
    pair = relay.Tuple([expr, expr])
    return relay.add(relay.TupleGetItem(pair, 0), relay.TupleGetItem(pair, 1))


def _named(expr: Any, at: int) -> Any:
    name = relay.var(f"v{at}")
    return relay.Let(name, expr, relay.add(name, name))


def _named_around(expr: Any, at: int) -> Any:
    name = relay.var(f"v{at}")
    return relay.add(
        relay.Let(name, relay.const([1.0, float(at)]), relay.add(name, expr)), expr
    )


def _condition(at: int) -> Any:
    return relay.var(f"c{at}", shape=(), dtype="bool")


def _referred(expr: Any, at: int) -> Any:
    ref = relay.RefCreate(expr)
    return relay.add(relay.RefRead(ref), expr)


def _called(expr: Any, at: int) -> Any:
    param = relay.var("p", shape=(2,))
    function = relay.Function([param], relay.add(param, param))
    return relay.Call(function, [expr])


def _closed(expr: Any, at: int) -> Any:
    """Return a call of a function that mentions the level, beside another mention."""
    param = relay.var("p", shape=(2,))
    function = relay.Function([param], relay.add(param, expr))
    return relay.Call(function, [expr])


def _matched(expr: Any, at: int) -> Any:
    first, second = relay.var("a"), relay.var("b")
    pattern = relay.PatternTuple([relay.PatternVar(first), relay.PatternVar(second)])
    clause = relay.Clause(pattern, relay.add(first, expr))
    return relay.Match(relay.Tuple([expr, expr]), [clause])


def _concatenated(expr: Any, at: int) -> Any:
    joined = relay.concatenate(relay.Tuple([expr, expr]), axis=0)
    return relay.strided_slice(joined, [0], [2])


def _nested_tuples(depth: int) -> Any:
    expr: Any = _x()
    param = expr
    for _ in range(depth):
        expr = relay.Tuple([expr, expr])
    return _module([param], expr)


def _tuple_parameter(depth: int) -> Any:
    typ: Any = _TENSOR
    for _ in range(depth):
        typ = relay.TupleType([typ, typ])
    param = relay.Var("x", typ)
    expr: Any = param
    for _ in range(depth):
        expr = relay.TupleGetItem(expr, 0)
    return _module([param], relay.nn.relu(expr))


def _tuple_of_references(depth: int) -> Any:
    x = _x()
    expr: Any = relay.RefCreate(x)
    for _ in range(depth):
        expr = relay.Tuple([expr, expr])
    for _ in range(depth):
        expr = relay.TupleGetItem(expr, 1)
    return _module([x], relay.RefRead(expr))


def _tuple_of_functions(depth: int) -> Any:
    x, param = _x(), _x()
    expr: Any = relay.Function([param], relay.nn.relu(param))
    for _ in range(depth):
        expr = relay.Tuple([expr, expr])
    for _ in range(depth):
        expr = relay.TupleGetItem(expr, 1)
    return _module([x], relay.Call(expr, [x]))


def _tuple_result_in_branches(depth: int) -> Any:
    x, condition = _x(), _condition(0)
    expr: Any = x
    for _ in range(depth):
        expr = relay.Tuple([expr, expr])
    return _module([x, condition], relay.If(condition, expr, expr))


def _constant_tuples(depth: int) -> Any:
    expr: Any = relay.const([1.0, 2.0])
    for _ in range(depth):
        expr = relay.Tuple([expr, expr])
    for _ in range(depth):
        expr = relay.TupleGetItem(expr, 0)
    x = _x()
    return _module([x], relay.add(x, expr))


def _constants(depth: int) -> Any:
    expr: Any = relay.const([1.0, 2.0])
    for _ in range(depth):
        expr = relay.multiply(relay.add(expr, expr), relay.const(0.5))
    x = _x()
    return _module([x], relay.add(x, expr))


def _local_functions(depth: int) -> Any:
    x, bound = _x(), list[Any]()
    before: Any = None
    for at in range(depth):
        param, name = relay.var("p", shape=(2,)), relay.var(f"f{at}")
        body = relay.nn.relu(param)
        if before is not None:
            body = relay.Call(before, [relay.Call(before, [param])])
        bound.append((name, relay.Function([param], body)))
        before = name
    expr: Any = relay.Call(before, [x])
    for name, value in reversed(bound):
        expr = relay.Let(name, value, expr)
    return _module([x], expr)


def _literal_functions(depth: int) -> Any:
    """Return a module of functions that call a literal one, one object, twice."""
    param = _x()
    function = relay.Function([param], relay.nn.relu(param))
    for _ in range(depth):
        outer = relay.var("p", shape=(2,))
        inner = relay.Call(function, [relay.Call(function, [outer])])
        function = relay.Function([outer], inner)
    x = _x()
    return _module([x], relay.Call(function, [x]))


def _global_functions(mark: str) -> Callable[[int], Any]:
    def made(depth: int) -> Any:
        mod = parpass.IRModule()
        x = _x()
        before = relay.GlobalVar("f0")
        mod[before] = relay.Function([x], relay.nn.relu(x), _TENSOR)
        for at in range(1, depth):
            x = _x()
            body = relay.Call(before, [relay.Call(before, [x])])
            function: Any = relay.Function([x], body, _TENSOR)
            before = relay.GlobalVar(f"f{at}")
            mod[before] = function.with_attr(mark, 1) if mark else function
        x = _x()
        mod["main"] = relay.Function([x], relay.Call(before, [x]), _TENSOR)
        return mod

    return made


def _higher_order(depth: int) -> Any:
    """Return a module in which functions are given to functions, level by level."""
    x = _x()
    typ: Any = relay.FuncType([_TENSOR], _TENSOR)
    param = _x()
    function: Any = relay.Function([param], relay.nn.relu(param))
    bound = list[Any]()
    for at in range(depth):
        given, inner = relay.Var("f", typ), _x()
        twice = relay.Function(
            [given],
            relay.Function([inner], relay.Call(given, [relay.Call(given, [inner])])),
        )
        name = relay.var(f"g{at}")
        bound.append((name, relay.Call(twice, [function])))
        function = name
    expr: Any = relay.Call(function, [x])
    for name, value in reversed(bound):
        expr = relay.Let(name, value, expr)
    return _module([x], expr)


FAMILIES: dict[str, Callable[[int], Any]] = {
    "sums": _of_level(lambda e, k: relay.add(e, e)),
    "projections": _of_level(_projected),
    "branches": _of_level(lambda e, k: relay.If(_condition(0), e, e)),
    "other branches": _of_level(lambda e, k: relay.If(_condition(k), e, e)),
    "branches of sums": _of_level(
        lambda e, k: relay.If(_condition(k), relay.add(e, e), relay.nn.relu(e))
    ),
    "branches behind": _of_level(
        lambda e, k: relay.add(relay.If(_condition(k), e, relay.nn.relu(e)), e)
    ),
    "names": _of_level(_named),
    "names around": _of_level(_named_around),
    "references": _of_level(_referred),
    "calls": _of_level(_called),
    "closures": _of_level(_closed),
    "matches": _of_level(_matched),
    "concatenations": _of_level(_concatenated),
    "nested tuples": _nested_tuples,
    "a tuple parameter": _tuple_parameter,
    "tuples of references": _tuple_of_references,
    "tuples of functions": _tuple_of_functions,
    "tuples in branches": _tuple_result_in_branches,
    "tuples of constants": _constant_tuples,
    "constants": _constants,
    "local functions": _local_functions,
    "literal functions": _literal_functions,
    "global functions": _global_functions(""),
    "inline functions": _global_functions("Inline"),
    "higher order": _higher_order,
}
