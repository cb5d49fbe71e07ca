"""The parser of Relay's text format, the inverse of the printer.

`lexer.py` makes tokens of the text. The parsers of types, expressions and modules
read these, and make the program as they go: `module_parser.py` adds to
`expr_parser.py`, that to `block_parser.py`, and so on, down to `cursor.py`. After a
syntax error it goes on with the next function, so that the errors of all functions are
reported at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import msgspec

from parpass.diagnostic import merged_sources
from parpass.ir.module import IRModule
from parpass.ir.text.cursor import ParseAborted, UnexpectedToken
from parpass.ir.text.error_list import ErrorList
from parpass.ir.text.lexer import GLOBAL, Chunk, chunk_at
from parpass.relay.expr import Expr
from parpass.relay.text.constant_section import data_of_table, read_section
from parpass.relay.text.module_parser import ModuleParser
from parpass.runtime.ndarray import NDArray

import_module("parpass.relay.op")  # enters the operators in their table

_SECTION = "#[metadata]"
_BYTE = re.compile(r" \(byte (\d+)\)$")
_Start = Callable[[ModuleParser], None]
_TYPE = re.compile(r"\btype\b")
_FUNCTION = re.compile(rf"^[ \t]*(?:def\b|{GLOBAL}[ \t]*=[ \t]*primfn\b)", re.MULTILINE)


def parse(
    text: str,
    source_name: str = "from_string",
    init_module: IRModule | None = None,
    init_meta_table: Mapping[str, Sequence[Any]] | None = None,
) -> IRModule:
    """Parse a text as a module, without types; passes infer them.

    The text of a single expression gives a module that contains it, as
    `IRModule.from_expr` does. `parpass.parser.parse`, which is TVM's, reads the same
    text and also runs InferType.

    Args:
        text: The text; comments are `// ...` and `/* ... */`.
        source_name: The name of the text in diagnostics, such as a file name.
        init_module: A module whose functions the text may call or redefine. The result
            contains them; the module stays unchanged.
        init_meta_table: Constants, under `relay.Constant`. The text refers to them as
            `meta[relay.Constant][0]` and so on, after those in a section of its own.

    Raises:
        ParseError: The text cannot be parsed; the error shows all faults, each with its
            place.
        ArgumentError: The table contains something other than constants.
    """
    known = init_module or IRModule()
    data = data_of_table(init_meta_table or {})
    program, parser = _read(text, source_name, ModuleParser.module, known, data)
    parser.check_global_uses()
    parser.problems.raise_if_any()
    sources = merged_sources(known.sources, {source_name: program})
    attrs = parser.attrs or known.attrs
    if parser.root is None:
        functions = {**known.functions, **parser.functions}
        types = {**known.types.by_name, **parser.definitions_of_types}
        return IRModule.of_closed(functions, attrs, sources, types.values())
    module = IRModule.from_expr(parser.root, known.functions, known.type_definitions)
    module.attrs, module.sources = attrs, sources
    return module


def fromtext(data: str, source_name: str = "from_string") -> IRModule:
    """Parse a text as a module; another name of `parse`."""
    return parse(data, source_name)


def parse_expr(text: str, source_name: str = "from_string") -> Expr:
    """Return the expression of which this is the text.

    Variables that it does not bind are declared before it, `free_var %x: float32;`.

    Raises:
        ParseError: The text cannot be read; it shows all errors, each with its place.
    """
    _, parser = _read(text, source_name, ModuleParser.expression)
    parser.problems.raise_if_any()
    assert parser.root is not None
    return parser.root


def _read(
    text: str,
    source_name: str,
    start: _Start,
    known: IRModule | None = None,
    data: Sequence[NDArray] = (),
) -> tuple[str, ModuleParser]:
    """Return the text without its constants, and what has been read from it.

    Args:
        text: The text.
        source_name: What diagnostics call it.
        start: Reads its first piece.
        known: Has the functions that it may refer to without defining them.
        data: Constants, in addition to those of its own.
    """
    problems = ErrorList(source_name, text)
    program, constants = text, None
    section = text.rfind(f"\n{_SECTION}") + 1
    if text.startswith(_SECTION, section):
        program = text[:section]
        constants = _constants(text, section + len(_SECTION), problems)
    if data:
        constants = [*(constants or ()), *data]
    parser = ModuleParser(problems, constants)
    if known is not None:
        parser.know(known)
    if _TYPE.search(program):
        _read_types(program, parser)
    _read_pieces(program, parser, start)
    return program, parser


def _read_types(text: str, parser: ModuleParser) -> None:
    """Read the definitions of types, which functions may use before they come."""
    found: list[tuple[Chunk, int, list[int]]] = []
    begin, line = 0, 1
    while begin < len(text):
        piece = chunk_at(text, begin)
        parser.enter_chunk(piece, line)
        places = parser.declare_types()
        if places:
            found.append((piece, line, places))
        line += text.count("\n", begin, piece.end)
        begin = piece.end
    for piece, line, places in found:
        parser.enter_chunk(piece, line)
        for at in places:
            parser.read_definition(at)


def _read_pieces(text: str, parser: ModuleParser, start: _Start) -> None:
    """Read a text piece by piece; after an error go on with the next function."""
    begin, line = 0, 1
    while True:
        piece = chunk_at(text, begin)
        parser.enter_chunk(piece, line)
        end = piece.end
        try:
            start(parser)
        except (UnexpectedToken, ParseAborted) as fault:
            at, problems = begin + parser.starts[fault.at], parser.problems
            if isinstance(fault, UnexpectedToken):
                _report(fault, at, parser)
            following = _FUNCTION.search(text, max(at, begin + 1))
            if following is None or problems.is_full:
                return
            end = following.start()
            parser.forget_scopes()
        else:
            if end == len(text):
                return
        line += text.count("\n", begin, end)
        begin, start = end, ModuleParser.definitions


def _report(fault: UnexpectedToken, at: int, parser: ModuleParser) -> None:
    if fault.is_sudden and fault.at:
        parser.problems.withdraw(parser.span(fault.at - 1, fault.at - 1))
    place = parser.problems.span_at(at, fault.length)
    parser.problems.report(place, str(fault))


def _constants(text: str, begin: int, problems: ErrorList) -> list[NDArray]:
    section = text[begin:]
    try:
        return read_section(section)
    except (ValueError, msgspec.DecodeError) as error:
        offset = _BYTE.search(str(error))
        at = begin + (_characters(section, int(offset[1])) if offset else 0)
        message = _BYTE.sub("", str(error)).replace("`", "'")
        problems.report(problems.span_at(at), f"in the constants: {message}")
        return []


def _characters(text: str, count: int) -> int:
    """Return how many characters the first bytes of a text are."""
    return len(text.encode("utf-8", "replace")[:count].decode("utf-8", "ignore"))
