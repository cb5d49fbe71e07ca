"""Programs of Relay and of loops, as the command reads, writes and shrinks them.

They have one text, in which functions of both kinds may stand, and are told apart by
what most of a program is: by the suffix of its file, and its first function.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from parpass.ir.module import IRModule
from parpass.transform import Textual, Way, register_programs


class RelayPrograms(Textual):
    """Programs in Relay's text."""

    ir_name = "relay"
    suffixes = (".relay",)

    def parse(self, text: str, source_name: str) -> IRModule:
        """Return the module of which this is the text."""
        from parpass.relay.text.parser import parse  # workers read no text

        return parse(text, source_name)

    def astext(self, mod: IRModule, *, show_meta_data: bool = True) -> str:
        """Return a module as text, the values of constants at its end."""
        return mod.astext(show_meta_data=show_meta_data)

    def ways(self) -> Sequence[Way]:
        """Return the ways that look into functions."""
        from parpass.relay.shrinking import ways  # for reductions alone
        from parpass.tir.loop_shrinking import loop_ways  # for reductions alone

        return (*ways(), *loop_ways())

    def module_size(self, mod: IRModule) -> tuple[int, ...]:
        """Return the numbers of functions, of nodes by kind, and of attributes."""
        from parpass.relay.shrinking import size  # for reductions alone
        from parpass.tir.loop_shrinking import loop_size  # for reductions alone

        both = zip_longest(size(mod), loop_size(mod), fillvalue=0)
        return tuple(map(sum, both))


class LoopPrograms(RelayPrograms):
    """Programs in the text of loops."""

    ir_name = "tir"
    suffixes = (".tir",)


register_programs(RelayPrograms())
register_programs(LoopPrograms())
