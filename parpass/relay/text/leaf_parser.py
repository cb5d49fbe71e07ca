"""The parser of expressions that have no parts: variables, operators, constants."""

from __future__ import annotations

import re
from collections.abc import Sequence

from parpass.ir.adt import Constructor
from parpass.ir.op.op_table import Op
from parpass.ir.text.cursor import is_name, is_variable
from parpass.ir.text.error_list import ErrorList
from parpass.ir.text.literals import name_text, read_scalar
from parpass.ir.text.symbols import GlobalSymbols, SymbolTable
from parpass.ir.text.type_parser import TypeParser
from parpass.ir.types import TensorType, Type
from parpass.relay.expr import Call, Constant, Expr, GlobalVar, Var
from parpass.runtime.ndarray import NDArray

_SECTION_ENTRY = re.compile(r"meta\[relay\.Constant\]\[([0-9]{1,9})\]")
_ZERO = read_scalar("0")

# Words that stand where what is called does.
REFERENCES = {word: Var(word) for word in ("ref", "ref_read", "ref_write")}
BARE = ".constructor"  # behind the name of one that takes nothing, and is not called


class LeafParser(TypeParser):
    """Makes expressions of one token; keeps the names that are in scope.

    Args:
        problems: Takes the errors.
        constants: What `meta[relay.Constant][0]` and so on stand for; None if the text
            has no section for them.
    """

    def __init__(
        self, problems: ErrorList, constants: Sequence[NDArray] | None
    ) -> None:
        super().__init__(problems)
        self.names = SymbolTable()
        self.globals = GlobalSymbols()
        self.constructors: dict[str, Constructor] = {}
        self._constants = constants
        self._data: dict[str, tuple[NDArray, Type]] = {}

    def leaf(self) -> Expr | None:
        """Read an expression of one token, two if it has a sign; None if it is none."""
        at = self.at
        token = self.texts[at]
        first = token[:1]
        known = self.known_data(token)
        if known is not None:
            self.at = at + 1
            data, typ = known
            return Constant(data, self.span(at, at), typ)
        if is_variable(token):
            return self._variable()
        if first == "@":
            return self._global_var()
        if self.is_number(at):
            return self._scalar()
        if is_name(token):
            return self._constructor(at, token) or self._operator()
        return self._no_constant() if first == "m" else None

    def known_data(self, text: str) -> tuple[NDArray, Type] | None:
        """Return the value and the type of a constant; None if it is none, or wrong."""
        found = self._data.get(text)
        if found is None:
            data = self._read_data(text)
            if data is not None:
                typ = TensorType(data.shape, data.dtype)
                found = self._data[text] = data, typ
        return found

    def _read_data(self, text: str) -> NDArray | None:
        number = _SECTION_ENTRY.fullmatch(text)
        if number is not None:
            at, known = int(number[1]), self._constants or ()
            return known[at] if at < len(known) else None
        try:
            return read_scalar(text)
        except ValueError:
            return None

    def _variable(self) -> Expr:
        """Return what a name means that is not in scope as it is written."""
        at = self.at
        self.at += 1
        token = self.texts[at]
        key = self.key(at)
        found = self.names.meanings.get(key)
        if found is None:
            known = (name for name in self.names.meanings if name[0] == "%")
            place = self.span(at, at)
            self.problems.report_unknown(place, "variable named", token, known)
            found = Var(self.name(at))
        return found

    def _global_var(self) -> GlobalVar:
        at = self.at
        self.at += 1
        token = self.texts[at]
        found = self.globals.use(self.name(at), token, self.span(at, at))
        self.names.meanings[token] = found
        return found

    def _constructor(self, at: int, token: str) -> Expr | None:
        """Return what the name of a constructor stands for, None if it is none.

        One that takes nothing stands for what it makes, as in TVM's text.
        """
        found = self.constructors.get(token.removesuffix(BARE))
        if found is None:
            return None
        self.at = at + 1
        if found.inputs:
            self.names.meanings[token] = found
        elif token[-len(BARE) :] != BARE and self.texts[at + 1] not in {"(", "<"}:
            return Call(found, (), None, (), self.span(at, at))
        return found

    def _operator(self) -> Expr:
        at = self.at
        self.at += 1
        token = self.texts[at]
        if token in REFERENCES and self.texts[self.at] == "(":
            return REFERENCES[token]
        op = Op.find(token)
        if op is None:
            self._report_no_operator(at, token)
            return Var(token)
        self.names.meanings[token] = op
        return op

    def _report_no_operator(self, at: int, token: str) -> None:
        place = self.span(at, at)
        if f"%{token}" in self.names.meanings:
            message = f"no operator named '{token}'; is the variable '%{token}' meant?"
            self.problems.report(place, message)
        else:
            known = Op.list_op_names()
            self.problems.report_unknown(place, "operator named", token, known)

    def _scalar(self) -> Constant:
        begin = self.at
        data = self.number(read_scalar, _ZERO)
        return Constant(data, self.span(begin, self.at - 1))

    def _no_constant(self) -> Constant:
        """Report what refers to the section at the end of the text, and in vain."""
        at = self.at
        self.at += 1
        span = self.span(at, at)
        if self._constants is None:
            self.problems.report(span, "the text has no section of constants")
        else:
            count = len(self._constants)
            self.problems.report(span, f"the text has {count} constants in its section")
        return Constant(_ZERO, span)

    def key(self, at: int) -> str:
        """Return a name as it would be printed: `%"0"` is not `%0`, that of a line."""
        token = self.texts[at]
        return token if token[1] != '"' else f"%{name_text(self.name(at))}"
