"""A solver of types to which relations are given one by one: TVM's TypeSolver."""

from __future__ import annotations

from collections import deque
from functools import partial

from parpass.errors import IRTypeError
from parpass.ir.type_constraint import TypeRelation
from parpass.ir.types.ty import Type
from parpass.relay.typing.solver import TypeSolver


class ConstraintSolver:
    """Unifies types, and calls relations until they say nothing more.

    It is the reporter of the relations: what they assign is unified.
    """

    def __init__(self) -> None:
        self._types = TypeSolver()
        self._waiting: deque[TypeRelation] = deque()
        self._open: dict[int, TypeRelation] = {}

    def add_constraint(self, relation: TypeRelation) -> None:
        """Take down a relation that types must stand in.

        Raises:
            IRTypeError: It has no function.
        """
        if relation.func is None:
            raise IRTypeError(f"expected a function of relation {relation}, got None")
        self._waiting.append(relation)

    def solve(self) -> bool:
        """Call the relations as long as more is learnt; return whether all are solved.

        Raises:
            IRTypeError: Types cannot stand in a relation.
        """
        while self._waiting:
            relation = self._waiting.popleft()
            args = [self._types.resolve(typ) for typ in relation.args]
            assert relation.func is not None
            is_solved = relation.func(args, relation.num_inputs, relation.attrs, self)
            if not is_solved:
                self._open[id(relation)] = relation
                unknowns = self._types.unknowns_in(args)
                self._types.watch(unknowns, partial(self._reopen, relation))
        return not self._open

    def _reopen(self, relation: TypeRelation) -> None:
        if self._open.pop(id(relation), None) is not None:
            self._waiting.append(relation)

    def assign(self, dst: Type, src: Type) -> None:
        """Say that two types are one, for relations.

        Raises:
            IRTypeError: They are not.
        """
        self.unify(dst, src)

    def unify(self, one: Type, other: Type) -> Type:
        """Return the type of what is of both types, as far as it is known.

        Raises:
            IRTypeError: There is no such type.
        """
        found = self._types.unify(one, other)
        if found is None:
            raise IRTypeError(f"expected types that can be one, got {one} and {other}")
        return self._types.resolve(found)

    def resolve(self, typ: Type) -> Type:
        """Return a type with all that is known of its parts."""
        return self._types.resolve(typ)
