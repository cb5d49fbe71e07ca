"""The parser of modules: type definitions and functions, or one expression.

A type may be used before it is defined, as types may refer to each other. So all
definitions of a text are read before its functions, which are parsed in a second pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from parpass.errors import IRTypeError, SizeLimitError
from parpass.ir.adt import Constructor, GlobalTypeVar, TypeData
from parpass.ir.attrs import DictAttrs
from parpass.ir.base_func import BaseFunc
from parpass.ir.global_var import GlobalVar
from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op
from parpass.ir.text.cursor import UnexpectedToken, is_name, is_string
from parpass.ir.text.error_list import ErrorList
from parpass.ir.text.grammar_rules import run_rule
from parpass.ir.text.lexer import END, STRAY
from parpass.ir.text.literals import Attribute, dict_attrs
from parpass.relay.text.expr_parser import ExprParser
from parpass.runtime.dtypes import DTYPES, WIDTHS
from parpass.runtime.ndarray import NDArray

if TYPE_CHECKING:
    from parpass.tir.text.function_parser import FunctionParser


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

    def __init__(
        self, problems: ErrorList, constants: Sequence[NDArray] | None
    ) -> None:
        super().__init__(problems, constants)
        self.definitions_of_types: dict[str, TypeData] = {}

    def begins_definition(self) -> bool:
        """Return whether the definition of a type is next."""
        return self.texts[self.at] in _BEGINS

    def declare_types(self) -> list[int]:
        """Record the names of the types that a chunk defines.

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
        except UnexpectedToken as fault:
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


class ModuleParser(DefinitionParser):
    """Makes functions by global name, and the attributes of a module.

    Attributes:
        functions: The functions read so far, in the order of the text.
        attrs: The attributes of the module.
        root: The expression, where the text has one in place of functions.
    """

    def __init__(
        self, problems: ErrorList, constants: Sequence[NDArray] | None
    ) -> None:
        super().__init__(problems, constants)
        self.functions: dict[GlobalVar, BaseFunc] = {}
        self.attrs: DictAttrs | None = None
        self.root: Any = None
        self._defined: set[str] = set()
        self._given: set[str] = set()
        self._loop_reader: FunctionParser | None = None

    def know(self, module: IRModule) -> None:
        """Take the functions and types of a module for there, if not in the text."""
        self.globals.declare(module.global_vars_by_name)
        self._given.update(module.global_vars_by_name)
        for name, definition in module.types.by_name.items():
            self.defined_types[name] = definition.header
            for constructor in definition.constructors:
                self.constructors[constructor.name_hint] = constructor

    def module(self) -> None:
        """Read a module from its beginning."""
        self._preamble()
        starts = self.texts[self.at] in {"def", END} or self.begins_definition()
        if starts or self._is_loop_definition():
            self.definitions()
        else:
            self._program(or_functions=True)

    def expression(self) -> None:
        """Read a text that is an expression."""
        self._preamble()
        self._program(or_functions=False)

    def _preamble(self) -> None:
        """Read `#[version = "0.0.5"]`, as TVM writes it, and `#[attrs(name=value)]`."""
        expected = "'attrs' or 'version'"
        if self.texts[self.at] == "#[" and self.texts[self.at + 1] == "version":
            self.at += 2
            expected = "'attrs'"
            self.expect("=")
            if not is_string(self.texts[self.at]):
                self.fail("a string in double quotes")
            self.at += 1
            self.expect("]")
        if self.is_next("#["):
            self.expect("attrs", expected)
            self.expect("(")
            self.attrs = dict_attrs(self._attributes(), self.problems)
            self.expect("]")

    def _attributes(self) -> list[Attribute]:
        found: list[Attribute] = []
        if self.is_next(")"):
            return found
        while not found or self.is_next(","):
            token = self.texts[self.at]
            if not is_name(token) and not is_string(token):
                also = "" if found else " or ')'"
                self.fail(f"an attribute such as axis=1{also}")
            found.append(self.attribute())
        self.expect(")", "')' or ','")
        return found

    def _program(self, *, or_functions: bool) -> None:
        """Read an expression that stands for itself, up to the end of the text.

        Args:
            or_functions: Whether functions could stand here instead.
        """
        if self.texts[self.at] == "primfn":
            self.root = self._loops().function(self)
            self.expect(END, "the end of the text")
            return
        begin = self.at
        while self.texts[self.at] == "free_var":
            self._free_var()
        expected = self._beginnings(functions=or_functions and self.at == begin)
        self.root = run_rule(self.block(END, expected))

    def _beginnings(self, *, functions: bool) -> str:
        """Return what a program may begin with, in words."""
        words = ["an expression", "'free_var'", "'let'"]
        if functions:
            words = [words[0], "'def'", *words[1:], "the end of the text"]
        if self.texts[0] != "#[" and self.at == 0:
            words.insert(1, "'#['")
        return f"{', '.join(words[:-1])} or {words[-1]}"

    def _free_var(self) -> None:
        """Declare a variable that an expression lacks."""
        self.at += 1
        at = self.at
        key, var = self.annotated_var("a variable such as %x")
        if key in self.names.meanings:
            message = f"'{self.texts[at]}' is declared twice"
            self.problems.report(self.span(at, at), message)
        self.names.bind(key, var)
        self.expect(";", "';'" if var.type_annotation else "':' or ';'")

    def definitions(self) -> None:
        """Read functions, up to the last token."""
        last = len(self.texts) - 2
        while self.at < last or self.texts[last][:1] == STRAY:
            if self.begins_definition():
                self.go_over_definition()
            else:
                self._definition()

    def _definition(self) -> None:
        if self._is_loop_definition():
            var = self._defined_var()
            self.at += 1
            self.functions[var] = self._loops().function(self)
            return
        begin = self.expect("def", "'def' or the end of the text")
        if self.texts[self.at][:1] != "@":
            self.fail("a function's name such as @main")
        var = self._defined_var()
        self.functions[var] = run_rule(self.function(begin))

    def _is_loop_definition(self) -> bool:
        """Return whether `@f = primfn` comes next."""
        at, texts = self.at, self.texts
        return (
            texts[at][:1] == "@" and texts[at + 1] == "=" and texts[at + 2] == "primfn"
        )

    def _loops(self) -> FunctionParser:
        """Return what reads loop programs, which share the names of functions."""
        if self._loop_reader is None:
            # Few texts have any, and it takes long to load.
            from parpass.tir.text.function_parser import FunctionParser

            self._loop_reader = FunctionParser(self.problems, self.globals)
        return self._loop_reader

    def _defined_var(self) -> GlobalVar:
        """Read the name of a function that is being defined."""
        at = self.at
        self.at = at + 1
        var = self.globals.lookup(self.name(at), self.span(at, at))
        if var.name_hint in self._defined:
            message = f"function '{self.texts[at]}' is defined twice"
            self.problems.report(self.span(at, at), message)
        self._defined.add(var.name_hint)
        return var

    def forget_scopes(self) -> None:
        """Leave all scopes, to go on with another function after an error."""
        self.names.pop_all_scopes()
        self.type_names.clear()

    def check_global_uses(self) -> None:
        """Report the uses of functions that the module does not have."""
        self.globals.check_uses(self._defined | self._given, self.problems)
