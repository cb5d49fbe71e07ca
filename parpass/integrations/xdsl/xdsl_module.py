"""Modules of xDSL as values: their functions as boxes, and all else as one more.

What has a symbol and stands by itself is in a box under its name. Where there is
anything else in a module, such as operations without a name, that is a box too: the
module, in which the others have their places marked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from types import MappingProxyType

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnregisteredOp
from xdsl.ir import Block, Operation
from xdsl.irdl import IRDLOperation, attr_def, irdl_op_definition
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove

from parpass.errors import ArgumentError
from parpass.integrations.xdsl.context_spec import ContextSpec
from parpass.integrations.xdsl.owned_ops import OwnedOps, is_isolated, symbol_of
from parpass.integrations.xdsl.xdsl_codec import decode, encode

# The name of the box with all that is in no other one. No symbol may be called so.
REST = "builtin.module"

_PLACE = "parpass.place"  # an operation that marks where those of a box are
_PlaceOp = UnregisteredOp.with_name(_PLACE)


@irdl_op_definition
class ParsedPlaceOp(IRDLOperation):
    """A place in a text that is parsed where only known operations are allowed."""

    name = _PLACE
    function = attr_def(StringAttr, attr_name="name")


_PRINTED_PLACE = re.compile(
    rf'^( *)"{re.escape(_PLACE)}"\(\) \{{name = ""\}} : \(\) -> \(\)', re.MULTILINE
)


@dataclass(frozen=True)
class XDSLModule:
    """A module of xDSL, as passes see it.

    Attributes:
        functions: Its functions, and whatever else has a name, in boxes, in order.
        shell: The module without anything in it, as bytes.
        environment: The dialects that are known.
        is_checked: Whether it is valid, as passes expect it to be; else it is verified
            before the first of them.
        has_resources: Whether its text ended with what its attributes name, dialect
            resources, which xDSL keeps in the process that has parsed it.
    """

    functions: Mapping[str, OwnedOps] = field(default_factory=dict[str, OwnedOps])
    shell: bytes = b""
    environment: ContextSpec = field(default_factory=ContextSpec)
    is_checked: bool = True
    has_resources: bool = False

    @staticmethod
    def of(
        module: ModuleOp,
        environment: ContextSpec,
        placed: Mapping[str, OwnedOps] = MappingProxyType({}),
    ) -> XDSLModule:
        """Return a module as owned operations, which are read from it on first use.

        Args:
            module: The module.
            environment: The dialects that are known.
            placed: Boxes of which there are places in the module, by name.
        """
        boxes: dict[str, OwnedOps] = {}
        names = dict(_named(module))
        shell = module.clone_without_regions()
        if len(names) < len(tuple(module.ops)) or module.body.block.args:
            boxes[REST] = OwnedOps(content=_rest(module, names))
        for op, name in names.items():
            boxes[name] = placed[name] if name in placed else OwnedOps.of(op)
        return XDSLModule(boxes, encode([shell]), environment)

    def to_op(self) -> ModuleOp:
        """Return a new module with all of it."""
        module = self.frame()
        block = module.body.block
        given = list(block.ops)
        for op in given:
            op.detach()
        block.add_ops(merged(self, [place_of(op) or op for op in given]))
        return module

    def frame(self) -> ModuleOp:
        """Return a new module with all that is in no box of its own, and places."""
        rest = self.functions.get(REST)
        if rest is None:
            return empty_module(self.shell)
        [op] = decode(rest.content)
        assert isinstance(op, ModuleOp)
        return op

    def __str__(self) -> str:
        return text_of(self)


def _printed(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream).print_op(module)
    return stream.getvalue() + "\n"


def text_of(mod: XDSLModule, printed: Callable[[ModuleOp], str] = _printed) -> str:
    """Return the text of a module, of functions as they were printed by workers.

    Args:
        mod: The module.
        printed: Returns the text of a module that is printed here.
    """
    if mod.has_resources:
        stream = StringIO()
        printer = Printer(stream)
        printer.print_op(mod.to_op())
        context = mod.environment.context()
        for name in context.registered_dialect_names:
            context.get_dialect(name)
        printer.print_metadata(context.loaded_dialects)
        return stream.getvalue() + "\n"
    boxes = {name: box for name, box in mod.functions.items() if name != REST}
    frame = mod.frame()
    block = frame.body.block
    if not (all(box.is_one for box in boxes.values()) and _has_no_names(block)):
        return printed(mod.to_op())
    known = [place_of(op) for op in block.ops]
    block.add_ops([new_place(name) for name in boxes if name not in known])
    texts = [boxes[name].text for op in block.ops if (name := place_of(op))]
    for op in block.ops:
        if place_of(op):
            op.attributes["name"] = StringAttr("")
    remaining = iter(texts)

    def text(found: re.Match[str]) -> str:
        return next(remaining).replace("\n", f"\n{found[1]}").join((found[1], ""))

    return _PRINTED_PLACE.sub(text, printed(frame))


def _has_no_names(block: Block) -> bool:
    """Return whether all names of values in a module are those of functions alone."""
    return not block.args and all(
        not op.results
        and (
            not op.regions
            or op.has_trait(IsolatedFromAbove, value_if_unregistered=False)
        )
        for op in block.ops
    )


def empty_module(shell: bytes) -> ModuleOp:
    """Return a new module, with what it has besides operations."""
    [op] = decode(shell)
    assert isinstance(op, ModuleOp)
    op.regions[0].add_block(Block())
    return op


def _named(module: ModuleOp) -> Iterator[tuple[Operation, str]]:
    """Yield the operations that are in boxes of their own, with their names."""
    seen: set[str] = {REST}
    for op in module.ops:
        name = place_of(op) or symbol_of(op)
        if name is not None and name not in seen and is_isolated(op):
            seen.add(name)
            yield op, name


def _rest(module: ModuleOp, names: Mapping[Operation, str]) -> bytes:
    return encode([module], {op: new_place(name) for op, name in names.items()})


def new_place(name: str) -> Operation:
    """Return a mark for the place of the box of a name."""
    return _PlaceOp.create(attributes={"name": StringAttr(name)})


def place_of(op: Operation) -> str | None:
    """Return the name of the box whose place an operation marks, if it does."""
    is_unregistered = isinstance(op, UnregisteredOp) and op.op_name.data == _PLACE
    if is_unregistered or isinstance(op, ParsedPlaceOp):
        name = op.attributes["name"]
        assert isinstance(name, StringAttr)
        return name.data
    return None


def merged(
    mod: XDSLModule,
    rest: Sequence[Operation | str],
    kept: Mapping[str, Operation] = MappingProxyType({}),
) -> list[Operation]:
    """Return the operations of a module in order, each where its place is.

    What a pass added to a function, such as the declaration of what it calls now, comes
    after all others, and once if several functions have the same.

    Args:
        mod: The module.
        rest: What is in no box, and the names of boxes at their places; those that
            have none follow.
        kept: Operations to be used for some boxes.

    Raises:
        ArgumentError: Two functions have additions of one name that differ.
    """
    own: dict[str, list[Operation]] = {}
    added: dict[object, tuple[str, Operation]] = {}
    for name, box in mod.functions.items():
        if name == REST:
            continue
        ops = [kept[name]] if name in kept else box.take()
        own[name] = list(ops[:1])
        for op in ops[1:]:
            _add(op, name, added)
    order: list[Operation] = []
    for op in rest:
        order += own.pop(op, ()) if isinstance(op, str) else [op]
    order += [op for ops in own.values() for op in ops]
    known = {symbol_of(op) for op in order}
    return order + [op for name, (_, op) in added.items() if name not in known]


def _add(
    op: Operation, function: str, added: dict[object, tuple[str, Operation]]
) -> None:
    name = symbol_of(op)
    first = added.setdefault(name or op, (function, op))
    if first[1] is not op and encode([first[1]]) != encode([op]):
        raise ArgumentError(
            f"a pass added '{name}' for function '{first[0]}' and another '{name}' for "
            f"function '{function}'; such a pass is to be run on whole modules"
        )
