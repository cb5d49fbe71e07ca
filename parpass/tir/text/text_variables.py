"""The variables and buffers of a text: their names, and where they are in scope."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from parpass.ir.text.names import VarNames
from parpass.ir.text.parts import Part
from parpass.tir.buffer import Buffer
from parpass.tir.expr import Var
from parpass.tir.text.leaf_text import annotation_text
from parpass.tir.text.notation import variable_name


class Variables:
    """Names variables and buffers, each by a name of its own.

    Where a name is bound it is a new variable to who reads the text. So it has to be
    told of those that are bound twice, and of those that are used where they are not
    bound: that they are one variable everywhere.

    Args:
        declares_loose: Whether variables that are not bound are declared where they are
            first used, as there is no head that could tell of them.

    Attributes:
        loose: Those variables.
        buffers: The buffers that were named.
        bound: The variables that were bound.
    """

    def __init__(self, *, declares_loose: bool = False) -> None:
        self._declares_loose = declares_loose
        self.loose: dict[Var, None] = {}
        self.buffers: dict[Buffer, None] = {}
        self._names = VarNames(variable_name)
        self.bound: dict[Var, None] = {}
        self._here: Counter[Var] = Counter()

    def use(self, var: Var) -> str:
        """Return the text of a variable that is used."""
        if self.is_bound(var):
            return self.name(var)
        is_declared = self._declares_loose and not self._was_met(var)
        self.loose[var] = None
        return self.declared(var) if is_declared else self.name(var)

    def _was_met(self, var: Var) -> bool:
        return var in self.loose or var in self.bound

    def is_bound(self, var: Var) -> bool:
        """Return whether we are in the scope of a variable."""
        return self._here[var] > 0

    def name(self, var: Var) -> str:
        """Return the name of a variable."""
        return self._names.text_of(var, var.name)

    def declared(self, var: Var) -> str:
        """Return the text of a variable where it is declared."""
        return f"{self.name(var)}: {annotation_text(var)}"

    def buffer(self, buffer: Buffer) -> str:
        """Return the text of a buffer that is used."""
        self.buffers[buffer] = None
        return self._names.text_of(buffer, buffer.name)

    def enter(self, variables: Sequence[Var]) -> Sequence[Part]:
        """Begin the scope of variables."""
        for var in variables:
            if var in self.bound:
                self.loose[var] = None
            self.bound[var] = None
            self._here[var] += 1
        return ()

    def leave(self, variables: Sequence[Var]) -> Sequence[Part]:
        """End the scope of variables."""
        self._here.subtract(variables)
        return ()
