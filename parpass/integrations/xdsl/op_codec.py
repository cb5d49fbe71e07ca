"""Codec of operations: the same bytes for the same operations, in every process.

A `marshal` of four tables and an array of numbers. The tables are the classes, the
attributes (`attribute_codec`), what operations have in common besides their operands
and successors (*templates*), and names. The array, the *code*, has the operations in
pre-order; values and blocks are numbers, in the order in which they are defined:

    operations  op ... 0
    op          template + 1, operands, successors, blocks of all regions, their
                operations
    blocks      for each region: how many; for each: how many arguments; their types
                and locations

Nothing recurses, so regions may be in each other as deep as they like. The order of the
uses of a value, which rewrites depend on, is encoded where it is not the one that
decoding gives by default.
"""

from __future__ import annotations

import marshal
from array import array
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, Use

from parpass.errors import ArgumentError
from parpass.integrations.xdsl.attribute_codec import (
    VERSION,
    Name,
    decoded,
    encoded,
    name_of_op,
    named,
)


def encode(
    ops: Sequence[Operation],
    instead: Mapping[Operation, Operation] = MappingProxyType({}),
    *,
    tidy: bool = False,
) -> bytes:
    """Return operations, and all that is in them, as bytes.

    They must be closed: use no value and no block of others. That others use their
    values is not written: passes leave such uses when they forget to erase what they
    took out.

    Args:
        ops: The operations.
        instead: What is written in the place of some operations in them.
        tidy: Whether to take such uses out of the operations, too.

    Raises:
        ArgumentError: They are not closed.
    """
    encoder = _Encoder(instead)
    content = encoder.encode(ops)
    if tidy:
        for defined, use in encoder.strays:
            defined.remove_use(use)
    return content


class _Encoder:
    def __init__(self, instead: Mapping[Operation, Operation]) -> None:
        self._instead = instead
        self._code = array("I")
        self._classes: dict[Name, int] = {}
        self._attributes: dict[bytes, int] = {}
        self._by_identity: dict[int, int] = {}  # attributes
        self._templates: dict[Any, int] = {}
        self._templates_by_identity: dict[Any, int] = {}
        self._symbols: set[str] = set()
        self._values: dict[int, int] = {}
        self._blocks: dict[int, int] = {}
        self._defined: list[
            Any
        ] = []  # values and blocks, with how many uses came before
        self._names: list[tuple[int, str]] = []
        self._forward: list[tuple[int, Any, Operation]] = []
        self._first_use: dict[int, int] = {}  # of operations, the number of their first
        self._first_successor: dict[int, int] = {}
        self._uses = 0
        self.strays: list[tuple[Any, Use]] = []

    def encode(self, ops: Sequence[Operation]) -> bytes:
        self._write(ops)
        for at, value, op in self._forward:
            number = self._values.get(id(value))
            if number is None:
                raise _not_closed(op, "a value")
            self._code[at] = number
        return marshal.dumps(
            (
                tuple(sorted(self._symbols)),
                tuple(self._classes),
                tuple(self._attributes),
                tuple(self._templates),
                self._code.tobytes(),
                tuple(self._names),
                tuple(self._orders()),
                len(self._forward) > 0,
            ),
            VERSION,
        )

    def _write(self, ops: Sequence[Operation]) -> None:
        code = self._code
        # Operations that are yet to be written, of blocks that are begun.
        stack = [iter(ops)]
        while stack:
            op = next(stack[-1], None)
            if op is None:
                code.append(0)
                stack.pop()
                continue
            self._op(op)
            if op.regions:
                blocks = [block for region in op.regions for block in region.blocks]
                self._headers(op)
                stack += [self._ops_of(block) for block in reversed(blocks)]

    def _ops_of(self, block: Block) -> Iterator[Operation]:
        instead = self._instead
        if not instead:
            return iter(block.ops)
        return iter([instead.get(op, op) for op in block.ops])

    def _op(self, op: Operation) -> None:
        code, values = self._code, self._values
        operands, successors = tuple(op.operands), tuple(op.successors)
        code.append(self._template(op, len(operands), len(successors)))
        if operands:
            self._first_use[id(op)] = self._uses
            for operand in operands:
                number = values.get(id(operand))
                if number is None:
                    self._forward.append((len(code), operand, op))
                    number = 0
                code.append(number)
            self._uses += len(operands)
        if successors:
            self._first_successor[id(op)] = self._uses
            for block in successors:
                if id(block) not in self._blocks:
                    raise _not_closed(op, "a block")
                code.append(self._blocks[id(block)])
            self._uses += len(successors)
        for result in op.results:
            self._define(result, values)

    def _headers(self, op: Operation) -> None:
        code = self._code
        for region in op.regions:
            blocks = tuple(region.blocks)
            code.append(len(blocks))
            for block in blocks:
                self._define(block, self._blocks)
                code.append(len(block.args))
                for argument in block.args:
                    code.append(self._attribute(argument.type))
                    code.append(self._attribute(argument.location))
                    self._define(argument, self._values)

    def _define(self, defined: Any, numbers: dict[int, int]) -> None:
        numbers[id(defined)] = len(numbers)
        name = defined.name_hint
        if name is not None:
            self._names.append((len(self._defined), name))
        self._defined.append((defined, self._uses))

    def _attribute(self, attribute: Any) -> int:
        number = self._by_identity.get(id(attribute))
        if number is None:
            content, symbols = encoded(attribute)
            number = self._attributes.setdefault(content, len(self._attributes))
            self._by_identity[id(attribute)] = number
            self._symbols.update(symbols)
        return number

    def _template(self, op: Operation, operands: int, successors: int) -> int:
        """Return its number, plus one; found by the identity of what is in it first."""
        properties, attributes = op.properties, op.attributes
        counts = operands, successors, len(op.regions)
        types = [result.type for result in op.results]
        key = (
            type(op),
            counts,
            id(op.location),
            *map(id, types),
            *properties,
            *map(id, properties.values()),
            None,
            *attributes,
            *map(id, attributes.values()),
        )
        number = self._templates_by_identity.get(key)
        if number is None:
            number_of = self._attribute
            template = (
                self._classes.setdefault(name_of_op(op), len(self._classes)),
                tuple(map(number_of, types)),
                tuple((k, number_of(one)) for k, one in properties.items()),
                tuple(
                    (k, number_of(one))
                    for k, one in attributes.items()
                    if k != "op_name__"  # the class has it
                ),
                number_of(op.location),
                counts,
            )
            number = self._templates.setdefault(template, len(self._templates)) + 1
            self._templates_by_identity[key] = number
        return number

    def _orders(self) -> list[tuple[int, tuple[int, ...]]]:
        """Return which values and blocks are used in an odd order, and in which."""
        odd: list[tuple[int, tuple[int, ...]]] = []
        for at, (defined, before) in enumerate(self._defined):
            if defined.first_use is None:
                continue
            is_block = isinstance(defined, Block)
            first = self._first_successor if is_block else self._first_use
            uses: list[int] = []
            for use in defined.uses:
                begin = first.get(id(use.operation))
                if begin is None:
                    self.strays.append((defined, use))
                else:
                    uses.append(begin + use.index)
            if len(uses) < 2:
                continue
            # The last that is linked comes first, and what is used before it is defined
            # is linked when all else is done.
            usual = sorted(uses, key=lambda one: (is_block or one >= before, -one))
            if uses != usual:
                odd.append((at, tuple(map(usual.index, uses))))
        return odd


def _not_closed(op: Operation, what: str) -> ArgumentError:
    return ArgumentError(
        f"operation '{op.name}' uses {what} that is defined outside of what is encoded"
    )


def decode(content: bytes | memoryview) -> list[Operation]:
    """Return the operations of `encode`: new ones, that are in no block."""
    return _Decoder(content).decode()


class _Template(NamedTuple):
    kind: type[Operation]
    types: list[Attribute]
    properties: Mapping[str, Attribute]
    attributes: Mapping[str, Attribute]
    location: Any
    operands: int
    successors: int
    regions: int


class _Decoder:
    def __init__(self, content: bytes | memoryview) -> None:
        _, classes, attributes, templates, code, names, orders, has_forward = (
            marshal.loads(content)
        )
        self._names_of_kinds = classes
        self._kinds = [named(one) for one in classes]
        self._attributes = [decoded(one) for one in attributes]
        self._templates = [self._template(one) for one in templates]
        self._names, self._orders = names, orders
        self._next = iter(memoryview(code).cast("I")).__next__
        self._values: list[SSAValue] = []
        self._blocks: list[Block] = []
        self._defined: list[Any] = []
        self._forward: list[tuple[Operation, int, int]] = []
        # Stands for values that are not defined yet.
        self._unknown: Sequence[SSAValue] = ()
        if has_forward:
            self._unknown = Block(arg_types=self._attributes[:1]).args

    def _template(self, encoded: Any) -> _Template:
        kind, types, properties, attributes, location, counts = encoded
        values, own = self._attributes, {}
        if isinstance(self._names_of_kinds[kind], tuple):
            own["op_name__"] = StringAttr(self._names_of_kinds[kind][1])
        return _Template(
            self._kinds[kind],
            [values[one] for one in types],
            {name: values[one] for name, one in properties},
            {name: values[one] for name, one in attributes} | own,
            values[location],
            *counts,
        )

    def decode(self) -> list[Operation]:
        ops = self._read()
        for op, at, number in self._forward:
            op.operands[at] = self._values[number]
        for number, order in self._orders:
            _put_in_order(self._defined[number], order)
        for number, name in self._names:
            # The property takes a number off the end of a name, which has lost one.
            vars(self._defined[number])["_name"] = name
        return ops

    def _read(self) -> list[Operation]:
        take, templates = self._next, self._templates
        ops: list[Operation] = []
        # Where what is begun goes on: a block, its operations, the blocks after it.
        # Operations are put into a block when they are whole: that is cheap then, as
        # what looks at all around it finds nothing.
        stack: list[tuple[Block, list[Operation], Iterator[Block]]] = []
        outer: list[list[Operation]] = []
        while True:
            number = take()
            if number:
                op = self._op(templates[number - 1])
                ops.append(op)
                blocks = iter([one for region in op.regions for one in region.blocks])
                first = next(blocks, None)
                if first is not None:
                    outer.append(ops)
                    ops = []
                    stack.append((first, ops, blocks))
                continue
            if not stack:
                return ops
            block, ops, blocks = stack.pop()
            block.add_ops(ops)
            following = next(blocks, None)
            if following is None:
                ops = outer.pop()
            else:
                ops = []
                stack.append((following, ops, blocks))

    def _op(self, template: _Template) -> Operation:
        take, values = self._next, self._values
        operands: list[SSAValue] = []
        forward: list[tuple[int, int]] = []
        for at in range(template.operands):
            number = take()
            if number < len(values):
                operands.append(values[number])
            else:
                operands.append(self._unknown[0])
                forward.append((at, number))
        op = template.kind.__new__(template.kind)
        # Not by a constructor of the class, which may have arguments of its own.
        Operation.__init__(
            op,
            operands=operands,
            result_types=template.types,
            properties=template.properties,
            attributes=template.attributes,
            location=template.location,
            successors=[self._blocks[take()] for _ in range(template.successors)],
        )
        values += op.results
        self._defined += op.results
        if forward:
            self._forward += [(op, at, number) for at, number in forward]
        for _ in range(template.regions):
            op.add_region(self._region())
        return op

    def _region(self) -> Region:
        take, attributes = self._next, self._attributes
        blocks: list[Block] = []
        for _ in range(take()):
            pairs = [(attributes[take()], attributes[take()]) for _ in range(take())]
            block = Block(arg_types=[kind for kind, _ in pairs])
            for argument, (_, location) in zip(block.args, pairs, strict=True):
                argument.location = location
            blocks.append(block)
            self._blocks.append(block)
            self._defined += block, *block.args
            self._values += block.args
        return Region(blocks)


def _put_in_order(defined: Any, order: tuple[int, ...]) -> None:
    uses = list(defined.uses)
    for use in uses:
        defined.remove_use(use)
    for at in reversed(order):
        defined.add_use(uses[at])
