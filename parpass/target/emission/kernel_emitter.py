"""A PrimFunc as LLVM's text: statement by statement, expressions as they are met."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from parpass.errors import CodeGenError
from parpass.runtime.signature import Signature
from parpass.target.emission import memory_access
from parpass.target.emission.binary_operators import converted
from parpass.target.emission.entry_function import entry_function
from parpass.target.emission.expr_emitter import ExprEmitter
from parpass.target.emission.function_writer import (
    FunctionWriter,
    element_bytes,
    llvm_type,
)
from parpass.target.emission.kernel_parameters import KernelParameters
from parpass.tir.data_type import data_type
from parpass.tir.expr import IntImm, IterVar, PrimExpr, StringImm, Var
from parpass.tir.function import PrimFunc
from parpass.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    Store,
    While,
)
from parpass.tir.stmt_functor import check_statement_tree_size

_ON_STACK = (
    4096  # bytes of memory that a function may have there; more are passed to it
)
_ALIGNED = 64  # bytes


class Emitted(NamedTuple):
    """A kernel as text, and how it is called."""

    text: str
    signature: Signature


def emitted(func: PrimFunc, symbol: str, features: Sequence[str]) -> Emitted:
    """Return a function and its entry as LLVM's text, without lines on the machine.

    Args:
        func: The function, whose buffers are flattened.
        symbol: Its name in C.
        features: What the machine has.

    Raises:
        CodeGenError: Something in it has no machine code.
        SizeLimitError: It has statements, or values, at too many places.
    """
    check_statement_tree_size(func.body, "statements to be compiled")
    emitter = KernelEmitter(func, features)
    try:
        emitter.run()
    except CodeGenError as error:
        span = getattr(emitter.at, "span", None) or func.span
        told = "" if span is None else f", {span}"
        raise CodeGenError(f"{error} (in '{symbol}'{told})", symbol, span) from None
    writer, params = emitter.writer, emitter.params
    signature = Signature(
        symbol,
        params.parameters(),
        tuple(params.passed),
        emitter.result,
        emitter.workspace,
        tuple(writer.messages),
    )
    text = writer.text(symbol, params.texts())
    return Emitted(text + entry_function(signature, params.kinds), signature)


class KernelEmitter(ExprEmitter):
    """Writes the instructions of a function.

    Attributes:
        workspace: How many bytes of memory it needs besides the stack.
    """

    def __init__(self, func: PrimFunc, features: Sequence[str]) -> None:
        writer = FunctionWriter(features)
        super().__init__(writer, KernelParameters(writer, func), func)
        self.workspace = 0
        self._func = func
        self._workspace_at = ""
        self._on_stack = self._in_workspace = 0

    def run(self) -> None:
        """Write all."""
        for expr, value, message in self.params.checks:
            found = self.visit(expr)
            wide = converted(self.writer, found, expr.dtype, "int64")
            holds = self.writer.value(f"icmp eq i64 {wide}, {value}")
            self.writer.fail_unless(holds, message)
        self.visit(self._func.body)

    # Statements. Each begins with nothing remembered: memory may have changed, and
    # what was computed in a branch is not to be had behind it.

    def _forget(self) -> None:
        self.memo_map = {}

    def visit_seq_stmt_(self, op: SeqStmt) -> Any:
        """Write statements in order."""
        for one in op.seq:
            self._forget()
            yield one
        return ""

    def visit_evaluate_(self, op: Evaluate) -> Any:
        """Compute a value for what it does."""
        self._forget()
        self.at = op
        if not isinstance(op.value, StringImm):
            yield op.value
        return ""

    def visit_store_(self, op: Store) -> Any:
        """Put a value in memory."""
        self._forget()
        self.at = op
        value = yield from self._of(op.value)
        place = yield from self._place(op)
        self._write_to(op.buffer_var)
        memory_access.store(self.writer, op.value.dtype, value, place)
        return ""

    def visit_let_stmt_(self, op: LetStmt) -> Any:
        """Give a variable a value."""
        self._forget()
        self.at = op
        value = yield from self._of(op.value)
        self._values[op.var] = value
        self._forget()
        yield op.body
        return ""

    def visit_attr_stmt_(self, op: AttrStmt) -> Any:
        """Write the body; threads run one after the other."""
        self._forget()
        axis, keys = op.node, ("thread_extent", "virtual_thread")
        if isinstance(axis, IterVar) and op.attr_key in keys:
            extent = yield from self._of(op.value)
            yield from self._loop(axis.var, "0", extent, op.value.dtype, op.body)
            return ""
        yield op.body
        return ""

    def visit_for_(self, op: For) -> Any:
        """Write a loop."""
        self._forget()
        self.at = op
        begin = yield from self._of(op.min)
        extent = yield from self._of(op.extent)
        begin = converted(self.writer, begin, op.min.dtype, op.loop_var.dtype)
        yield from self._loop(op.loop_var, begin, extent, op.extent.dtype, op.body)
        return ""

    def _loop(self, var: Var, begin: str, extent: str, dtype: str, body: Stmt) -> Any:
        writer, kind = self.writer, llvm_type(var.dtype)
        extent = converted(writer, extent, dtype, var.dtype)
        before = writer.block
        head, inside, again, end = map(writer.new_label, ("for", "do", "next", "end"))
        writer.jump(head)
        writer.begin(head)
        following = f"%i.{head}"
        rounds = writer.phi(var.dtype, ("0", before), (following, again))
        word = "ult" if data_type(var.dtype).code == "uint" else "slt"
        goes_on = writer.value(f"icmp {word} {kind} {rounds}, {extent}")
        writer.branch(goes_on, inside, end)
        writer.begin(inside)
        is_zero = begin == "0"
        self._values[var] = (
            rounds if is_zero else writer.value(f"add {kind} {begin}, {rounds}")
        )
        self._forget()
        yield body
        writer.jump(again)
        writer.begin(again)
        writer.do(f"{following} = add {kind} {rounds}, 1")
        writer.jump(head)
        writer.begin(end)

    def visit_while_(self, op: While) -> Any:
        """Write a loop with a condition."""
        self.at = op
        writer = self.writer
        head, inside, end = map(writer.new_label, ("while", "do", "end"))
        writer.jump(head)
        writer.begin(head)
        self._forget()
        goes_on = yield from self._of(op.condition)
        goes_on = converted(writer, goes_on, op.condition.dtype, "bool")
        writer.branch(goes_on, inside, end)
        writer.begin(inside)
        self._forget()
        yield op.body
        writer.jump(head)
        writer.begin(end)
        return ""

    def visit_if_then_else_(self, op: IfThenElse) -> Any:
        """Write two branches."""
        self._forget()
        self.at = op
        writer = self.writer
        condition = yield from self._of(op.condition)
        condition = converted(writer, condition, op.condition.dtype, "bool")
        yes, no, end = map(writer.new_label, ("then", "else", "end"))
        writer.branch(condition, yes, no)
        for label, case in ((yes, op.then_case), (no, op.else_case)):
            writer.begin(label)
            self._forget()
            if case is not None:
                yield case
            writer.jump(end)
        writer.begin(end)
        return ""

    def visit_assert_stmt_(self, op: AssertStmt) -> Any:
        """Go on only if a condition holds."""
        self._forget()
        self.at = op
        condition = yield from self._of(op.condition)
        message = op.message
        known = isinstance(message, StringImm | IntImm)
        told = message.value if known else "a condition"
        self.writer.fail_unless(condition, f"an assertion does not hold: {told}")
        self._forget()
        yield op.body
        return ""

    def visit_allocate_(self, op: Allocate) -> Any:
        """Give a pointer memory, on the stack or in the workspace."""
        self._forget()
        self.at = op
        count = math.prod(_length(one) for one in op.extents)
        size = count * element_bytes(op.dtype) * data_type(op.dtype).lanes
        size = -(-size // _ALIGNED) * _ALIGNED
        before = self._in_workspace
        self._values[op.buffer_var] = self._memory(size)
        yield op.body
        self._in_workspace = before
        return ""

    def _memory(self, size: int) -> str:
        if self._on_stack + size <= _ON_STACK:
            self._on_stack += size
            return self.writer.at_entry(f"alloca [{size} x i8], align {_ALIGNED}")
        if not self._workspace_at:
            self._workspace_at = self.params.take("workspace", kind="ptr")
        at = self._in_workspace
        self._in_workspace += size
        self.workspace = max(self.workspace, self._in_workspace)
        return self.writer.value(
            f"getelementptr i8, ptr {self._workspace_at}, i64 {at}"
        )


def _length(extent: PrimExpr) -> int:
    if not isinstance(extent, IntImm) or extent.value < 0:
        raise CodeGenError(
            "expected a constant size for memory that is allocated, got "
            f"{extent!r:.60}; give the function a buffer instead"
        )
    return extent.value
