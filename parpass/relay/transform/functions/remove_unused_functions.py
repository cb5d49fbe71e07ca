"""RemoveUnusedFunctions: what no entry function can reach goes."""

from __future__ import annotations

from collections.abc import Iterable

from parpass.errors import UnknownGlobalError
from parpass.ir.module import IRModule
from parpass.relay.analysis import called_globals
from parpass.transform import ModulePass, PassContext, PassInfo, register_pass
from parpass.transform.info import names


@register_pass("relay._transform.RemoveUnusedFunctions")
class RemoveUnusedFunctions(ModulePass):
    """Remove functions that no entry function refers to, directly or by others.

    With the entry function `main`::

        def @main(%x: float32) {
          @used(%x)
        }

        def @used(%x: float32) {
          negative(%x)
        }

        def @unused(%x: float32) {
          @used(%x)
        }

    becomes::

        def @main(%x: float32) {
          @used(%x)
        }

        def @used(%x: float32) {
          negative(%x)
        }

    Args:
        entry_functions: The names of the functions to keep; by default `main` alone.

    Raises:
        ArgumentError: `entry_functions` is no list of names.
    """

    pass_info = PassInfo(opt_level=1, name="RemoveUnusedFunctions")

    def __init__(self, entry_functions: Iterable[str] | None = None) -> None:
        entries = ("main",) if entry_functions is None else entry_functions
        self.entry_functions = names(entries, "entry_functions")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return a module with the functions that are used.

        Raises:
            UnknownGlobalError: The module has no function of an entry's name.
        """
        used = reachable_functions(mod, self.entry_functions)
        functions = mod.functions_by_name
        dropped = len(functions) - len(used)
        if not dropped:
            return mod
        ctx.count("dropped", dropped)
        kept = {name: func for name, func in functions.items() if name in used}
        return IRModule.assemble(mod, kept)


def reachable_functions(mod: IRModule, entry_functions: Iterable[str]) -> set[str]:
    """Return the names of entry functions and of all that they refer to.

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
    return found
