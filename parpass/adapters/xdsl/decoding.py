"""Operations from bytes; see `encoding` for what is in them."""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from parpass.adapters.xdsl.attribute_bytes import decoded
from parpass.adapters.xdsl.class_names import named


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
