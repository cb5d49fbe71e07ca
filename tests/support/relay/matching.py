"""Hypothesis strategies for programs with lists, matches and references.

References are bound by `let`s, as is whatever reads or writes one, so that all of it
has one order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from parpass.ir.adt import Constructor, GlobalTypeVar, TypeData
from parpass.ir.module import IRModule
from parpass.ir.types import FuncType, RelayRefType, TupleType, Type, TypeVar
from parpass.relay.adt import (
    Clause,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
)
from parpass.relay.expr import (
    Call,
    Expr,
    GlobalVar,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
)
from tests.support.relay.adts import CONS, LIST, LIST_DATA, NIL
from tests.support.relay.programs import TENSORS, EffectfulWriter, Step, Typed

B = TypeVar("B")
EITHER = GlobalTypeVar("Either")
LEFT = Constructor("Left", (B,), EITHER)
RIGHT = Constructor("Right", (LIST(B),), EITHER)
EITHER_DATA = TypeData(EITHER, (B,), (LEFT, RIGHT))


@st.composite
def matching_modules(draw: st.DrawFn) -> IRModule:
    """Give modules of functions over tensors that match and refer inside."""
    module = IRModule(type_definitions={LIST: LIST_DATA, EITHER: EITHER_DATA})
    callees: list[tuple[GlobalVar, FuncType]] = []
    for number in range(draw(st.integers(1, 3))):
        function = MatchWriter(draw, callees).function(depth=1)
        if draw(st.booleans()):
            function = function.with_attr("Inline", 1)
        name = GlobalVar(f"f{number}")
        module[name] = function
        assert function.annotated_type is not None
        callees.append((name, function.annotated_type))
    return module


@dataclass
class MatchWriter(EffectfulWriter):
    """Writes one function that makes and matches values, and refers to some."""

    items: Sequence[Type] = field(default_factory=lambda: TENSORS[:5])

    def steps(self, values: Sequence[Typed], depth: int) -> list[Step]:
        steps = [self.unary, self.binary, self.list_, self.either, self.reference]
        steps.append(self.let_in_place)
        if any(isinstance(type_, RelayRefType) for _, type_ in values):
            steps += [self.read, self.write]
        if depth:
            steps += [self.match_, self.match_, self.if_, self.closure_call]
        if self.callees:
            steps.append(self.global_call)
        return steps

    def list_(self, values: Sequence[Typed], _depth: int) -> Typed:
        item = self.draw(st.sampled_from(self.items))
        made: Expr = Call(NIL, (), None, (item,))
        for _ in range(self.draw(st.integers(0, 2))):
            made = Call(CONS, (self.value(item, values), made))
        return made, LIST(item)

    def either(self, values: Sequence[Typed], depth: int) -> Typed:
        if self.draw(st.booleans()):
            item = self.draw(st.sampled_from(self.items))
            return Call(LEFT, (self.value(item, values),)), EITHER(item)
        made, type_ = self.list_(values, depth)
        return Call(RIGHT, (made,)), EITHER(*type_.parts[1:])

    def reference(self, values: Sequence[Typed], _depth: int) -> Typed:
        item = self.draw(st.sampled_from(self.items))
        return RefCreate(self.value(item, values)), RelayRefType(item)

    def _ref(self, values: Sequence[Typed]) -> tuple[Expr, Type]:
        found = [it for it in values if isinstance(it[1], RelayRefType)]
        ref, type_ = self.draw(st.sampled_from(found))
        return ref, type_.parts[0]

    def read(self, values: Sequence[Typed], _depth: int) -> Typed:
        ref, item = self._ref(values)
        return RefRead(ref), item

    def write(self, values: Sequence[Typed], _depth: int) -> Typed:
        ref, item = self._ref(values)
        return RefWrite(ref, self.value(item, values)), TupleType(())

    def match_(self, values: Sequence[Typed], depth: int) -> Typed:
        """Return a match of a list, an `Either`, or a pair with one."""
        make = self.draw(st.sampled_from([self.list_, self.either]))
        data, of = make(values, depth)
        known = [it for it in values if it[1] == of]
        if known and self.draw(st.booleans()):
            data, of = self.draw(st.sampled_from(known))
        is_pair = self.draw(st.booleans())
        result = self.any_type()
        heads = (CONS, NIL) if of.parts[0] == LIST else (LEFT, RIGHT)
        clauses: list[Clause] = []
        if self.draw(st.booleans()):
            heads = heads[::-1]
        for head in heads:
            inner, bound = self._pattern(head, of.parts[1])
            pattern: Pattern = inner
            if is_pair:
                pattern = PatternTuple([PatternWildcard(), inner])
            body = self.block([*values, *bound], result, depth - 1)
            clauses.append(Clause(pattern, body))
        if is_pair:
            data = Tuple((data, data))
        return Match(data, clauses), result

    def _pattern(self, head: Constructor, item: Type) -> tuple[Pattern, list[Typed]]:
        types = {CONS: [item, LIST(item)], NIL: [], LEFT: [item], RIGHT: [LIST(item)]}
        inside: list[Pattern] = []
        bound: list[Typed] = []
        for type_ in types[head]:
            if self.draw(st.integers(0, 3)) == 0:
                inside.append(PatternWildcard())
                continue
            var = self.variable(type_)
            inside.append(PatternVar(var))
            bound.append((var, type_))
        return PatternConstructor(head, inside), bound
