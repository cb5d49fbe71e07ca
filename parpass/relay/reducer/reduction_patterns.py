"""Reduction patterns for Relay: remove parts of a program, or make expressions smaller.

Parts are fields, clauses, types and attributes. A `Candidate` is a node of a function
that a pattern may replace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from msgspec import structs

from parpass.ir.module import IRModule
from parpass.ir.node import children, post_order
from parpass.ir.op_table import Op
from parpass.ir.reachability import called_globals
from parpass.ir.type_structure import extent
from parpass.ir.types import TensorType, TupleType, Type
from parpass.relay.adt import Match
from parpass.relay.analysis.scopes import free_vars
from parpass.relay.analysis.type_analysis import types_in, types_used
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
from parpass.relay.op.tensor.create import zeros


class Candidate(NamedTuple):
    """A node in a function."""

    function: str
    node: Expr
    instead: Any = None


def relay_functions(mod: IRModule) -> dict[str, Function]:
    """Return the functions of Relay; other IRs have their own patterns."""
    functions = mod.functions_by_name.items()
    return {name: one for name, one in functions if isinstance(one, Function)}


def roots(mod: IRModule) -> list[str]:
    """Return the functions without callers, whose types may change."""
    functions = mod.functions_by_name
    called = {v.name_hint for f in functions.values() for v in called_globals(f)}
    return [name for name in relay_functions(mod) if name not in called]


def nodes_of(expr: Expr) -> list[Expr]:
    """Return the nodes of an expression that are expressions themselves."""
    return [node for node in post_order(expr) if isinstance(node, Expr)]


def is_leaf(node: Expr) -> bool:
    """Return whether an expression has no operands."""
    return not children(node) and not isinstance(node, Tuple)


def type_of(node: Expr) -> Type | None:
    """Return the type of an expression, if it is known."""
    return getattr(node, "checked_type_", None)


def replaced(mod: IRModule, replacements: Mapping[Candidate, Expr]) -> IRModule:
    """Return the module with some candidates replaced."""
    by_function: dict[str, dict[Expr, Expr]] = {}
    for place, new in replacements.items():
        by_function.setdefault(place.function, {})[place.node] = new
    may_change = set(roots(mod))
    changed: dict[str, Function] = {}
    for name, known in by_function.items():
        mutator = ExprMutator()
        mutator.memo_map.update(known)
        function = cast("Function", mutator.visit(mod[name]))
        changed[name] = closed(function) if name in may_change else function
    return with_functions(mod, changed)


def closed(function: Function) -> Function:
    """Return a function whose parameters are those that its body uses."""
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
    return Var(var.name_hint, var.type_annotation or type_of(var), var.span)


def with_functions(mod: IRModule, changed: Mapping[str, Function]) -> IRModule:
    """Return the module with the named functions replaced."""
    return IRModule.assemble(mod, {**mod.functions_by_name, **changed})


class DropFields:
    """Removes fields of tuples of which only single fields are used."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Candidate]:
        """Return the tuples, each with the index of a field that is not used."""
        found: list[Candidate] = []
        for name, function in relay_functions(mod).items():
            order = nodes_of(function)
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
                    found += [Candidate(name, node, index) for index in sorted(rest)]
        return found

    def without(self, mod: IRModule, items: Sequence[Candidate]) -> IRModule:
        """Return the module with these fields removed from their tuples."""
        return _without(mod, items, _WithoutFields)


class DropClauses:
    """Removes clauses of matches, which become incomplete matches."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Candidate]:
        """Return the matches that have several clauses, each with one of these."""
        return [
            Candidate(name, node, at)
            for name, function in mod.functions_by_name.items()
            for node in reversed(nodes_of(function.body))
            if isinstance(node, Match) and len(node.clauses) > 1
            for at in range(len(node.clauses))
        ]

    def without(self, mod: IRModule, items: Sequence[Candidate]) -> IRModule:
        """Return the module with these clauses removed from their matches."""
        return _without(mod, items, _WithoutClauses)


class DropTypes:
    """Removes unused definitions of types."""

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


class DropAttributes:
    """Removes attributes of functions, of any IR."""

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
        return with_functions(mod, changed)


class _Without(ExprMutator):
    def __init__(self, gone: Mapping[Expr, set[int]]) -> None:
        super().__init__()
        self._gone = gone


class _WithoutFields(_Without):
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


class _WithoutClauses(_Without):
    def visit_match(self, match: Match) -> Expr:
        new: Match = super().visit_match(match)
        gone = self._gone.get(match, ())
        kept = [one for at, one in enumerate(new.clauses) if at not in gone]
        if not gone or not kept:
            return new
        return Match(new.data, kept, complete=False, span=match.span)


def _without(
    mod: IRModule, items: Sequence[Candidate], how: type[_Without]
) -> IRModule:
    gone: dict[str, dict[Expr, set[int]]] = {}
    for name, node, at in items:
        gone.setdefault(name, {}).setdefault(node, set()).add(at)
    changed = {
        name: cast("Function", how(parts).visit(mod[name]))
        for name, parts in gone.items()
    }
    return with_functions(mod, changed)


_MOST_HOISTED = 500
_MOST_ZEROS = 1_000  # in a tuple; larger ones make no program smaller


class Hoist:
    """Makes an inner expression the result of its function."""

    many = False

    def items(self, mod: IRModule) -> Sequence[Candidate]:
        """Return the expressions, the smallest first; of very many, a sample."""
        found = [
            Candidate(name, node)
            for name in roots(mod)
            for node in nodes_of(mod[name].body)[:-1]
            if not is_leaf(node)
        ]
        return found[:: len(found) // _MOST_HOISTED + 1]

    def without(self, mod: IRModule, items: Sequence[Candidate]) -> IRModule:
        """Return the module with the first of these as the result of its function."""
        place = items[0]
        function = mod[place.function]
        new = structs.replace(function, body=place.node, ret_type=None)
        return with_functions(mod, {place.function: closed(new)})


class Parametrise:
    """Replaces expressions by new parameters of their function."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Candidate]:
        """Return the expressions, the outermost first."""
        return [
            Candidate(name, node)
            for name in roots(mod)
            for node in reversed(nodes_of(mod[name].body))
            if not is_leaf(node) or isinstance(node, Constant)
        ]

    def without(self, mod: IRModule, items: Sequence[Candidate]) -> IRModule:
        """Return the module with parameters substituted for these."""
        return replaced(
            mod,
            {
                place: Var(f"p{at}", type_of(place.node))
                for at, place in enumerate(items)
            },
        )


class Descend:
    """Replaces expressions by one of their operands, of equal type."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Candidate]:
        """Return the expressions, the outermost first, with possible replacements."""
        return [
            Candidate(name, node, child)
            for name, function in relay_functions(mod).items()
            for node in reversed(nodes_of(function.body))
            for child in _parts(node)
            if type_of(child) == type_of(node)
        ]

    def without(self, mod: IRModule, items: Sequence[Candidate]) -> IRModule:
        """Return the module with each of these replaced by its first operand."""
        chosen: dict[Expr, Candidate] = {}
        for place in items:
            chosen.setdefault(place.node, place)
        # From the inside out: a part may be one that is replaced itself.
        ends: dict[Expr, Expr] = {}
        for node, place in reversed(chosen.items()):
            part: Expr = place.instead
            ends[node] = ends.get(part, part)
        return replaced(mod, {place: ends[node] for node, place in chosen.items()})


class MakeConstant:
    """Replaces expressions by zeros of their type."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Candidate]:
        """Return the expressions, the outermost first."""
        return [
            Candidate(name, node)
            for name, function in relay_functions(mod).items()
            for node in reversed(nodes_of(function.body))
            if not is_leaf(node)
            and not (isinstance(node, Call) and node.op is Op.get("zeros"))
            and _zeros(type_of(node)) is not None
        ]

    def without(self, mod: IRModule, items: Sequence[Candidate]) -> IRModule:
        """Return the module with zeros substituted for these."""
        known = {place: _zeros(type_of(place.node)) for place in items}
        return replaced(mod, {p: zero for p, zero in known.items() if zero is not None})


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
