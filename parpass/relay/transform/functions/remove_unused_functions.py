"""RemoveUnusedFunctions: what no entry function can reach goes."""

from __future__ import annotations

from collections.abc import Iterable

from parpass.ir.module import IRModule
from parpass.ir.module.reachability import extract_reachable
from parpass.transform import ModulePass, PassContext, PassInfo, register_pass
from parpass.transform.pass_info import checked_names


@register_pass("relay._transform.RemoveUnusedFunctions")
class RemoveUnusedFunctions(ModulePass):
    """Remove functions that no entry function refers to, directly or indirectly.

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
        ArgumentError: `entry_functions` is not a list of names.
    """

    pass_info = PassInfo(opt_level=1, name="RemoveUnusedFunctions")

    def __init__(self, entry_functions: Iterable[str] | None = None) -> None:
        entries = ("main",) if entry_functions is None else entry_functions
        self.entry_functions = checked_names(entries, "entry_functions")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return a module with the functions that are used.

        Raises:
            UnknownGlobalError: The module has no function of an entry's name.
        """
        part = extract_reachable(mod, self.entry_functions)
        dropped = len(mod) - len(part)
        if not dropped:
            return mod
        ctx.count("dropped", dropped)
        return part
