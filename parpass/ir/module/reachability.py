"""The call graph of a module: functions referred to by others."""

from __future__ import annotations

from collections.abc import Iterable

from parpass.errors import UnknownGlobalError
from parpass.ir.global_var import GlobalVar
from parpass.ir.module.module import IRModule
from parpass.ir.node import Node, post_order


def called_globals(expr: Node) -> list[GlobalVar]:
    """Return the global variables in an expression, in order of first appearance.

    Two objects of one name refer to one function; the first is returned.
    """
    found: dict[str, GlobalVar] = {}
    for node in post_order(expr):
        if isinstance(node, GlobalVar):
            found.setdefault(node.name_hint, node)
    return list(found.values())


def extract_reachable(mod: IRModule, entry_functions: Iterable[str]) -> IRModule:
    """Return a module of entry functions and all that they refer to, in its order.

    Raises:
        UnknownGlobalError: The module has no function of an entry's name.
    """
    functions = mod.functions_by_name
    waiting = list(entry_functions)
    for name in waiting:
        if name not in functions:
            raise UnknownGlobalError(name, functions)
    found = set(waiting)
    while waiting:
        for callee in called_globals(functions[waiting.pop()]):
            name = callee.name_hint
            if name in functions and name not in found:
                found.add(name)
                waiting.append(name)
    part = {name: function for name, function in functions.items() if name in found}
    return IRModule.assemble(mod, part)
