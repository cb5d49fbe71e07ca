"""The parser of calls, and of their attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parpass.ir.operators.op_table import Op
from parpass.ir.text.attribute import dict_attrs
from parpass.ir.text.cursor import is_name, is_string
from parpass.ir.text.infix import Operand
from parpass.ir.text.problems import Problems
from parpass.ir.types.ty import Type
from parpass.relay.expr import Call, Expr, RefCreate, RefRead, RefWrite, Tuple, Var
from parpass.relay.text.call_attributes import operator_attrs
from parpass.relay.text.leaf_parser import REFERENCES, LeafParser
from parpass.relay.text.open_parts import Open, OpenCall
from parpass.runtime.ndarray import NDArray

_REFERENCES: dict[str, tuple[type[Any], int]] = {
    "ref": (RefCreate, 1),
    "ref_read": (RefRead, 1),
    "ref_write": (RefWrite, 2),
}
_TRUTHS = {"True", "False"}  # names elsewhere, never those of arguments


class CallParser(LeafParser):
    """Makes calls.

    Attributes:
        open: The parts that are open, the innermost last.
    """

    def __init__(self, problems: Problems, constants: Sequence[NDArray] | None) -> None:
        super().__init__(problems, constants)
        self.open: list[Open] = []

    def call(
        self, callee: Expr, begin: int, type_args: tuple[Type, ...] = ()
    ) -> Expr | None:
        """Read a call from its parenthesis on.

        Args:
            callee: What is called.
            begin: The token at which it begins.
            type_args: The arguments for its type parameters.

        Returns:
            The call; None if it is open, because an argument has parts.
        """
        self.at += 1
        return self._arguments(OpenCall(begin, self._in_call, callee, type_args))

    def _arguments(self, call: OpenCall) -> Expr | None:
        """Read arguments up to the last one, or to one that has parts."""
        texts = self.texts
        while texts[self.at] != ")":
            at = self.at
            token, following = texts[at], texts[at + 1]
            if following == "=" and self._is_attribute_name(token):
                call.attributes.append(self.attribute())
            else:
                expr = self._simple(token) if following in {",", ")"} else None
                if expr is None:
                    self.open.append(call)
                    return None
                call.args.append(expr)
            self._go_over_comma()
        self.at += 1
        return self._whole(call, self.at - 1)

    def _simple(self, token: str) -> Expr | None:
        found = self.names.meanings.get(token)
        if found is None:
            return self.leaf()
        self.at += 1
        return found

    def _in_call(self, call: OpenCall, expr: Expr, begin: int) -> Operand | None:
        call.args.append(expr)
        is_name = self.at == begin + 1 and self._is_attribute_name(self.texts[begin])
        self._go_over_comma("')', ',' or '='" if is_name else "')' or ','")
        self.open.pop()
        whole = self._arguments(call)
        return None if whole is None else Operand(whole, call.begin)

    def _go_over_comma(self, expected: str = "')' or ','") -> None:
        if not self.is_next(",") and self.texts[self.at] != ")":
            self.fail(expected)

    @staticmethod
    def _is_attribute_name(token: str) -> bool:
        return is_string(token) or (is_name(token) and token not in _TRUTHS)

    def _reference(self, call: OpenCall, word: str, end: int) -> Expr:
        """Return what `ref(...)`, `ref_read(...)` or `ref_write(...)` stands for."""
        kind, count = _REFERENCES[word]
        place = self.span(call.begin, end)
        if len(call.args) != count or call.attributes or call.type_args:
            plural = "" if count == 1 else "s"
            message = f"expected {count} argument{plural} for '{word}', and no more"
            self.problems.report(place, message)
            return Tuple((), place)
        return kind(*call.args, span=place)

    def _whole(self, call: OpenCall, end: int) -> Expr:
        callee, place = call.callee, self.span(call.begin, call.begin)
        if isinstance(callee, Var) and REFERENCES.get(callee.name_hint) is callee:
            return self._reference(call, callee.name_hint, end)
        if isinstance(callee, Op):
            attrs = operator_attrs(callee, call.attributes, place, self.problems)
        else:
            attrs = dict_attrs(call.attributes, self.problems)
        span = self.span(call.begin, end)
        return Call(callee, tuple(call.args), attrs, call.type_args, span)
