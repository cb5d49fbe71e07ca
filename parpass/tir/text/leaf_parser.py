"""The parser of leaves: types, dtypes, declarations, constants."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NoReturn

from parpass.diagnostic import Span
from parpass.errors import IRTypeError, SizeLimitError
from parpass.ir.attrs import DictAttrs
from parpass.ir.text.cursor import ParseAborted, is_name, is_string, is_variable
from parpass.ir.text.error_list import ErrorList
from parpass.ir.text.literals import WORDS, read_float_of, read_name, read_number_of
from parpass.ir.text.symbols import GlobalSymbols, SymbolTable
from parpass.ir.text.type_parser import TypeParser
from parpass.ir.types import PointerType, PrimType, Type
from parpass.ir.types.type_structure import MAX_NESTING
from parpass.tir.data_type import checked, data_type
from parpass.tir.expr import Buffer, FloatImm, IntImm, PrimExpr, SizeVar, StringImm, Var
from parpass.tir.text.notation import RESERVED, SUFFIXES, TYPE_WORDS

_NON_FINITE = {word: word for word in WORDS}


class LeafParser(TypeParser):
    """Reads leaves; keeps the names that are in scope.

    Args:
        problems: Takes the errors.
        global_names: The names of functions.

    Attributes:
        names: What names mean here: variables and buffers.
        known: Variables that are one in the whole function, wherever they are bound.
    """

    def __init__(self, problems: ErrorList, global_names: GlobalSymbols) -> None:
        super().__init__(problems)
        self.globals = global_names
        self.names = SymbolTable()
        self.known: dict[str, Var] = {}
        self._pointers = 0

    def refuse(self, where: Span, message: str) -> NoReturn:
        """Report what is wrong, and give up the function."""
        self.problems.report(where, message)
        raise ParseAborted(self.at)

    def refuse_unknown(
        self, at: int, what: str, name: str, known: Iterable[str]
    ) -> NoReturn:
        """Report that there is nothing of a name, and give up the function.

        Args:
            at: The token that is the name.
            what: What there is none of, in words.
            name: The name.
            known: Those that there are.
        """
        self.problems.report_unknown(self.span(at, at), what, name, known)
        raise ParseAborted(at)

    def made(self, kind: Any, begin: int, *fields: Any, **others: Any) -> Any:
        """Return a node that ends with the last token that was read.

        Args:
            kind: Its class.
            begin: The token at which it begins.
            fields: The first of its fields.
            others: Other ones.
        """
        span = self.span(begin, self.at - 1)
        try:
            return kind(*fields, **others, span=span)
        except IRTypeError as error:
            self.refuse(span, str(error))

    def begins_type(self, token: str) -> bool:
        """Return whether a name is that of a type, or begins one."""
        return token in TYPE_WORDS or is_dtype(token)

    def type_leaf(self, expected: str) -> Type:
        """Read a type that is not made of others, but `Pointer(float32)`."""
        token = self.texts[self.at]
        if token == "Pointer":
            return self._pointer_type()
        if is_name(token) and is_dtype(token):
            self.at += 1
            return PrimType(checked(token))
        if is_name(token) and token not in {*TYPE_WORDS, "_", *self.type_names}:
            known = (*SUFFIXES, "bool", "handle", *sorted(TYPE_WORDS - {"fn"}))
            self.refuse_unknown(self.at, "type named", token, known)
        return super().type_leaf(expected)

    def _pointer_type(self) -> Type:
        self.at += 1
        self.expect("(")
        self._pointers += 1
        if self._pointers > MAX_NESTING:
            self.fail(f"at most {MAX_NESTING} pointers in each other")
        at = self.at
        token, scope = self.texts[at], ""
        if is_string(token):
            scope = self.string()
        elif is_name(token) and token not in TYPE_WORDS and self.texts[at + 1] != ")":
            self.at, scope = at + 1, token
        element = self.type()
        self.expect(")", "')'")
        self._pointers -= 1
        return PointerType(element, scope)

    def dtype(self) -> str:
        """Read the name of a dtype."""
        at = self.at
        token = self.texts[at]
        if not is_name(token):
            self.fail("a dtype")
        if not is_dtype(token):
            what = "expected a dtype such as 'int32', 'float32x4', 'bool' or 'handle'"
            self.refuse(self.span(at, at), f"{what}, got '{token[:40]}'")
        self.at = at + 1
        return checked(token)

    def string(self) -> str:
        """Read a string in quotes."""
        at = self.at
        if not is_string(self.texts[at]):
            self.fail("a string in double quotes")
        self.at = at + 1
        return self.converted((at, at), self.texts[at], read_name, "")

    def int(self, expected: str) -> int:
        """Read an int that is no expression."""
        begin = self.at
        if not self.is_number(begin):
            self.fail(expected)
        value, dtype = self.number(read_number_of, (0, "int32"))
        if isinstance(value, float) or dtype != "int32":
            self.refuse(self.span(begin, self.at - 1), f"expected {expected}")
        return value

    def mapping(self) -> DictAttrs:
        """Read attributes such as `{"k": 1}`."""
        begin = self.at
        if self.texts[begin] != "{":
            self.fail("'{'")
        value = self.value()
        try:
            return DictAttrs(value)
        except (IRTypeError, SizeLimitError) as error:
            self.refuse(self.span(begin, begin), str(error))

    def variable_name(self, expected: str) -> str:
        """Go over the name of a variable and return it."""
        at = self.at
        token = self.texts[at]
        if is_variable(token):
            self.at = at + 1
            return self.name(at)
        if not is_name(token) or token in RESERVED:
            self.fail(expected)
        self.at = at + 1
        return str(token)

    def declaration(self, expected: str = "a variable such as i: int32") -> Var:
        """Read a variable and its type; one that is known is that one again."""
        begin = self.at
        name = self.variable_name(expected)
        self.expect(":")
        var = self._declared(name, begin)
        known = self.known.get(name)
        if known is None:
            return var
        if _signature(known) != _signature(var):
            message = f"variable '{name}' has another type above"
            self.refuse(self.span(begin, self.at - 1), message)
        return known

    def _declared(self, name: str, begin: int) -> Var:
        """Read what stands behind the colon of a variable, and return the variable."""
        is_size = self._opens("SizeVar")
        if self._opens("PrimType"):
            typ: Any = PrimType(self.dtype())
            self.expect(")")
        elif is_name(self.texts[self.at]) and is_dtype(self.texts[self.at]):
            typ = self.dtype()
        else:
            typ = self.type()
        if is_size:
            self.expect(")")
        return self.made(SizeVar if is_size else Var, begin, name, typ)

    def _opens(self, word: str) -> bool:
        found = self.texts[self.at] == word and self.texts[self.at + 1] == "("
        self.at += 2 * found
        return found

    def meaning(self) -> Var | Buffer:
        """Read a name that is in scope, and return what it means."""
        at = self.at
        name = self.variable_name("a variable")
        found = self.names.meanings.get(name)
        if found is None:
            self.refuse_unknown(at, "variable named", name, self.names.meanings)
        return found

    def constant(self) -> PrimExpr | None:
        """Read a number, a truth value or a string; None if there is none."""
        at = self.at
        token = self.texts[at]
        if token in {"True", "False"}:
            self.at = at + 1
            return IntImm("bool", token == "True", self.span(at, at))
        if is_string(token):
            return self.made(StringImm, at, self.string())
        if not self.is_number(at):
            return None
        value, dtype = self.number(read_number_of, (0, "int32"))
        return self._constant_of(at, value, dtype)

    def constant_of_dtype(self) -> PrimExpr:
        """Read a constant such as `int7(3)` or `float32(-inf)`."""
        begin = self.at
        dtype = self.dtype()
        self.expect("(")
        if self.begins_float_word(_NON_FINITE):
            value = self.float_word(_NON_FINITE)
            self.expect(")")
            return self.made(FloatImm, begin, dtype, value)
        if not self.is_number(self.at):
            self.fail("a number")
        if data_type(dtype).is_floating:
            value = self.number(read_float_of, 0.0)
        else:
            value, _ = self.number(read_number_of, (0, ""))
        self.expect(")")
        return self._constant_of(begin, value, dtype)

    def _constant_of(self, begin: int, value: float, dtype: str) -> PrimExpr:
        if not data_type(dtype).is_floating:
            return self.made(IntImm, begin, dtype, value)
        if not math.isfinite(value):
            span = self.span(begin, self.at - 1)
            self.refuse(span, f"the number is out of range of {dtype}")
        return self.made(FloatImm, begin, dtype, value)


def is_dtype(name: str) -> bool:
    """Return whether this is the name of a dtype."""
    try:
        checked(name)
    except IRTypeError:
        return False
    return name != ""


def _signature(var: Var) -> tuple[Any, ...]:
    return type(var), var.dtype, var.type_annotation
