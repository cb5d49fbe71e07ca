"""The module adapter of xDSL's modules, and the format of MLIR's text.

The command cuts a text into functions, which the workers parse.
"""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from parpass.integrations.xdsl.context_spec import ContextSpec, known_dialects
from parpass.integrations.xdsl.owned_ops import (
    FunctionText,
    OwnedOps,
    UnparsedOps,
    locate_parse_errors,
    pack_ops,
    unpack_ops,
)
from parpass.integrations.xdsl.pass_factories import PassFactory as _OfUniverse
from parpass.integrations.xdsl.splitter import TopLevelOp, split_module
from parpass.integrations.xdsl.xdsl_module import (
    ParsedPlaceOp,
    XDSLModule,
    new_place,
    text_of,
)
from parpass.integrations.xdsl.xdsl_passes import Verify
from parpass.integrations.xdsl.xdsl_plugin import MLIR
from parpass.integrations.xdsl.xdsl_reductions import DropOperations, operations_in
from parpass.spi import ReductionPattern, first_difference
from parpass.transform import (
    BlobSink,
    ModuleAdapter,
    Pass,
    Source,
    register_adapter,
)

_VERIFY = Verify()


class XDSLAdapter(ModuleAdapter):
    """Handles `XDSLModule`s; see `parpass.transform.ModuleAdapter` for the methods."""

    module_type = XDSLModule
    function_type = OwnedOps
    mutability = None  # boxes are values: what a pass changes is its own

    def size(self, function: OwnedOps, limit: int) -> int:
        """Return about how many operations there are, by the number of bytes."""
        return min(function.size, limit)

    def signature(self, function: OwnedOps) -> bytes:
        """Return the function without its body."""
        return function.signature

    def difference(self, before: OwnedOps, after: OwnedOps) -> str | None:
        """Return the first line in which the texts of two functions differ."""
        if before == after:
            return None
        in_text = first_difference(before.text, after.text)
        return in_text or "what texts do not show: locations, or the order of uses"

    def restoring_pass(self, kind: str) -> Pass:
        """Return what verifies a function."""
        return _VERIFY

    def encode_function(self, function: OwnedOps, blob_sink: BlobSink) -> bytes:
        """Return a box as bytes."""
        return pack_ops(function)

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: XDSLModule
    ) -> OwnedOps:
        """Return a box from bytes; its operations are made when a pass takes them."""
        return unpack_ops(encoded, mod.environment)

    def worker_environment(self, mod: XDSLModule) -> Context:
        """Return what passes ask for dialects, which takes a while to load."""
        return mod.environment.context()

    def encode_shell(self, mod: XDSLModule) -> bytes:
        """Return all but the boxes as bytes."""
        fields = mod.shell, mod.environment, mod.is_checked, mod.has_resources
        return pickle.dumps(fields, protocol=5)

    def decode_shell(self, encoded: bytes) -> XDSLModule:
        """Return a module without boxes."""
        return XDSLModule({}, *pickle.loads(encoded))  # written by a coordinator


_RESOURCES, _RESOURCE = "{-#", "dense_resource"


class MLIRFormat(XDSLAdapter):
    """Reads MLIR's text as `xdsl-opt` does; operations may be of no known dialect.

    Text is cut into functions, which are parsed by the workers that work on them. What
    cannot be cut is parsed as a whole. Passes print what they make, so what is written
    is the text that `xdsl-opt` writes.
    """

    ir_name = MLIR.name
    suffixes = MLIR.suffixes

    def parse(self, text: str, source_name: str) -> XDSLModule:
        """Return the module of a text, of which functions may not be parsed yet.

        Raises:
            UnreadFunctionError: It cannot be read.
        """
        environment = known_dialects()
        # A context gives resources names that it has not given before, so they are to
        # be parsed in the order of the text.
        has_resources = _RESOURCES in text
        is_whole = has_resources or _RESOURCE in text
        made = None if is_whole else cut(text, source_name, environment)
        if made is None:
            module = _parsed(text, source_name, environment)
            made = XDSLModule.of(module, environment)
        for box in made.functions.values():
            box.prints = not has_resources
        return dataclasses.replace(made, is_checked=False, has_resources=has_resources)

    def astext(self, mod: XDSLModule, *, show_meta_data: bool = True) -> str:
        """Return a module as text."""
        return text_of(mod)

    def reduction_patterns(self) -> Sequence[ReductionPattern]:
        """Return how a module gets smaller, besides by fewer functions."""
        return [DropOperations()]

    def module_size(self, mod: XDSLModule) -> tuple[int, ...]:
        """Return the number of functions, and of all operations in them."""
        return len(mod.functions), sum(map(operations_in, mod.functions.values()))


def _parsed(text: str, source_name: str, environment: ContextSpec) -> ModuleOp:
    context = environment.context()
    context.load_op(ParsedPlaceOp)
    with locate_parse_errors():
        return Parser(context, text, source_name).parse_module()


def cut(text: str, source_name: str, environment: ContextSpec) -> XDSLModule | None:
    """Return the module of a text, of which functions are text, and not checked.

    Returns:
        None if it cannot be cut, and is to be parsed as a whole.

    Raises:
        UnreadFunctionError: What is outside of functions cannot be read.
    """
    found = split_module(text)
    if found is None:
        return None
    aliases = text[slice(*found.aliases)]
    boxes: dict[str, UnparsedOps] = {}
    line, counted = 1, 0
    for piece in found.pieces:
        line, counted = line + text.count("\n", counted, piece.begin), piece.begin
        if piece.name:
            source = _source(text, piece, aliases, line, source_name)
            boxes[piece.name] = UnparsedOps(source, environment)
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
    made = dataclasses.replace(made, is_checked=False)
    return made if inside else dataclasses.replace(made, functions=boxes)


def _source(
    text: str, piece: TopLevelOp, aliases: str, line: int, source_name: str
) -> FunctionText:
    begin, end = (at - piece.begin for at in piece.body)
    whole = text[piece.begin : piece.end]
    column = piece.begin - text.rfind("\n", 0, piece.begin)
    return FunctionText(aliases, whole, (begin, end), line, column, source_name)


register_adapter(XDSLModule, MLIRFormat(), passes_in=["parpass.integrations.xdsl"])
_ = _OfUniverse  # what it is imported from registers them
