"""Writes an expression as basic blocks of `let`s.

The base of ToANormalForm and ToBasicBlockNormalForm, which differ in the nodes that get
a variable. A node that gets one is bound in the innermost block that encloses its uses,
in the order of evaluation. `let`s inside of an expression move to their block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, cast

from parpass.errors import DiagnosticError
from parpass.ir.adt import Constructor
from parpass.ir.module import IRModule
from parpass.ir.node import Node, children, post_order, reflection
from parpass.ir.op.op_table import Op
from parpass.relay.adt import Clause
from parpass.relay.analysis.effects import effects_across_blocks
from parpass.relay.analysis.findings import Finding, emit_errors, raise_errors
from parpass.relay.analysis.scopes import BlockTree, Scope, used_across_blocks
from parpass.relay.expr import Expr, Function, GlobalVar, Let, Var
from parpass.transform import PassContext

# What a function with one of these holds was made by a pass, as it has to be.
_OPAQUE = ("Primitive", "Compiler")
_NAMES = (Var, GlobalVar, Op, Constructor)


class _Binding(NamedTuple):
    var: Var
    value: Expr
    let: Let | None  # the one in the program


class BlockWriter:
    """Rewrites one expression.

    Args:
        blocks: The blocks of its nodes.
        wants_variable: Tells of a node, not a name, whether it gets a variable.
    """

    def __init__(
        self, blocks: BlockTree, wants_variable: Callable[[Expr], bool]
    ) -> None:
        self._blocks = blocks
        self._wants_variable = wants_variable
        self._lines: dict[Scope, list[_Binding]] = {}
        self._written: dict[Expr, Expr] = {}
        self._let_of: dict[Expr, Let] = {}  # which `let` a value is to be bound by

    def write(self, root: Expr) -> Expr:
        """Return the expression, its values bound; a function stays a function."""
        stack = [self._steps(root, root)]
        while stack:
            child = next(stack[-1], None)
            if child is None:
                stack.pop()
            elif child not in self._written:
                stack.append(self._steps(child, root))
        return self._block(self._blocks.around[root], self._written[root])

    def _steps(self, node: Expr, root: Expr) -> Iterator[Expr]:
        """Write a node, after each node that this gives was written."""
        if isinstance(node, Let):
            self._name(node.value, node)
            yield node.value
            self._bind(node)
            if node in self._let_of:
                self._name(node.body, self._let_of.pop(node))
            yield node.body
            result = self._written[node.body]
        elif is_opaque(node):
            result = node
        else:
            yield from children(node)
            result = self._rebuilt(node)
        is_root_function = node is root and isinstance(node, Function)
        is_none = isinstance(cast("Node", node), Clause)  # of what can be named
        let = self._let_of.pop(node, None)
        if isinstance(result, _NAMES) or is_root_function or is_none:
            self._written[node] = result
        elif let is not None or self._wants_variable(node):
            var = Var("x", span=getattr(node, "span", None)) if let is None else let.var
            self._add(node, _Binding(var, result, let))
            self._written[node] = var
        else:
            self._written[node] = result

    def _name(self, value: Expr, let: Let) -> None:
        """Make a value that is not written yet, and in a `let`'s block, bound by it."""
        around = self._blocks.around
        if value not in self._written and around[value] is around[let]:
            self._let_of[value] = let

    def _bind(self, let: Let) -> None:
        value = self._written[let.value]
        if value is not let.var:
            self._let_of.pop(let.value, None)
            self._add(let, _Binding(let.var, value, let))

    def _add(self, node: Expr, binding: _Binding) -> None:
        self._lines.setdefault(self._blocks.around[node], []).append(binding)

    def _rebuilt(self, node: Expr) -> Expr:
        old = children(node)
        new = [self._written[child] for child in old]
        opened: Sequence[Scope] = self._blocks.opened.get(node, ())
        for at, block in enumerate(opened, len(new) - len(opened)):
            new[at] = self._block(block, new[at])
        same = all(a is b for a, b in zip(old, new, strict=True))
        return node if same else reflection(type(node)).rebuild(node, new)

    def _block(self, block: Scope, result: Expr) -> Expr:
        for var, value, let in reversed(self._lines.get(block, ())):
            if let is not None and let.value is value and let.body is result:
                result = let
            else:
                span = getattr(value, "span", None) if let is None else let.span
                result = Let(var, value, result, span)
        return result


def is_opaque(expr: Expr) -> bool:
    """Return whether an expression is a function that normal forms leave alone."""
    return isinstance(expr, Function) and any(map(expr.has_nonzero_attr, _OPAQUE))


def written_in_blocks(
    expr: Expr,
    mod: IRModule | None,
    wants_variable: Callable[[set[Expr], Expr], bool],
) -> Expr:
    """Return an expression as basic blocks.

    Args:
        expr: The expression.
        mod: Has the global functions that it calls, to know which have effects.
        wants_variable: Tells of a node, given those that several blocks use, whether it
            gets a variable.

    Raises:
        DiagnosticError: Several blocks use what has an effect.
    """
    order = post_order(expr)
    blocks = BlockTree(order)
    crossing = used_across_blocks(order, blocks)
    raise_errors(
        [
            Finding(
                getattr(node, "span", None),
                "expected a value with an effect to be used in one block, got several; "
                "bind it by a `let` around them, or write a call in each",
            )
            for node in effects_across_blocks(order, crossing, mod)
        ]
    )
    return BlockWriter(blocks, partial(wants_variable, crossing)).write(expr)


def rewrite_functions(
    mod: IRModule,
    rewrite: Callable[[Function, IRModule], Function],
    ctx: PassContext,
) -> IRModule:
    """Return a module with its functions rewritten.

    Those that other passes made stay, and those of other IRs.
    """
    old = mod.functions_by_name
    functions = dict(old)
    for name, function in old.items():
        if not isinstance(function, Function) or is_opaque(function):
            continue
        try:
            functions[name] = rewrite(function, mod)
        except DiagnosticError as error:
            found = [Finding(it.span, it.message) for it in error.diagnostics]
            emit_errors(found, ctx, name)
    changed = sum(function is not old[name] for name, function in functions.items())
    if not changed:
        return mod
    ctx.count("rewritten", changed)
    return IRModule.assemble(mod, functions)
