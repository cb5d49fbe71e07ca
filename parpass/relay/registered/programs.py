"""Relay's programs, as the command reads, writes and shrinks them."""

from __future__ import annotations

from collections.abc import Sequence

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
        """Return a module as text, the values of constants at its end.

        Types that are found anew when the text is read are not told.
        """
        return mod.text(show_meta_data=show_meta_data, annotate=lambda _: "")

    def ways(self) -> Sequence[Way]:
        """Return the ways that look into functions."""
        from parpass.relay.shrinking import ways  # for reductions alone

        return ways()

    def module_size(self, mod: IRModule) -> tuple[int, ...]:
        """Return the numbers of functions, of nodes by kind, and of attributes."""
        from parpass.relay.shrinking import size  # for reductions alone

        return size(mod)


register_programs(RelayPrograms())
