"""Programs of MLIR's text, for the command: cut, and parsed by the workers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from parpass.adapters.xdsl.cutting import Cut, Piece, cut
from parpass.adapters.xdsl.modules import XDSLModule, new_place, text_of
from parpass.adapters.xdsl.op_shrinking import DropOperations, operations_in
from parpass.adapters.xdsl.pass_factories import PassFactory as _OfUniverse
from parpass.adapters.xdsl.text_box import FunctionText, TextBox, telling_of_text
from parpass.adapters.xdsl.worker_modules import IR_NAME, SUFFIX
from parpass.adapters.xdsl.xdsl_adapter import XDSLAdapter
from parpass.adapters.xdsl.xdsl_environment import Environment, known_dialects
from parpass.transform import register_adapter
from parpass.transform.textual import Way

_RESOURCES, _RESOURCE = "{-#", "dense_resource"


class MLIRPrograms(XDSLAdapter):
    """Reads MLIR's text as `xdsl-opt` does; operations may be of no known dialect.

    Text is cut into functions, which are parsed by the workers that work on them. What
    cannot be cut is parsed as a whole. Passes print what they make, so what is written
    is the text that `xdsl-opt` writes.
    """

    ir_name = IR_NAME
    suffixes = (SUFFIX,)

    def parse(self, text: str, source_name: str) -> XDSLModule:
        """Return the module of a text, of which functions may not be parsed yet.

        Raises:
            UnreadFunctionError: It cannot be read.
        """
        environment = known_dialects()
        # A context gives resources names that it has not given before, so they are to
        # be parsed in the order of the text.
        has_resources = _RESOURCES in text
        found = None if has_resources or _RESOURCE in text else cut(text)
        if found is None:
            module = _parsed(text, source_name, environment)
            made = XDSLModule.of(module, environment)
        else:
            made = _of_cut(text, found, source_name, environment)
        for box in made.boxes.values():
            box.prints = not has_resources
        return XDSLModule(
            made.boxes,
            made.shell,
            environment,
            is_checked=False,
            has_resources=has_resources,
        )

    def astext(self, mod: XDSLModule, *, show_meta_data: bool = True) -> str:
        """Return a module as text."""
        return text_of(mod)

    def ways(self) -> Sequence[Way]:
        """Return how a module gets smaller, besides by fewer functions."""
        return [DropOperations()]

    def module_size(self, mod: XDSLModule) -> tuple[int, ...]:
        """Return the number of functions, and of all operations in them."""
        return len(mod.boxes), sum(map(operations_in, mod.boxes.values()))


def _parsed(text: str, source_name: str, environment: Environment) -> ModuleOp:
    with telling_of_text():
        return Parser(environment.context(), text, source_name).parse_module()


def _of_cut(
    text: str, found: Cut, source_name: str, environment: Environment
) -> XDSLModule:
    aliases = text[slice(*found.aliases)]
    boxes: dict[str, TextBox] = {}
    line, counted = 1, 0
    for piece in found.pieces:
        line, counted = line + text.count("\n", counted, piece.begin), piece.begin
        if piece.name:
            source = _source(text, piece, aliases, line, source_name)
            boxes[piece.name] = TextBox(source, environment)
    others = [text[one.begin : one.end] if not one.name else "" for one in found.pieces]
    if not any(others):  # nothing but functions: their order is that of the mapping
        inside = ""
    else:
        inside = "\n".join(
            other or str(new_place(piece.name))
            for piece, other in zip(found.pieces, others, strict=True)
        )
    head, tail = found.head or "builtin.module {", found.tail or "}"
    frame = f"{aliases}\n{head}\n{inside}\n{tail}"
    made = XDSLModule.of(_parsed(frame, source_name, environment), environment, boxes)
    if inside:
        return made
    return XDSLModule(boxes, made.shell, environment)


def _source(
    text: str, piece: Piece, aliases: str, line: int, source_name: str
) -> FunctionText:
    begin, end = (at - piece.begin for at in piece.body)
    whole = text[piece.begin : piece.end]
    column = piece.begin - text.rfind("\n", 0, piece.begin)
    return FunctionText(aliases, whole, (begin, end), line, column, source_name)


register_adapter(XDSLModule, MLIRPrograms(), passes_in=["parpass.adapters.xdsl"])
_ = _OfUniverse  # what it is imported from registers them
