"""Programs of xDSL, drawn and built, and what two of them have to have in common."""

from __future__ import annotations

import math
from io import StringIO
from typing import Any

from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FileLineColLoc,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnregisteredAttr,
    UnregisteredOp,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from parpass.integrations.xdsl.context_spec import ContextSpec

KINDS = [UnregisteredOp.with_name(name) for name in ("a.b", "c.d")]
JUMP = UnregisteredOp.with_name("j.j")
FLOATS = (0.0, -0.0, 1.5, math.inf, math.nan, 5e-324)


def context() -> Context:
    """Return a context that knows what `xdsl-opt` knows, and allows all else."""
    known = ContextSpec.of_universe().context()
    known.allow_unregistered = True
    return known


def parsed(text: str) -> ModuleOp:
    return Parser(context(), text).parse_module()


def generic_text(op: Operation) -> str:
    """Return all that the generic form shows of an operation, with locations."""
    stream = StringIO()
    printer = Printer(stream, print_generic_format=True, print_debuginfo=True)
    printer.print_op(op)
    return stream.getvalue()


def orders_of_use(top: Operation) -> list[Any]:
    """Return where each value and each block is used, in the order of its list."""
    index = {id(op): at for at, op in enumerate(top.walk())}
    defined: list[Any] = []
    for op in top.walk():
        defined += op.results
        for region in op.regions:
            for block in region.blocks:
                defined += [block, *block.args]
    return [[(index[id(u.operation)], u.index) for u in one.uses] for one in defined]


def names(top: Operation) -> list[str | None]:
    """Return the name hints of all values and blocks."""
    found: list[str | None] = []
    for op in top.walk():
        found += [result.name_hint for result in op.results]
        for region in op.regions:
            for block in region.blocks:
                found += [block.name_hint, *(one.name_hint for one in block.args)]
    return found


_types: st.SearchStrategy[Attribute] = st.sampled_from(
    [
        i32,
        i64,
        f32,
        UnregisteredAttr.with_name_and_type("odd.type", True)(
            "odd.type", True, False, "x"
        ),
    ]
)
_leaves: st.SearchStrategy[Attribute] = st.one_of(
    st.sampled_from(FLOATS).map(lambda value: FloatAttr(value, f64)),
    st.integers(-(2**31), 2**31 - 1).map(lambda value: IntegerAttr(value, i64)),
    st.text(max_size=3).map(StringAttr),
    st.sampled_from(["f", "g"]).map(SymbolRefAttr),
    st.integers(0, 2**70).map(IntAttr),
    st.just(DenseArrayBase.from_list(i32, [1, 2])),
)
_attributes = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2).map(ArrayAttr),
        st.dictionaries(st.sampled_from("zab"), inner, max_size=2).map(DictionaryAttr),
    ),
    max_leaves=4,
)
_hints = st.sampled_from([None, None, "x", "y_1"])


class _Builder:
    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.values: list[SSAValue] = []
        self.late: list[Operation] = []  # that use what is defined after them

    def integer(self, most: int) -> int:
        return self.draw(st.integers(0, most))

    def block(self, depth: int) -> Block:
        block = Block(arg_types=self.draw(st.lists(_types, max_size=2)))
        self.values += block.args
        for argument in block.args:
            argument.location = FileLineColLoc(StringAttr("f"), IntAttr(1), IntAttr(2))
        block.name_hint = self.draw(st.sampled_from([None, "then"]))
        for _ in range(self.integer(3)):
            block.add_op(self.op(depth))
        return block

    def op(self, depth: int) -> Operation:
        kind = self.draw(st.sampled_from(KINDS))
        used = [self.integer(99) for _ in range(self.integer(2))] if self.values else []
        made = kind.create(
            operands=[self.values[at % len(self.values)] for at in used],
            result_types=self.draw(st.lists(_types, max_size=2)),
            attributes=self.draw(
                st.dictionaries(st.sampled_from("zab"), _attributes, max_size=2)
            ),
            regions=[self.region(depth - 1) for _ in range(self.integer(1))]
            if depth
            else (),
        )
        for result in made.results:
            hint = self.draw(_hints)
            # As the parser leaves it: without the number at its end.
            result.name_hint = None if hint is None else f"{hint}_7"
        self.values += made.results
        if used and self.integer(3) == 0:
            self.late.append(made)
        return made

    def region(self, depth: int) -> Region:
        blocks = [self.block(depth) for _ in range(1 + self.integer(1))]
        for block in blocks:
            if self.integer(1):
                to = [blocks[self.integer(len(blocks) - 1)] for _ in range(2)]
                block.add_op(JUMP.create(successors=to))
        return Region(blocks)


@st.composite
def modules(draw: Any) -> ModuleOp:
    """Draw modules: forward references, odd orders of use, jumps, inner regions."""
    builder = _Builder(draw)
    ops = [builder.op(2) for _ in range(1 + builder.integer(2))]
    for op in builder.late:
        op.operands[0] = builder.values[builder.integer(len(builder.values) - 1)]
    return ModuleOp(ops)
