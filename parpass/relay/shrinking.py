"""Smaller modules to try in place of one: the ways in which a program can shrink.

Each way lists items of a module, such as the nodes of its functions, and makes a
smaller module by taking some of them out. Whether that still shows what is looked for,
the caller finds out (`parpass reduce`). Where types are known, they are kept: what
replaces an expression has its type.

A function that no other refers to may get other parameters, and another result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from msgspec import structs

from parpass.ir.module import IRModule
from parpass.ir.node import children, post_order
from parpass.ir.operators.op_table import Op
from parpass.ir.references import called_globals
from parpass.ir.types.ty import TensorType, TupleType, Type
from parpass.ir.types.type_structure import extent
from parpass.relay.adt import Match
from parpass.relay.analysis.used_types import types_in, types_used
from parpass.relay.analysis.variables import free_vars
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    RefCreate,
    RefRead,
    Tuple,
    TupleGetItem,
    Var,
    const,
)
from parpass.relay.functor import ExprMutator
from parpass.relay.op.create import zeros
from parpass.transform import Way

_MOST_HOISTED = 500


class Place(NamedTuple):
    """A node in a function."""

    function: str
    node: Expr
    instead: Any = None


def size(mod: IRModule) -> tuple[int, ...]:
    """Return how large a module is: smaller numbers are smaller modules.

    The numbers of its functions and types, of expressions that are made of others, of
    constants, of all nodes, and of attributes.
    """
    functions = _functions(mod).values()
    nodes = [node for function in functions for node in _nodes(function)]
    return (
        len(functions) + len(mod.types.by_name),
        sum(not _is_leaf(node) for node in nodes),
        sum(isinstance(node, Constant) for node in nodes),
        len(nodes),
        sum(len(function.attrs or ()) for function in functions),
    )


class Hoist:
    """Returns from a function, instead of its result, an expression inside of it."""

    many = False

    def items(self, mod: IRModule) -> Sequence[Place]:
        """Return the expressions, the smallest first; of very many, some."""
        found = [
            Place(name, node)
            for name in _roots(mod)
            for node in _nodes(mod[name].body)[:-1]
            if not _is_leaf(node)
        ]
        return found[:: len(found) // _MOST_HOISTED + 1]

    def without(self, mod: IRModule, items: Sequence[Place]) -> IRModule:
        """Return the module with the first of these as the result of its function."""
        place = items[0]
        function = mod[place.function]
        new = structs.replace(function, body=place.node, ret_type=None)
        return _with(mod, {place.function: _closed(new)})


class Parametrise:
    """Replaces expressions by new parameters of their function."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Place]:
        """Return the expressions, the outermost first."""
        return [
            Place(name, node)
            for name in _roots(mod)
            for node in reversed(_nodes(mod[name].body))
            if not _is_leaf(node) or isinstance(node, Constant)
        ]

    def without(self, mod: IRModule, items: Sequence[Place]) -> IRModule:
        """Return the module with parameters in the places of these."""
        return _replaced(
            mod,
            {place: Var(f"p{at}", _type(place.node)) for at, place in enumerate(items)},
        )


class Descend:
    """Replaces expressions by one of what they are made of, of the same type."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Place]:
        """Return the expressions, the outermost first, and what may replace each."""
        return [
            Place(name, node, child)
            for name, function in _functions(mod).items()
            for node in reversed(_nodes(function.body))
            for child in _parts(node)
            if _type(child) == _type(node)
        ]

    def without(self, mod: IRModule, items: Sequence[Place]) -> IRModule:
        """Return the module with the first part of each of these in its place."""
        chosen: dict[Expr, Place] = {}
        for place in items:
            chosen.setdefault(place.node, place)
        # From the inside out: a part may be one that is replaced itself.
        ends: dict[Expr, Expr] = {}
        for node, place in reversed(chosen.items()):
            part: Expr = place.instead
            ends[node] = ends.get(part, part)
        return _replaced(mod, {place: ends[node] for node, place in chosen.items()})


class MakeConstant:
    """Replaces expressions by zeros of their type."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Place]:
        """Return the expressions, the outermost first."""
        return [
            Place(name, node)
            for name, function in _functions(mod).items()
            for node in reversed(_nodes(function.body))
            if not _is_leaf(node)
            and not (isinstance(node, Call) and node.op is Op.get("zeros"))
            and _zeros(_type(node)) is not None
        ]

    def without(self, mod: IRModule, items: Sequence[Place]) -> IRModule:
        """Return the module with zeros in the places of these."""
        known = {place: _zeros(_type(place.node)) for place in items}
        return _replaced(
            mod, {p: zero for p, zero in known.items() if zero is not None}
        )


class DropFields:
    """Takes fields out of tuples of which only single fields are used."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Place]:
        """Return the tuples, each with the index of a field that is not used."""
        found: list[Place] = []
        for name, function in _functions(mod).items():
            order = _nodes(function)
            used: dict[Expr, set[int] | None] = {}
            for node in order:
                for child in children(node):
                    if isinstance(node, TupleGetItem):
                        indices = used.setdefault(child, set())
                        if indices is not None:
                            indices.add(node.index)
                    else:
                        used[child] = None
            for node in order:
                indices = used.get(node)
                if isinstance(node, Tuple) and indices is not None:
                    rest = set(range(len(node.fields))) - indices
                    found += [Place(name, node, index) for index in sorted(rest)]
        return found

    def without(self, mod: IRModule, items: Sequence[Place]) -> IRModule:
        """Return the module with these tuples without these fields."""
        gone: dict[str, dict[Expr, set[int]]] = {}
        for name, node, index in items:
            gone.setdefault(name, {}).setdefault(node, set()).add(index)
        changed = {
            name: cast("Function", _WithoutFields(fields).visit(mod[name]))
            for name, fields in gone.items()
        }
        return _with(mod, changed)


class DropTypes:
    """Takes definitions of types out that nothing refers to."""

    many = True

    def items(self, mod: IRModule) -> Sequence[str]:
        """Return the names of the types."""
        functions = mod.functions_by_name.values()
        used = set[str]().union(*(types_used(post_order(one)) for one in functions))
        waiting = [*used]
        while waiting:
            definition = mod.types.by_name.get(waiting.pop())
            if definition is not None:
                fresh = types_in(definition) - used
                used |= fresh
                waiting += fresh
        return [name for name in mod.types.by_name if name not in used]

    def without(self, mod: IRModule, items: Sequence[str]) -> IRModule:
        """Return the module without these types."""
        known = mod.type_definitions
        kept = {it: one for it, one in known.items() if it.name_hint not in items}
        return IRModule(mod.functions, kept, mod.attrs, mod.sources)


class DropClauses:
    """Takes clauses out of matches, which need not match every value then."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Place]:
        """Return the matches that have several clauses, each with one of these."""
        return [
            Place(name, node, at)
            for name, function in mod.functions_by_name.items()
            for node in reversed(_nodes(function.body))
            if isinstance(node, Match) and len(node.clauses) > 1
            for at in range(len(node.clauses))
        ]

    def without(self, mod: IRModule, items: Sequence[Place]) -> IRModule:
        """Return the module with these matches without these clauses."""
        gone: dict[str, dict[Expr, set[int]]] = {}
        for name, node, at in items:
            gone.setdefault(name, {}).setdefault(node, set()).add(at)
        changed = {
            name: cast("Function", _WithoutClauses(matches).visit(mod[name]))
            for name, matches in gone.items()
        }
        return _with(mod, changed)


class DropAttributes:
    """Takes the attributes of functions out, of those of any IR."""

    many = True

    def items(self, mod: IRModule) -> Sequence[tuple[str, str]]:
        """Return the names of functions and of attributes."""
        return [
            (name, key)
            for name, function in mod.functions_by_name.items()
            for key in function.attributes
        ]

    def without(self, mod: IRModule, items: Sequence[tuple[str, str]]) -> IRModule:
        """Return the module without these attributes."""
        changed: dict[str, Any] = {}
        for name, key in items:
            changed[name] = (changed.get(name) or mod[name]).without_attr(key)
        return _with(mod, changed)


def ways() -> list[Way]:
    """Return all ways into functions, those that take most away first."""
    return [
        Parametrise(),
        Hoist(),
        Descend(),
        DropFields(),
        MakeConstant(),
        DropClauses(),
        DropTypes(),
        DropAttributes(),
    ]


class _WithoutClauses(ExprMutator):
    def __init__(self, gone: Mapping[Expr, set[int]]) -> None:
        super().__init__()
        self._gone = gone

    def visit_match(self, match: Match) -> Expr:
        new: Match = super().visit_match(match)
        gone = self._gone.get(match, ())
        kept = [one for at, one in enumerate(new.clauses) if at not in gone]
        if not gone or not kept:
            return new
        return Match(new.data, kept, complete=False, span=match.span)


class _WithoutFields(ExprMutator):
    def __init__(self, gone: Mapping[Expr, set[int]]) -> None:
        super().__init__()
        self._gone = gone

    def visit_tuple(self, tup: Tuple) -> Expr:
        new = cast("Tuple", super().visit_tuple(tup))
        gone = self._gone.get(tup, ())
        fields = [field for at, field in enumerate(new.fields) if at not in gone]
        return Tuple(tuple(fields), span=tup.span) if gone else new

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        new = cast("TupleGetItem", super().visit_tuple_getitem(op))
        gone = self._gone.get(op.tuple_value, ())
        before = sum(index < op.index for index in gone)
        return TupleGetItem(new.tuple_value, op.index - before) if before else new


def _roots(mod: IRModule) -> list[str]:
    """Return the functions to which nothing refers, so that they may change type."""
    functions = mod.functions_by_name
    called = {v.name_hint for f in functions.values() for v in called_globals(f)}
    return [name for name in _functions(mod) if name not in called]


def _functions(mod: IRModule) -> dict[str, Function]:
    """Return the functions of Relay; others have ways of their own."""
    functions = mod.functions_by_name.items()
    return {name: one for name, one in functions if isinstance(one, Function)}


def _nodes(expr: Expr) -> list[Expr]:
    """Return the nodes of an expression that are expressions."""
    return [node for node in post_order(expr) if isinstance(node, Expr)]


def _is_leaf(node: Expr) -> bool:
    return not children(node) and not isinstance(node, Tuple)


def _parts(node: Expr) -> Sequence[Expr]:
    match node:
        case Call(args=args):
            return args
        case Let(body=body, value=value):
            return (body, value)
        case If(true_branch=true, false_branch=false):
            return (true, false)
        case Match(clauses=clauses):
            return [clause.rhs for clause in clauses]
        case RefRead(ref=RefCreate(value=value)):
            return (value,)
        case TupleGetItem(tuple_value=Tuple(fields=fields), index=index):
            return fields[index : index + 1]
        case _:
            return ()


def _type(node: Expr) -> Type | None:
    return getattr(node, "checked_type_", None)


_MOST_ZEROS = 1_000  # in a tuple; larger ones make no program smaller


def _zeros(kind: Type | None) -> Expr | None:
    match kind:
        case TensorType(shape=(), dtype=dtype):
            return const(0, dtype)
        case TensorType(shape=shape, dtype=dtype):
            is_static = all(isinstance(extent, int) for extent in shape)
            return zeros(cast("Sequence[int]", shape), dtype) if is_static else None
        case TupleType(fields=fields) if extent(kind).size <= _MOST_ZEROS:
            inside = [_zeros(field) for field in fields]
            known = [one for one in inside if one is not None]
            return Tuple(tuple(known)) if len(known) == len(inside) else None
        case _:
            return None


def _replaced(mod: IRModule, replacements: Mapping[Place, Expr]) -> IRModule:
    by_function: dict[str, dict[Expr, Expr]] = {}
    for place, new in replacements.items():
        by_function.setdefault(place.function, {})[place.node] = new
    roots = set(_roots(mod))
    changed: dict[str, Function] = {}
    for name, known in by_function.items():
        mutator = ExprMutator()
        mutator.memo_map.update(known)
        function = cast("Function", mutator.visit(mod[name]))
        changed[name] = _closed(function) if name in roots else function
    return _with(mod, changed)


def _closed(function: Function) -> Function:
    """Return a function with just those parameters that its body uses."""
    free = free_vars(function.body)
    used, known = set(free), set(function.params)
    kept = [param for param in function.params if param in used]
    old = [var for var in free if var not in known]
    if not old and len(kept) == len(known):
        return function
    new = [_annotated(var) for var in old]
    mutator = ExprMutator()
    mutator.memo_map.update(zip(old, new, strict=True))
    body = mutator.visit(function.body)
    params = (*kept, *new)
    return structs.replace(function, params=params, body=body, checked_type_=None)


def _annotated(var: Var) -> Var:
    # A new one: what was bound inside may still be bound there, too.
    return Var(var.name_hint, var.type_annotation or _type(var), var.span)


def _with(mod: IRModule, changed: Mapping[str, Function]) -> IRModule:
    return IRModule.assemble(mod, {**mod.functions_by_name, **changed})
