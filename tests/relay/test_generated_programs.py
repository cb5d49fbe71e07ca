"""The generated programs have what passes must cope with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import Phase, find, settings
from hypothesis.errors import NoSuchExample

from parpass.ir.module import IRModule
from parpass.ir.node import Node, post_order
from parpass.ir.types import FuncType, TupleType
from parpass.relay.analysis import called_globals
from parpass.relay.expr import Function, If, Let, Var
from tests.support.relay.higher_order import higher_order_modules

KINDS = {
    "if",
    "closure bound by let",
    "recursive closure",
    "function that takes one",
    "function that returns one",
    "tuple with a function",
    "recursive global",
    "mutually recursive globals",
}


def kinds_of_node(node: Node) -> Iterator[str]:
    match node:
        case If():
            yield "if"
        case Let(var=var, value=Function() as value):
            yield "closure bound by let"
            if var in post_order(value):
                yield "recursive closure"
        case Function(params=params, ret_type=result):
            if any(isinstance(param.type_annotation, FuncType) for param in params):
                yield "function that takes one"
            if isinstance(result, FuncType):
                yield "function that returns one"
        case Var(type_annotation=TupleType(fields=(FuncType(), *_))):
            yield "tuple with a function"
        case _:
            pass


def kinds_of(mod: IRModule) -> Iterator[str]:
    called = {
        name: {callee.name_hint for callee in called_globals(function)}
        for name, function in mod.functions_by_name.items()
    }
    for name, function in mod.functions_by_name.items():
        if name in called[name]:
            yield "recursive global"
        if any(name in called[other] for other in called[name] - {name}):
            yield "mutually recursive globals"
        for node in post_order(function):
            yield from kinds_of_node(node)


@pytest.mark.slow
def test_programs_of_every_kind_are_generated():
    missing = set(KINDS)

    def is_last_of_its_kinds(mod: IRModule) -> bool:
        missing.difference_update(kinds_of(mod))
        return not missing

    # What Hypothesis draws depends on its version and on the modules that are
    # loaded, so no small number of examples is sure to hold every kind.
    try:
        find(
            higher_order_modules(),
            is_last_of_its_kinds,
            settings=settings(
                max_examples=2_000,
                phases=[Phase.generate],
                database=None,
                deadline=None,
            ),
        )
    except NoSuchExample:
        pytest.fail(f"2,000 programs have none with {sorted(missing)}")
