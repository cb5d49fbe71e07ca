"""The parser of definitions of types.

A type may be used before it is defined, as types may refer to each other. So the
definitions of a text are read before its functions, and gone over then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parpass.errors import IRTypeError, SizeLimitError
from parpass.ir.adt import Constructor, GlobalTypeVar, TypeData
from parpass.ir.operators.op_table import Op
from parpass.ir.text.cursor import SyntaxFault
from parpass.ir.text.problems import Problems
from parpass.relay.text.expr_parser import ExprParser
from parpass.runtime.dtypes import DTYPES, WIDTHS
from parpass.runtime.ndarray import NDArray

_CLOSING = {")", "]", "}"}
_OPENING = {"(", "[", "{", "#["}
_BEGINS = {"type", "extern"}
# What these mean where a type or an expression is due.
_TAKEN_FROM_TYPES = {"Tensor", "ref", "_", *DTYPES, *WIDTHS}
_TAKEN = {"match", "ref", "ref_read", "ref_write", "True", "False", "_"}


class DefinitionParser(ExprParser):
    """Makes definitions of types.

    Attributes:
        definitions_of_types: Those read so far, by name.
    """

    def __init__(self, problems: Problems, constants: Sequence[NDArray] | None) -> None:
        super().__init__(problems, constants)
        self.definitions_of_types: dict[str, TypeData] = {}

    def begins_definition(self) -> bool:
        """Return whether the definition of a type is next."""
        return self.texts[self.at] in _BEGINS

    def declare_types(self) -> list[int]:
        """Take down the names of the types that a piece defines.

        Returns:
            The tokens at which the definitions begin.
        """
        found = [*self._definitions_in_piece()]
        for at in found:
            name_at = at + 1 + (self.texts[at] == "extern")
            name = self.texts[name_at]
            if self.texts[name_at - 1] == "type" and name not in _TAKEN_FROM_TYPES:
                self.defined_types.setdefault(name, GlobalTypeVar(str(name)))
        return found

    def _definitions_in_piece(self) -> Iterator[int]:
        depth = 0
        for at, token in enumerate(self.texts):
            if token in _OPENING:
                depth += 1
            elif token in _CLOSING:
                depth -= 1
            elif depth == 0 and token in _BEGINS and self.texts[at - 1] != "extern":
                yield at

    def read_definition(self, at: int) -> None:
        """Read the definition of a type; its errors are reported."""
        self.at = at
        try:
            self._definition_of_type()
        except SyntaxFault as fault:
            place = self.span(fault.at, fault.at)
            self.problems.report(place, str(fault))
            self.type_names.clear()

    def _definition_of_type(self) -> None:
        is_extern = self.is_next("extern")
        begin = self.expect("type")
        at = self.expect_name()
        name = self.texts[at]
        if name not in self.defined_types:
            self.problems.report(self.span(at, at), f"no type can be named '{name}'")
            return
        if name in self.definitions_of_types:
            message = f"type '{name}' is defined twice"
            self.problems.report(self.span(at, at), message)
        params = self.type_params()
        header = self.defined_types[name]
        made: list[Constructor] = []
        if not is_extern:
            self.expect("{", "'{'" if params else "'[' or '{'")
            while not self.is_next("}"):
                made.append(self._constructor_of(header))
                if not self.is_next(",") and self.texts[self.at] != "}":
                    self.fail("',' or '}'")
        self.end_type_params(params)
        span = self.span(begin, self.at - 1)
        try:
            definition = TypeData(header, params, made, span)
        except (IRTypeError, SizeLimitError) as error:
            self.problems.report(self.span(at, at), str(error))
        else:
            self.definitions_of_types[name] = definition

    def _constructor_of(self, header: GlobalTypeVar) -> Constructor:
        at = self.expect_name()
        name = self.texts[at]
        inputs = self.listed(self.type, "a type") if self.texts[self.at] == "(" else []
        made = Constructor(str(name), inputs, header, self.span(at, self.at - 1))
        if name in self.constructors:
            message = f"constructor '{name}' is defined twice"
            self.problems.report(self.span(at, at), message)
        elif name in _TAKEN or Op.find(name) is not None:
            message = f"no constructor can be named '{name}'"
            self.problems.report(self.span(at, at), message)
        self.constructors[str(name)] = made
        return made

    def go_over_definition(self) -> None:
        """Go over a definition that was read before."""
        is_extern, last = self.is_next("extern"), len(self.texts) - 2
        self.at = min(self.at + 2, last)
        closing, depth = ("]" if is_extern else "}"), 0
        if is_extern and self.texts[self.at] != "[":
            return
        while self.at < last:
            token = self.texts[self.at]
            self.at += 1
            depth += (token in _OPENING) - (token in _CLOSING)
            if depth == 0 and token == closing:
                return
