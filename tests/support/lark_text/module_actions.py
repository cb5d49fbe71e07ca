"""Actions of the grammar for modules; see `type_actions` for what an action is."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.ir.attrs import DictAttrs
from parpass.ir.text.literals import dict_attrs
from parpass.relay.expr import Expr, Function
from parpass.runtime.ndarray import NDArray
from tests.support.lark_text.expr_actions import ExprActions, Head
from tests.support.lark_text.token_problems import TokenProblems
from tests.support.lark_text.type_actions import Parts


class ModuleActions(ExprActions):
    """Makes functions by global name, and the attributes of a module.

    Attributes:
        functions: The functions read so far.
        attrs: The attributes of the module.
        root: The expression, where the text has one in place of functions.
    """

    def __init__(
        self, problems: TokenProblems, constants: Sequence[NDArray] | None
    ) -> None:
        super().__init__(problems, constants)
        self.functions: dict[str, Function] = {}
        self.attrs: DictAttrs | None = None
        self.root: Expr | None = None
        self._defined: set[str] = set()

    def version(self, _parts: Parts) -> None:
        """Ignore the version that TVM writes: there is one format here."""

    def module_attrs(self, parts: Parts) -> None:
        """Keep the attributes of the module."""
        self.attrs = dict_attrs(parts, self.problems)

    def definition_head(self, parts: Parts) -> tuple[str, Head]:
        """Enter the name of a function before its body is read."""
        place, token, *rest = parts
        name = self.global_named(token).name_hint
        if name in self._defined:
            self.problems.report_at(token, f"function '{token}' is defined twice")
        self._defined.add(name)
        return name, self.function_head([place, *rest])

    def definition(self, parts: Parts) -> None:
        """Keep a function of the module."""
        (name, head), body = parts
        self.functions[name] = self.end_function(head, body)

    def module(self, _parts: Parts) -> None:
        """Do nothing: all parts have been kept."""

    def expression(self, _parts: Parts) -> None:
        """Do nothing: all parts have been kept."""

    def program(self, parts: Parts) -> None:
        """Keep the expression that stands for itself."""
        self.root, _ = parts[-1]

    def forget_scopes(self) -> None:
        """Leave all scopes, to go on with another function after an error."""
        self.names.close_all()
        self._let = None
        self.type_names.clear()

    def check_global_uses(self) -> None:
        """Report the uses of functions that the module does not have."""
        for name, token in self.global_uses.items():
            if name not in self._defined:
                self.problems.report_unknown_at(token, "function named")
