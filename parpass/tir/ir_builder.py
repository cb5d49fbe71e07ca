"""Builds statements in the order in which they run, under TVM's names.

ib = tir.ir_builder.create()
a = ib.allocate("float32", 16, name="a")
with ib.for_range(0, 16) as i:
a[i] = a[i] + 1
stmt = ib.get()
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

from parpass.errors import IRError, IRTypeError
from parpass.ir.types import PointerType, PrimType
from parpass.tir.data_type import checked, data_type
from parpass.tir.expr import (
    Buffer,
    Call,
    Load,
    PrimExpr,
    Ramp,
    Var,
    as_prim_expr,
    as_prim_exprs,
)
from parpass.tir.op import add, const, maximum, multiply
from parpass.tir.op import likely as marked_likely
from parpass.tir.stmt import (
    Allocate,
    AttrStmt,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    Store,
    While,
)

Wrap = Callable[[Stmt], Stmt]  # makes a statement of those that follow in its scope

_KINDS = {
    "serial": ForKind.SERIAL,
    "parallel": ForKind.PARALLEL,
    "vectorize": ForKind.VECTORIZED,
    "unroll": ForKind.UNROLLED,
}


class BuildOrderError(IRError, RuntimeError):
    """A builder was asked for what cannot stand there."""


class BufferVar:
    """A pointer whose elements are read by `x[i]`, and written by `x[i] = value`.

    Args:
        builder: Takes the stores.
        buffer_var: The pointer.
        shape: The dimensions, for indices in several; None: there is one index.
        content_type: The dtype of the elements.
    """

    def __init__(
        self,
        builder: IRBuilder,
        buffer_var: Var,
        shape: Sequence[PrimExpr] | None,
        content_type: str,
    ) -> None:
        self._builder = builder
        self._buffer_var = buffer_var
        self._shape = shape
        self.dtype = checked(content_type)

    def asobject(self) -> Var:
        """Return the pointer, which this is in an expression."""
        return self._buffer_var

    def __getitem__(self, index: Any) -> PrimExpr:
        return Load(self.dtype, self._buffer_var, self._place(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        expr = as_prim_expr(value)
        if expr.dtype != self.dtype:
            raise _ContentError(
                f"data type does not match content type: expected {self.dtype} for "
                f"'{self._buffer_var.name}', got {expr.dtype}"
            )
        self._builder.emit(Store(self._buffer_var, expr, self._place(index)))

    def _place(self, index: Any) -> PrimExpr:
        place, lanes = self._linear(index), data_type(self.dtype).lanes
        if lanes == 1:
            return place
        base = multiply(place, lanes)
        return Ramp(base, const(1, base.dtype), lanes)

    def _linear(self, index: Any) -> PrimExpr:
        if not isinstance(index, tuple):
            return as_prim_expr(index)
        indices = as_prim_exprs(cast("tuple[Any, ...]", index))
        shape = self._shape or ()
        if len(indices) != len(shape):
            raise IRTypeError(
                f"expected {len(shape)} indices for '{self._buffer_var.name}', got "
                f"{len(indices)}"
            )
        found: PrimExpr = const(0)
        size: PrimExpr = const(1)
        for dim, one in zip(reversed(shape), reversed(indices), strict=True):
            found = add(found, multiply(one, size))
            size = multiply(size, dim)
        return found


class _ContentError(IRTypeError, ValueError):
    """A value of another dtype was stored."""


class IRBuilder:
    """Collects statements, scope by scope."""

    def __init__(self) -> None:
        self._scopes: list[list[Stmt | Wrap]] = [[]]
        self._loops = 0

    def emit(self, stmt: Stmt | Call | Wrap) -> None:
        """Add a statement, a call, or what makes a statement of all that follow."""
        if isinstance(stmt, PrimExpr):
            stmt = Evaluate(stmt)
        if not isinstance(stmt, Stmt) and not callable(stmt):
            raise IRTypeError(f"expected a statement, got {type(stmt).__name__}")
        self._scopes[-1].append(stmt)

    def scope_attr(self, node: Any, attr_key: str, value: Any) -> None:
        """Say something of all that follows in this scope."""
        if attr_key == "thread_extent":
            value = maximum(1, value)
        self.emit(lambda body: AttrStmt(node, attr_key, value, body))

    def for_range(
        self,
        begin: Any,
        end: Any,
        name: str = "i",
        dtype: str = "int32",
        kind: str = "serial",
    ) -> AbstractContextManager[Var]:
        """Return the scope of a loop, which gives its variable.

        Args:
            begin: The first value.
            end: The value after the last one.
            name: The variable's; loops of the default one are `i`, `j`, `k`, `i_0`.
            dtype: The variable's.
            kind: `serial`, `parallel`, `vectorize` or `unroll`.
        """
        if kind not in _KINDS:
            raise _KindError(f"Unknown kind '{kind}': expected one of {[*_KINDS]}")
        if name == "i":
            at = self._loops
            name = "ijk"[at] if at < 3 else f"i_{at - 3}"
            self._loops += 1
        var = Var(name, dtype)
        is_zero = isinstance(begin, int) and begin == 0
        extent = end if is_zero else as_prim_expr(end) - begin
        return self._scope(
            lambda body: For(var, begin, extent, _KINDS[kind], body), var
        )

    def while_loop(self, condition: Any) -> AbstractContextManager[None]:
        """Return the scope of a loop that runs as long as a condition holds."""
        return self._scope(lambda body: While(condition, body), None)

    def if_scope(self, cond: Any) -> AbstractContextManager[None]:
        """Return the scope of what happens if a condition holds."""
        return self._scope(lambda body: IfThenElse(cond, body), None)

    def else_scope(self) -> AbstractContextManager[None]:
        """Return the scope of what happens otherwise; after that of `if_scope`.

        Raises:
            BuildOrderError: It stands somewhere else.
        """
        last = self._scopes[-1][-1] if self._scopes[-1] else None
        if not isinstance(last, IfThenElse) or last.else_case is not None:
            raise BuildOrderError("else_scope can only follow an if_scope")
        self._scopes[-1].pop()
        return self._scope(
            lambda body: IfThenElse(last.condition, last.then_case, body), None
        )

    def new_scope(self) -> AbstractContextManager[None]:
        """Return a scope, which bounds `let`s, allocations and attributes."""
        return self._scope(lambda body: body, None)

    @contextmanager
    def _scope(self, close: Wrap, value: Any) -> Generator[Any]:
        self._scopes.append([])
        try:
            yield value
        except BaseException:
            self._scopes.pop()
            raise
        self.emit(close(self._closed()))

    def let(self, var_name: str, value: Any) -> Var:
        """Return a variable that has a value in all that follows in this scope."""
        expr = as_prim_expr(value)
        var = Var(var_name, expr.dtype)
        self.emit(lambda body: LetStmt(var, expr, body))
        return var

    def allocate(
        self, dtype: str, shape: Any, name: str = "buf", scope: str = ""
    ) -> BufferVar:
        """Return new memory, which there is in all that follows in this scope."""
        found = self._pointer(dtype, name, scope)
        dims = as_prim_exprs(shape)
        self.emit(lambda body: Allocate(found, dtype, dims, None, body))
        return BufferVar(self, found, dims, dtype)

    def pointer(
        self, content_type: str, name: str = "ptr", scope: str = ""
    ) -> BufferVar:
        """Return a pointer variable that is bound outside of the program."""
        found = self._pointer(content_type, name, scope)
        return BufferVar(self, found, None, content_type)

    def buffer_ptr(self, buf: Buffer, shape: Any = None) -> BufferVar:
        """Return the pointer to a buffer, perhaps with another shape."""
        dims = buf.shape if shape is None else as_prim_exprs(shape)
        return BufferVar(self, buf.data, dims, buf.dtype)

    def likely(self, expr: Any) -> PrimExpr:
        """Return a condition marked as one that mostly holds."""
        return marked_likely(expr)

    def get(self) -> Stmt:
        """Return what was built.

        Raises:
            BuildOrderError: A scope is still open.
        """
        if len(self._scopes) != 1:
            raise BuildOrderError("cannot call get inside construction scope")
        return self._closed()

    @staticmethod
    def _pointer(dtype: str, name: str, scope: str) -> Var:
        return Var(name, PointerType(PrimType(checked(dtype)), scope))

    def _closed(self) -> Stmt:
        """Return the statements of the innermost scope as one, and close it."""
        parts = self._scopes.pop()
        following: list[Stmt] = []  # the last one first
        if not parts or not isinstance(parts[-1], Stmt):
            following.append(Evaluate(0))
        for part in reversed(parts):
            if isinstance(part, Stmt):
                following.append(part)
            else:
                following = [part(_sequence(following))]
        return _sequence(following)


class _KindError(IRTypeError, ValueError):
    """There is no such kind of loop."""


def _sequence(last_first: list[Stmt]) -> Stmt:
    return last_first[0] if len(last_first) == 1 else SeqStmt(last_first[::-1])


def create() -> IRBuilder:
    """Return a new builder."""
    return IRBuilder()
