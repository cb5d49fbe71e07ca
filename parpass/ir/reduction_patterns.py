"""Reduction patterns: the ways in which programs shrink, by the fields of their nodes.

Each pattern lists items of a module, such as nodes and what may stand in their place,
and makes a smaller module of some of them. The caller (`parpass reduce`) checks whether
that one is well formed, and still shows the searched behaviour. The patterns know no
kind of node: they use the reflection of fields, and the `ReductionRules` of the IR.

A function to which no other refers may get other parameters and another result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import structs

from parpass.errors import IRTypeError
from parpass.ir.dialect import dialects
from parpass.ir.module import IRModule
from parpass.ir.node import (
    FieldKind,
    Node,
    bindings,
    children,
    outer_children,
    post_order,
    reflection,
    scopes_of,
)
from parpass.ir.reduction_rules import ReductionRules
from parpass.ir.replacement import (
    Replacement,
    replaced,
    roots,
    rules_of,
    with_functions,
)
from parpass.transform import ReductionPattern

_MOST_HOISTED = 500


class Part(NamedTuple):
    """A part of a node: the value of an optional field, or an element of a list."""

    function: str
    node: Node
    field: str
    at: int | None


def module_size(mod: IRModule) -> tuple[int, ...]:
    """Return the size of a module as a tuple; smaller tuples are smaller modules.

    The numbers of its functions and types, of nodes that are made of others, of
    constants that could be smaller, of all nodes, and of attributes.
    """
    functions = mod.functions_by_name.values()
    made = constants = nodes = 0
    for function in functions:
        rules = rules_of(function)
        for node in post_order(function):
            nodes += 1
            made += bool(children(node))
            constants += _is_constant(node, rules)
    return (
        len(functions) + len(mod.types.by_name),
        made,
        constants,
        nodes,
        sum(len(function.attributes) for function in functions),
    )


def reduction_patterns() -> list[ReductionPattern]:
    """Return the patterns for the IRs that are there, the most effective first."""
    return [
        DropNodes(),
        DropParts(),
        Parametrise(),
        Hoist(),
        Descend(),
        StandAlone(),
        *(
            one
            for dialect in dialects()
            for one in dialect.reduction_rules().patterns()
        ),
        MakeSmallest(),
        DropParameters(),
        DropAttributes(),
    ]


class _Replacing(ABC):
    """A pattern that puts other nodes in the place of those of functions' bodies."""

    many = True

    def items(self, mod: IRModule) -> Sequence[Replacement]:
        """Return the nodes, the outermost first, and what may replace each."""
        return [
            Replacement(name, node, instead)
            for name, node, rules in _nodes(mod)
            for instead in self.instead_of(node, rules)
        ]

    def without(self, mod: IRModule, items: Sequence[Replacement]) -> IRModule:
        """Return the module with the first replacement of each of these nodes."""
        return replaced(mod, items)

    @abstractmethod
    def instead_of(self, node: Node, rules: ReductionRules) -> Iterator[Node]:
        """Yield the smaller nodes that may replace a node, the best first."""


class DropNodes(_Replacing):
    """Takes nodes out that are no values: statements."""

    def instead_of(self, node: Node, rules: ReductionRules) -> Iterator[Node]:
        """Yield what stands for nothing."""
        nothing = rules.nothing(node)
        if nothing is not None:
            yield nothing


class Descend(_Replacing):
    """Replaces nodes by one of what they are made of, of the same sort."""

    def instead_of(self, node: Node, rules: ReductionRules) -> Iterator[Node]:
        """Yield the children of the sort, and those of children of another sort."""
        sort = rules.sort(node)
        if sort is None:
            return
        others: list[Node] = []
        for child in _below(node):
            if rules.sort(child) == sort:
                yield child
            else:
                others.append(child)
        for other in others:
            yield from (inner for inner in _below(other) if rules.sort(inner) == sort)


class StandAlone(_Replacing):
    """Replaces nodes by one of their parts, alone: statements by an expression."""

    def instead_of(self, node: Node, rules: ReductionRules) -> Iterator[Node]:
        """Yield what has a single part."""
        parts = (rules.alone(node, child) for child in _below(node))
        yield from (part for part in parts if part is not None)


class MakeSmallest(_Replacing):
    """Replaces values by the smallest of their sort, such as zeros."""

    def instead_of(self, node: Node, rules: ReductionRules) -> Iterator[Node]:
        """Yield the smallest value, unless the node is as small."""
        if _is_value(node, rules) and not rules.is_smallest(node):
            smallest = rules.smallest(node)
            if smallest is not None:
                yield smallest


class Parametrise:
    """Replaces values by new parameters of their function."""

    many = True

    def items(self, mod: IRModule) -> Sequence[tuple[str, Node]]:
        """Return the names of functions, and values, the outermost first."""
        may_change = set(roots(mod))
        return [
            (name, node)
            for name, node, rules in _nodes(mod)
            if name in may_change and _is_value(node, rules)
            if rules.parameter("", node) is not None
        ]

    def without(self, mod: IRModule, items: Sequence[tuple[str, Node]]) -> IRModule:
        """Return the module with parameters substituted for these."""
        return replaced(
            mod,
            [
                Replacement(name, node, rules_of(mod[name]).parameter(f"p{at}", node))
                for at, (name, node) in enumerate(items)
            ],
        )


class Hoist(Parametrise):
    """Makes an inner value the result of its function."""

    many = False

    def items(self, mod: IRModule) -> Sequence[tuple[str, Node]]:
        """Return the values that have parts, the smallest first.

        Of very many it is a sample.
        """
        found = [
            (name, node)
            for name, node in reversed(super().items(mod))
            if children(node) and node not in scopes_of(mod[name])
        ]
        return found[:: len(found) // _MOST_HOISTED + 1]

    def without(self, mod: IRModule, items: Sequence[tuple[str, Node]]) -> IRModule:
        """Return the module with the first of these as the result of its function."""
        name, result = items[0]
        function: Node = mod[name]
        fields = reflection(type(function))
        scopes = dict.fromkeys(fields.scopes, result)
        new = _with_fields(function, scopes | dict.fromkeys(fields.types))
        return with_functions(mod, {name: rules_of(function).closed(new)})


class DropParts:
    """Takes parts of nodes out: what is optional, and all but one of alternatives.

    Alternatives are the elements of a list that are scopes of their own, such as the
    clauses of a match.
    """

    many = True

    def items(self, mod: IRModule) -> Sequence[Part]:
        """Return the parts, those of the outermost nodes first."""
        return [
            Part(name, node, field, index)
            for name, node, rules in _nodes(mod)
            for field, index in _parts(node, rules)
        ]

    def without(self, mod: IRModule, items: Sequence[Part]) -> IRModule:
        """Return the module without these parts."""
        gone: dict[tuple[str, Node], dict[str, set[int | None]]] = {}
        for name, node, field, index in items:
            fields = gone.setdefault((name, node), {})
            fields.setdefault(field, set()).add(index)
        try:
            places = [
                Replacement(
                    name, node, _without_parts(node, fields, rules_of(mod[name]))
                )
                for (name, node), fields in gone.items()
            ]
        except IRTypeError:  # the node needs them
            return mod
        return replaced(mod, places)


class DropParameters:
    """Takes parameters out that are not used, and what is said of them."""

    many = True

    def items(self, mod: IRModule) -> Sequence[tuple[str, Node]]:
        """Return the names of functions, and parameters."""
        found: list[tuple[str, Node]] = []
        for name in roots(mod):
            function = mod[name]
            used = {node for body in scopes_of(function) for node in post_order(body)}
            said = _said_of(function)
            found += [
                (name, param)
                for params in _fields(function, FieldKind.BINDINGS).values()
                for param in params
                if not {param, said.get(param)} & used
            ]
        return found

    def without(self, mod: IRModule, items: Sequence[tuple[str, Node]]) -> IRModule:
        """Return the module without these parameters."""
        changed: dict[str, Any] = {}
        for name, param in items:
            function = changed.get(name) or mod[name]
            changed[name] = _without_parameter(function, param)
        return with_functions(mod, changed)


class DropAttributes:
    """Removes attributes of functions."""

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


def _nodes(mod: IRModule) -> Iterator[tuple[str, Node, ReductionRules]]:
    """Yield the nodes in the bodies of functions, the outermost first."""
    for name, function in mod.functions_by_name.items():
        rules = rules_of(function)
        for body in scopes_of(function):
            for node in reversed(post_order(body)):
                yield name, node, rules


def _below(node: Node) -> list[Any]:
    """Return the children of a node but those that it binds, its scopes first."""
    bound = bindings(node)
    return [
        one for one in (*scopes_of(node), *outer_children(node)) if one not in bound
    ]


def _is_value(node: Node, rules: ReductionRules) -> bool:
    return rules.sort(node) is not None and not reflection(type(node)).is_variable


def _is_constant(node: Node, rules: ReductionRules) -> bool:
    """Return whether a node is a constant that could be smaller."""
    is_leaf = not children(node)
    return is_leaf and _is_value(node, rules) and not rules.is_smallest(node)


def _parts(node: Node, rules: ReductionRules) -> Iterator[tuple[str, int | None]]:
    """Yield the fields of a node that may be None, and indices in those that are lists.

    A statement is taken out for itself.
    """
    for field, field_kind in reflection(type(node)).field_kinds.items():
        value = getattr(node, field)
        if field_kind is FieldKind.OPTIONAL:
            if value is not None and rules.nothing(value) is None:
                yield field, None
        elif field_kind is FieldKind.CHILDREN and len(value) > 1:
            for index, one in enumerate(value):
                if rules.sort(one) is None and scopes_of(one):
                    yield field, index


def _without_parts(
    node: Node, gone: Mapping[str, set[int | None]], rules: ReductionRules
) -> Node:
    fields: dict[str, Any] = {}
    for field, indices in gone.items():
        value = getattr(node, field)
        if indices == {None}:
            fields[field] = None
        else:
            kept = [one for index, one in enumerate(value) if index not in indices]
            fields[field] = tuple(kept or value[:1])
    return rules.with_fields(node, fields)


def _said_of(function: Node) -> dict[Node, Node]:
    """Return what a function maps parameters to, such as buffers."""
    maps = _fields(function, FieldKind.MAPPING)
    return {key: value for one in maps.values() for key, value in one.items()}


def _fields(node: Node, wanted: FieldKind) -> dict[str, Any]:
    field_kinds = reflection(type(node)).field_kinds.items()
    return {name: getattr(node, name) for name, kind in field_kinds if kind is wanted}


def _without_parameter(function: Any, param: Node) -> Any:
    fields: dict[str, Any] = {}
    for name, params in _fields(function, FieldKind.BINDINGS).items():
        fields[name] = tuple(one for one in params if one is not param)
    for name, mapped in _fields(function, FieldKind.MAPPING).items():
        fields[name] = {key: one for key, one in mapped.items() if key is not param}
    return _with_fields(function, fields)


def _with_fields(function: Any, fields: Mapping[str, Any]) -> Any:
    """Return a function with other values of fields, without its inferred type."""
    untyped = dict.fromkeys({"checked_type_"} & {*function.__struct_fields__})
    return structs.replace(function, **fields, **untyped)
