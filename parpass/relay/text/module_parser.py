"""The parser of modules: functions one after the other, or one expression."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from parpass.ir.attrs import DictAttrs
from parpass.ir.module import IRModule
from parpass.ir.relay_expr import BaseFunc, GlobalVar
from parpass.ir.text.attribute import Attribute, dict_attrs
from parpass.ir.text.cursor import is_name, is_string
from parpass.ir.text.problems import Problems
from parpass.ir.text.scanner import END, STRAY
from parpass.relay.expr import Expr
from parpass.relay.text.definition_parser import DefinitionParser
from parpass.relay.text.open_parts import Head
from parpass.runtime.ndarray import NDArray

if TYPE_CHECKING:
    from parpass.tir.text.function_reader import FunctionReader


class ModuleParser(DefinitionParser):
    """Makes functions by global name, and the attributes of a module.

    Attributes:
        functions: The functions read so far, in the order of the text.
        attrs: The attributes of the module.
        root: The expression, where the text has one in place of functions.
    """

    def __init__(self, problems: Problems, constants: Sequence[NDArray] | None) -> None:
        super().__init__(problems, constants)
        self.functions: dict[GlobalVar, BaseFunc] = {}
        self.attrs: DictAttrs | None = None
        self.root: Any = None
        self._defined: set[str] = set()
        self._given: set[str] = set()
        self._loop_reader: FunctionReader | None = None

    def know(self, module: IRModule) -> None:
        """Take the functions and types of a module for there, if not in the text."""
        self.globals.know(module.global_vars_by_name)
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
        block = self.open_block(self.at, END, self._end_program)
        if self.at == block.line:
            functions = or_functions and self.at == begin
            block.expected = self._beginnings(functions=functions)
        self.read_open()

    def _beginnings(self, *, functions: bool) -> str:
        """Return what a program may begin with, in words."""
        words = ["an expression", "'free_var'", "'let'"]
        if functions:
            words = [words[0], "'def'", *words[1:], "the end of the text"]
        if self.texts[0] != "#[" and self.at == 0:
            words.insert(1, "'#['")
        return f"{', '.join(words[:-1])} or {words[-1]}"

    def _end_program(self, expr: Expr, _end: int) -> None:
        self.root = expr

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
        head = self.function_head(begin)
        brace = self.expect("{", "'{'" if head.ret_type else "'->' or '{'")
        self.open_block(brace, "}", partial(self._end_definition, var, head))
        self.read_open()

    def _is_loop_definition(self) -> bool:
        """Return whether `@f = primfn` comes next."""
        at, texts = self.at, self.texts
        return (
            texts[at][:1] == "@" and texts[at + 1] == "=" and texts[at + 2] == "primfn"
        )

    def _loops(self) -> FunctionReader:
        """Return what reads loop programs, which share the names of functions."""
        if self._loop_reader is None:
            # Few texts have any, and it takes long to load.
            from parpass.tir.text.function_reader import FunctionReader

            self._loop_reader = FunctionReader(self.problems, self.globals)
        return self._loop_reader

    def _defined_var(self) -> GlobalVar:
        """Read the name of a function that is being defined."""
        at = self.at
        self.at = at + 1
        var = self.globals.named(self.name(at), self.span(at, at))
        if var.name_hint in self._defined:
            message = f"function '{self.texts[at]}' is defined twice"
            self.problems.report(self.span(at, at), message)
        self._defined.add(var.name_hint)
        return var

    def _end_definition(self, var: GlobalVar, head: Head, body: Expr, end: int) -> None:
        self.functions[var] = self.end_function(head, body, end)

    def forget_scopes(self) -> None:
        """Leave all scopes, to go on with another function after an error."""
        self.names.close_all()
        self.type_names.clear()
        self.open.clear()

    def check_global_uses(self) -> None:
        """Report the uses of functions that the module does not have."""
        self.globals.check_uses(self._defined | self._given, self.problems)
