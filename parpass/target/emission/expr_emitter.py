"""The expressions of loop programs as instructions: the result of each is its value.

An expression that is shared is computed once where it is in force: until the next
statement, and outside of what is only perhaps computed. Nothing recurses.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from parpass.errors import CodeGenError
from parpass.ir.node import Node, breadth_first
from parpass.ir.node.tree_size import MAX_COPIES, check_copies
from parpass.target.emission import binary_operators, intrinsic_calls, memory_access
from parpass.target.emission.binary_operators import converted
from parpass.target.emission.function_writer import (
    FunctionWriter,
    constant,
    llvm_type,
    memory_type,
)
from parpass.target.emission.kernel_parameters import KernelParameters
from parpass.target.emission.memory_access import Access
from parpass.target.vector_registers import LONGEST_STRIDE
from parpass.tir.data_type import data_type
from parpass.tir.expr import (
    BinaryOpExpr,
    Broadcast,
    Buffer,
    Call,
    Cast,
    CmpExpr,
    FloatImm,
    IntImm,
    Let,
    Load,
    Not,
    PrimExpr,
    Ramp,
    Select,
    Shuffle,
    StringImm,
    Var,
    is_true,
)
from parpass.tir.stmt_expr_functor import StmtExprFunctor


class ExprEmitter(StmtExprFunctor[str]):
    """Writes the instructions that compute expressions.

    Attributes:
        writer: Writes them.
        params: What the function takes.
        at: The node that is being written, for messages.
        result: The dtype of what the function gives; empty if it gives nothing.
    """

    def __init__(
        self, writer: FunctionWriter, params: KernelParameters, at: Any
    ) -> None:
        super().__init__()
        self.writer, self.params, self.at = writer, params, at
        self.result = ""
        self._values = params.values
        self._result_at = ""
        self._root = at
        self._forgotten, self._most_forgotten = 0, MAX_COPIES

    def _of(self, node: Node) -> Generator[Node, str, str]:
        """Return the value of a node, for methods that are generators."""
        return (yield node)

    def visit_default(self, expr: Any) -> str:
        """Return what operators of two operands compute."""
        if isinstance(expr, BinaryOpExpr):
            a, b = self.visit(expr.a), self.visit(expr.b)
            return binary_operators.computed(self.writer, expr, a, b)
        if isinstance(expr, CmpExpr):
            a, b = self.visit(expr.a), self.visit(expr.b)
            return binary_operators.compared(self.writer, expr, a, b)
        hint = "; run FlattenBuffer first" if "Buffer" in type(expr).__name__ else ""
        raise CodeGenError(f"a {type(expr).__name__} cannot be compiled{hint}")

    def visit_var_(self, op: Var) -> str:
        """Return a variable's value."""
        if op.dtype == "handle":
            self._write_to(op)  # whoever has the pointer may do so
        return self._value_of(op)

    def _value_of(self, var: Var) -> str:
        found = self._values.get(var)
        if found is None:
            raise CodeGenError(f"expected a bound variable, got '{var.name}'")
        return found

    def _write_to(self, var: Var) -> None:
        argument = self.params.arguments.get(var)
        if argument is not None:
            self.params.written.add(argument)

    def visit_int_imm_(self, op: IntImm) -> str:
        """Return a constant."""
        return constant(op.value, op.dtype)

    def visit_float_imm_(self, op: FloatImm) -> str:
        """Return a constant."""
        return constant(op.value, op.dtype)

    def visit_string_imm_(self, op: StringImm) -> str:
        """Return the string, for the call that has it among its arguments."""
        return op.value

    def visit_cast_(self, op: Cast) -> str:
        """Return a value in another dtype."""
        value = self.visit(op.value)
        return converted(self.writer, value, op.value.dtype, op.dtype)

    def visit_not_(self, op: Not) -> str:
        """Return the opposite."""
        true = constant(True, op.dtype)
        return self.writer.value(
            f"xor {llvm_type(op.dtype)} {self.visit(op.a)}, {true}"
        )

    def visit_and_(self, op: Any) -> Any:
        """Return whether both hold; the second is looked at only if needed."""
        return (yield from self._logical(op, is_and=True))

    def visit_or_(self, op: Any) -> Any:
        """Return whether one holds; the second is looked at only if needed."""
        return (yield from self._logical(op, is_and=False))

    def _logical(self, op: Any, *, is_and: bool) -> Generator[Node, str, str]:
        writer = self.writer
        a = yield from self._of(op.a)
        if data_type(op.dtype).lanes > 1:
            b = yield from self._of(op.b)
            word = "and" if is_and else "or"
            return writer.value(f"{word} {llvm_type(op.dtype)} {a}, {b}")
        other, end, before = writer.new_label("other"), writer.new_label("end"), ""
        before = writer.block
        writer.branch(a, *((other, end) if is_and else (end, other)))
        writer.begin(other)
        b = yield from self._perhaps(op.b)
        behind = writer.block
        writer.jump(end)
        writer.begin(end)
        decided = "false" if is_and else "true"
        return writer.phi("bool", (decided, before), (b, behind))

    def _perhaps(self, expr: PrimExpr) -> Generator[Node, str, str]:
        """Return a value that is computed in a block of its own.

        What was computed before is to be had there; what is computed there is forgotten
        behind it, last first.
        """
        known = self.memo_map
        before = len(known)
        value = yield from self._of(expr)
        self._count_forgotten(len(known) - before)
        while len(known) > before:
            known.popitem()
        return value

    def _apart(self, expr: PrimExpr) -> Generator[Node, str, str]:
        """Return a value that has nothing in common with what was computed before."""
        outside, self.memo_map = self.memo_map, {}
        value = yield from self._of(expr)
        self._count_forgotten(len(self.memo_map))
        self.memo_map = outside
        return value

    def _count_forgotten(self, count: int) -> None:
        """Count nodes that are computed again where they are used again.

        Raises:
            SizeLimitError: There are too many of them.
        """
        self._forgotten += count
        if self._forgotten > self._most_forgotten:
            nodes = len(breadth_first(self._root))
            self._most_forgotten = nodes + MAX_COPIES
            check_copies(
                self._forgotten - nodes,
                "values that are only perhaps computed, counted wherever they are,",
                "bind expressions that are used often, with tir.LetStmt",
            )

    def visit_select_(self, op: Select) -> str:
        """Return one of two values, lane by lane."""
        condition, a, b = map(self.visit, (op.condition, op.true_value, op.false_value))
        kind, mask = llvm_type(op.dtype), llvm_type(op.condition.dtype)
        return self.writer.value(f"select {mask} {condition}, {kind} {a}, {kind} {b}")

    def visit_let_(self, op: Let) -> Any:
        """Return a value that uses a variable."""
        value = yield from self._of(op.value)
        is_known = op.var in self._values
        self._values[op.var] = value
        if is_known:  # what is remembered of it is of another value
            return (yield from self._apart(op.body))
        return (yield from self._of(op.body))

    def visit_ramp_(self, op: Ramp) -> str:
        """Return a vector of steps."""
        base, stride = self.visit(op.base), self.visit(op.stride)
        kind, one = llvm_type(op.dtype), llvm_type(op.base.dtype)
        steps = ", ".join(f"{one} {at}" for at in range(op.lanes))
        first = self.writer.repeated(base, op.dtype)
        by = self.writer.repeated(stride, op.dtype)
        more = self.writer.value(f"mul {kind} {by}, <{steps}>")
        return self.writer.value(f"add {kind} {first}, {more}")

    def visit_broadcast_(self, op: Broadcast) -> str:
        """Return a vector of one value."""
        return self.writer.repeated(self.visit(op.value), op.dtype)

    def visit_shuffle_(self, op: Shuffle) -> str:
        """Return a vector of chosen lanes."""
        number = sum(data_type(one.dtype).lanes for one in op.vectors)
        places: list[int] = []
        for index in op.indices:
            at = index.value if isinstance(index, IntImm) else -1
            if not 0 <= at < number:
                raise CodeGenError(
                    f"expected constants from 0 to below {number} for the indices "
                    f"of Shuffle, got {index!r:.40}"
                )
            places.append(at)
        values = [self.visit(one) for one in op.vectors]
        dtypes = [one.dtype for one in op.vectors]
        is_of_two = len(values) <= 2 and len({*dtypes}) == 1 and number > len(values)
        if is_of_two and len(places) > 1:
            return self.writer.shuffled(values, dtypes[0], places)
        lanes = [
            lane
            for value, dtype in zip(values, dtypes, strict=True)
            for lane in self.writer.lanes_of(value, dtype)
        ]
        return self.writer.vector_of([lanes[at] for at in places], op.dtype)

    def visit_load_(self, op: Load) -> Any:
        """Return what is in memory."""
        place = yield from self._place(op)
        return memory_access.load(self.writer, op.dtype, place)

    def _place(self, op: Any) -> Generator[Node, str, Access]:
        pointer = self._value_of(op.buffer_var)
        mask = None
        if not is_true(op.predicate):
            mask = yield from self._of(op.predicate)
        longest = LONGEST_STRIDE if isinstance(op, Load) and mask is None else 1
        steps = memory_access.steps_of(op.index, longest)
        lanes = data_type(op.dtype if isinstance(op, Load) else op.value.dtype).lanes
        index, stride = steps or (op.index, 1)
        value = yield from self._of(index)
        if steps is None and data_type(index.dtype).lanes == 1 and lanes > 1:
            # Of memory whose elements are vectors.
            by = f"mul {llvm_type(index.dtype)} {value}, {lanes}"
            value = self.writer.value(by)
        return Access(pointer, value, index.dtype, mask, stride)

    def visit_call_(self, op: Call) -> Any:
        """Return what a call gives."""
        special = _CALLS.get(getattr(op.op, "name", ""))
        if special is not None:
            return (yield from special(self, op))
        values: list[str] = []
        for arg in op.args:
            value = yield from self._of(arg)
            values.append(value)
        return intrinsic_calls.called(self.writer, op, values)

    def if_then_else(self, op: Call) -> Generator[Node, str, str]:
        """Return one of two values, of which only one is computed."""
        writer = self.writer
        condition = yield from self._of(op.args[0])
        yes, no, end = map(writer.new_label, ("then", "else", "end"))
        writer.branch(condition, yes, no)
        found: list[tuple[str, str]] = []
        for label, arg in ((yes, op.args[1]), (no, op.args[2])):
            writer.begin(label)
            value = yield from self._perhaps(arg)
            found.append((value, writer.block))
            writer.jump(end)
        writer.begin(end)
        return writer.phi(op.dtype, *found)

    def ret(self, op: Call) -> Generator[Node, str, str]:
        """End the function with a result."""
        value = yield from self._of(op.args[0])
        dtype = op.args[0].dtype
        if self.result not in ("", dtype):
            raise CodeGenError(
                f"expected one dtype returned, got {self.result}, {dtype}"
            )
        if not self._result_at:
            self._result_at = self.params.take("result", kind="ptr")
        self.result = dtype
        memory_access.store(
            self.writer, dtype, value, Access(self._result_at, "0", "int64")
        )
        self.writer.end()
        return "0"

    def access_ptr(self, op: Call) -> Generator[Node, str, str]:
        """Return a pointer to an element, counted in values of a dtype."""
        kind, data, offset, _, mask = op.args
        is_read = isinstance(mask, IntImm) and not mask.value & Buffer.WRITE
        if is_read and isinstance(data, Var):
            pointer = self._value_of(data)  # so nobody writes there
        else:
            pointer = yield from self._of(data)
        index = yield from self._of(offset)
        wide = converted(self.writer, index, offset.dtype, "int64")
        element = memory_type(kind.dtype)
        return self.writer.value(f"getelementptr {element}, ptr {pointer}, i64 {wide}")

    def address_of(self, op: Call) -> Generator[Node, str, str]:
        """Return a pointer to what a load would read."""
        load = op.args[0]
        if not isinstance(load, Load):
            raise CodeGenError(
                "expected a load for 'tir.address_of'; run FlattenBuffer"
            )
        self._write_to(load.buffer_var)
        place = yield from self._place(load)
        return memory_access.address(self.writer, load.dtype, place)


_CALLS = {
    "tir.address_of": ExprEmitter.address_of,
    "tir.if_then_else": ExprEmitter.if_then_else,
    "tir.ret": ExprEmitter.ret,
    "tir.tvm_access_ptr": ExprEmitter.access_ptr,
}
