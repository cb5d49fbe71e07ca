"""The codec of operations: by tables and numbers, or as text for other xDSL releases.

`op_codec` depends on the structure of operations in the releases of xDSL on which it
was tested. Under other releases operations are encoded as generic text, which is
correct wherever xDSL parses what it prints, and takes some thirty times as long; the
order of uses is that of a program that was parsed.
"""

from __future__ import annotations

import functools
import marshal
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from io import StringIO
from types import MappingProxyType

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from parpass.errors import SlowerRunWarning
from parpass.integrations.xdsl.attribute_codec import VERSION
from parpass.integrations.xdsl.context_spec import ContextSpec
from parpass.integrations.xdsl.op_codec import decode as from_bytes
from parpass.integrations.xdsl.op_codec import encode as to_bytes
from parpass.spi import check_version

TESTED = "0.74.0", "0.75.0"

_TEXT = b"T"  # what marshal does not begin with
_SYMBOL = re.compile(r'@(?:([\w$.-]+)|"([^"]*)")')


@functools.cache
def is_tested() -> bool:
    """Return whether this release is one that was tested; warn once if it is not."""
    return check_version(
        "xdsl",
        version("xdsl"),
        TESTED,
        "functions travel as text, which takes longer",
        SlowerRunWarning,
    )


def encode(
    ops: Sequence[Operation],
    instead: Mapping[Operation, Operation] = MappingProxyType({}),
    *,
    tidy: bool = False,
) -> bytes:
    """Return operations, and all that is in them, as bytes; see `encoding.encode`."""
    if is_tested():
        return to_bytes(ops, instead, tidy=tidy)
    values: dict[SSAValue, SSAValue] = {}
    copies = [_copy(op, instead, values) for op in ops]
    stream = StringIO()
    printer = Printer(stream, print_generic_format=True, print_debuginfo=True)
    printer.print_op(ModuleOp(copies))
    text = stream.getvalue()
    return _TEXT + marshal.dumps((symbols_in_text(text), text), VERSION)


def _copy(
    op: Operation,
    instead: Mapping[Operation, Operation],
    values: dict[SSAValue, SSAValue],
) -> Operation:
    if not instead:
        return op.clone(values)
    copy = op.clone_without_regions(values)
    inner = [instead[one] if one in instead else one.clone(values) for one in _in(op)]
    copy.regions[0].add_block(Block(inner))
    return copy


def _in(op: Operation) -> list[Operation]:
    return [inner for block in op.regions[0].blocks for inner in block.ops]


def decode(content: bytes) -> list[Operation]:
    """Return the operations from `encode`: new ones, that are in no block."""
    if not content.startswith(_TEXT):
        return from_bytes(content)
    context = ContextSpec.of_universe().context()
    context.allow_unregistered = True
    _, text = marshal.loads(content[1:])
    ops = list(Parser(context, text).parse_module().ops)
    for op in ops:
        op.detach()
    return ops


def symbols_in(content: bytes) -> tuple[str, ...]:
    """Return the names that encoded operations refer to, and perhaps some more."""
    head = content[1:] if content.startswith(_TEXT) else content
    return marshal.loads(head)[0]


def symbols_in_text(text: str) -> tuple[str, ...]:
    """Return the names that the operations of a text refer to, and perhaps more."""
    return tuple(sorted({name or quoted for name, quoted in _SYMBOL.findall(text)}))
