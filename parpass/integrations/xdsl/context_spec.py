"""The dialects that passes may ask for: a `Context` of xDSL, as a value that travels.

Dialects of xDSL's universe, to which plug-ins belong, are known by name in every
process. Others travel themselves.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import UnregisteredAttr, UnregisteredOp
from xdsl.ir import Dialect
from xdsl.universe import Universe

from parpass.spi import ReplicatedTable, dumps


@functools.cache
def universe() -> Universe:
    """Return the dialects and passes of xDSL and of plug-ins."""
    return Universe.get_multiverse()


_own = ReplicatedTable[str, Dialect]("dialect of a program")


def register_dialect(dialect: Dialect) -> None:
    """Register a dialect from outside of xDSL's universe with the command."""
    _own[dialect.name] = dialect


def known_dialects() -> ContextSpec:
    """Return the dialects of the universe and of the program; others are allowed."""
    context = ContextSpec.of_universe().context()
    context.allow_unregistered = True
    for dialect in _own.values():
        context.load_dialect(dialect)
    return ContextSpec.of(context)


@dataclass(frozen=True)
class ContextSpec:
    """The dialects of a `Context`.

    Attributes:
        allow_unregistered: Whether operations may be of no dialect.
        registered: The names of dialects that are loaded on first use; those of the
            universe.
        loaded: The names of dialects that are loaded, in order.
        others: A pickle of dialects, and classes of operations and attributes, that are
            not of the universe.
    """

    allow_unregistered: bool = False
    registered: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()
    others: bytes = b""

    @staticmethod
    def of(context: Context) -> ContextSpec:
        """Return what a context knows."""
        known = universe().all_dialects
        dialects = {one.name: one for one in context.loaded_dialects}
        waiting = [n for n in context.registered_dialect_names if n not in dialects]
        strange = [name for name in waiting if name not in known]
        if strange:
            aside = context.clone()
            dialects |= {one: aside.get_dialect(one) for one in strange}
        of_dialects = {
            kind
            for one in dialects.values()
            for kind in (*one.operations, *one.attributes)
        }
        ops = [one for one in context.loaded_ops if _is_alone(one, of_dialects)]
        kinds = (*context.loaded_attrs, *context.loaded_types)
        attributes = [one for one in kinds if _is_alone(one, of_dialects)]
        others = [one for name, one in dialects.items() if name not in known]
        return ContextSpec(
            context.allow_unregistered,
            tuple(name for name in context.registered_dialect_names if name in known),
            tuple(name for name in dialects if name in known),
            dumps((others, ops, attributes)) if others or ops or attributes else b"",
        )

    @staticmethod
    def of_universe() -> ContextSpec:
        """Return what `xdsl-opt` knows."""
        return ContextSpec(registered=tuple(universe().all_dialects))

    def context(self) -> Context:
        """Return a new context that knows as much."""
        return _context(self).clone()


@functools.lru_cache(16)
def _context(environment: ContextSpec) -> Context:
    context = Context(environment.allow_unregistered)
    known: Mapping[str, Any] = universe().all_dialects
    for name in environment.registered:
        context.register_dialect(name, known[name])
    for name in environment.loaded:
        context.get_dialect(name)
    if environment.others:
        dialects, ops, attributes = pickle.loads(environment.others)
        for dialect in dialects:
            context.load_dialect(dialect)
        for op in ops:
            context.load_op(op)
        for attribute in attributes:
            context.load_attr_or_type(attribute)
    return context


def _is_alone(kind: type[Any], of_dialects: Collection[type[Any]]) -> bool:
    """Return whether a class was loaded by itself, and not with its dialect."""
    unregistered = issubclass(kind, UnregisteredOp | UnregisteredAttr)
    return kind not in of_dialects and not unregistered
