"""AnnotateTarget: marks which compiler could take which operators."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, cast

from parpass.ir.module import IRModule
from parpass.ir.node import children, reflection
from parpass.ir.op_registration import op_attrs
from parpass.ir.op_table import Op
from parpass.relay.adt import Clause, Match
from parpass.relay.analysis.annotated_regions import (
    BEGIN,
    DEFAULT,
    END,
    compiler_of,
    is_call_of,
)
from parpass.relay.analysis.effects import Effects
from parpass.relay.expr import (
    Call,
    Expr,
    Function,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from parpass.relay.functor import ExprMutator
from parpass.relay.op.annotation import compiler_begin, compiler_end
from parpass.relay.span_filler import with_span
from parpass.relay.transform.infer_type import InferType
from parpass.relay.typing.infer import typed_function
from parpass.transform import (
    FunctionPass,
    PassContext,
    PassInfo,
    Sequential,
    register_pass,
)
from parpass.transform.pass_info import checked_names

ExprT = TypeVar("ExprT", bound=Expr)


@register_pass("relay._transform.AnnotateTarget")
class AnnotateTarget(Sequential):
    """Mark operators that other compilers support, each as a region of its own.

    With `register_op_attr("nn.relu", "target.test", lambda call: True)`::

        def @main(%x: Tensor[(10, 10), float32]) {
          %0 = nn.relu(%x);
          abs(%0)
        }

    becomes::

        def @main(%x: Tensor[(10, 10), float32]) -> Tensor[(10, 10), float32] {
          %0 = annotation.compiler_begin(%x, compiler="test");
          %1 = nn.relu(%0);
          %2 = annotation.compiler_end(%1, compiler="test");
          %3 = annotation.compiler_begin(%2, compiler="default");
          %4 = abs(%3);
          annotation.compiler_end(%4, compiler="default")
        }

    A compiler supports an operator if the operator's attribute `target.COMPILER`, a
    function of the call, returns true, or if the call is of a function whose attribute
    `Composite` begins with the compiler's name and a dot. What none supports, or what
    has an effect, is marked `default`. Marks of an earlier run that are not `default`
    stay. MergeCompilerRegions and PartitionGraph follow.

    Args:
        targets: The name of a compiler, or names; the first one wins.
        include_non_call_ops: Whether to mark tuples and projections, too, by what they
            are made of, and what makes and uses references, as `default`.

    Raises:
        ArgumentError: `targets` is no name and no list of names.
    """

    def __init__(
        self, targets: str | Iterable[str], include_non_call_ops: bool = True
    ) -> None:
        found = (targets,) if isinstance(targets, str) else targets
        self.targets = checked_names(found, "targets")
        self.include_non_call_ops = include_non_call_ops
        annotate = _AnnotateTargetFunc(
            self.targets, include_non_call_ops=include_non_call_ops
        )
        super().__init__([annotate, InferType()], name="AnnotateTarget")


class _AnnotateTargetFunc(FunctionPass):
    """Marks the operators of one function."""

    pass_info = PassInfo(0, "AnnotateTargetFunc", required=("InferType",))

    def __init__(
        self, targets: Sequence[str], *, include_non_call_ops: bool = True
    ) -> None:
        self.targets = tuple(targets)
        self.include_non_call_ops = include_non_call_ops

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with marks."""
        kind = _Annotator if self.include_non_call_ops else _CallAnnotator
        rules = {target: op_attrs(f"target.{target}") for target in self.targets}
        annotator = kind(rules, Effects(mod=mod))
        return annotator.visit(typed_function(func, mod))


class _Annotator(ExprMutator):
    """Marks what enters and what leaves each operator, by its compiler."""

    def __init__(self, rules: dict[str, Any], effects: Effects) -> None:
        super().__init__()
        self._rules = rules
        self._effects = effects
        self._compilers: dict[Expr, str] = {}  # of rewritten nodes

    def visit_call(self, call: Call) -> Expr:
        post = cast("Call", super().visit_call(call))
        if is_call_of(call, BEGIN):
            return post
        if is_call_of(call, END):
            self._compilers.setdefault(post.args[0], compiler_of(post))
            return post
        first = call.args[0] if call.args else None
        if first is not None and is_call_of(first, BEGIN) and _is_decided(first):
            return post
        if isinstance(call.op, Var):
            return self._call_of_variable(post)
        compiler, args = self._entering(post.args, self._compiler_for(call))
        new = Call(post.op, args, post.attrs, post.type_args, post.span)
        self._compilers[new] = compiler
        return new

    def visit_tuple(self, tup: Tuple) -> Expr:
        post = cast("Tuple", super().visit_tuple(tup))
        compiler, fields = self._entering(post.fields)
        new = Tuple(fields, post.span)
        self._compilers[new] = compiler
        return new

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        post = cast("TupleGetItem", super().visit_tuple_getitem(op))
        compiler, (of,) = self._entering((post.tuple_value,))
        new = TupleGetItem(of, post.index, post.span)
        self._compilers[new] = compiler
        return new

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        if isinstance(expr, Function):
            return () if _is_composite(expr) else (expr.body,)
        if isinstance(expr, Let):
            return (expr.value, expr.body)
        if isinstance(expr, Clause):
            return (expr.rhs,)
        if isinstance(expr, If):
            return (expr.cond, expr.true_branch, expr.false_branch)
        return super().visited_before(expr)

    def visit_function(self, fn: Function) -> Expr:
        if _is_composite(fn):
            return fn
        body = self._leaving(self.visit(fn.body))
        return Function(fn.params, body, fn.ret_type, fn.type_params, fn.attrs, fn.span)

    def visit_let(self, let: Let) -> Expr:
        value = self.visit(let.value)
        if not isinstance(value, Function):
            value = self._let_value(value)
        return Let(let.var, value, self._leaving(self.visit(let.body)), let.span)

    def visit_if(self, if_: If) -> Expr:
        parts = (if_.cond, if_.true_branch, if_.false_branch)
        cond, true, false = (self._leaving(self.visit(part)) for part in parts)
        return If(cond, true, false, if_.span)

    def visit_match(self, match: Match) -> Expr:
        return self._around_data_flow(match)

    def visit_clause(self, clause: Clause) -> Any:
        return self._around_data_flow(cast("Any", clause))

    def visit_ref_create(self, ref_create: RefCreate) -> Expr:
        return self._reference(ref_create)

    def visit_ref_read(self, ref_read: RefRead) -> Expr:
        return self._reference(ref_read)

    def visit_ref_write(self, ref_write: RefWrite) -> Expr:
        return self._reference(ref_write)

    def _reference(self, expr: Expr) -> Expr:
        """Return what makes or uses a reference, which no other compiler does."""
        new = [self.visit(child) for child in children(expr)]
        compiler, entering = self._entering(new, DEFAULT)
        marked = reflection(type(expr)).rebuild(expr, entering)
        self._compilers[marked] = compiler
        return marked

    def _around_data_flow(self, expr: Expr) -> Expr:
        """Return what takes values out of the data flow, these marked."""
        old = children(expr)
        new = [self._leaving(self.visit(child)) for child in old]
        if all(map(operator.is_, old, new)):
            return expr
        return reflection(type(expr)).rebuild(expr, new)

    def _call_of_variable(self, post: Call) -> Expr:
        compiler, args = self._entering(post.args, DEFAULT)
        new = Call(post.op, args, post.attrs, post.type_args, post.span)
        self._compilers[new] = compiler
        return new

    def _let_value(self, value: Expr) -> Expr:
        return self._entering((value,))[1][0]

    def _compiler_for(self, call: Call) -> str:
        for target, rules in self._rules.items():
            if isinstance(call.op, Op):
                rule = rules.get(call.op.name)
                if rule is not None and not call.op.effect and rule(call):
                    return target
            elif isinstance(call.op, Function) and self._may_leave(call.op):
                name = str((call.op.attrs or {})["Composite"])
                if name.startswith(f"{target}."):
                    return target
        return DEFAULT

    def _may_leave(self, fn: Function) -> bool:
        return _is_composite(fn) and self._effects.is_pure(fn.body)

    def _entering(
        self, args: Sequence[Expr], compiler: str = ""
    ) -> tuple[str, tuple[Expr, ...]]:
        """Return arguments with marks, and the compiler of the node that has them.

        Without a compiler of its own it is the one that computes all arguments.
        """
        origins: list[str] = []
        values: list[Expr] = []
        for arg in args:
            origin, value = self._origin(arg)
            origins.append(origin)
            values.append(value)
        one_origin = len(set(origins)) == 1
        of_all = compiler or (origins[0] if one_origin else DEFAULT)
        return of_all, tuple(
            x if is_call_of(x, BEGIN) else _placed(compiler_begin(x, of_all), x)
            for x in values
        )

    def _origin(self, arg: Expr) -> tuple[str, Expr]:
        """Return the compiler of an argument, and the argument marked as leaving."""
        if is_call_of(arg, BEGIN):  # of an earlier run
            inner = cast("Call", arg).args[0]
            origin = compiler_of(inner) if is_call_of(inner, END) else DEFAULT
            return origin, arg if _is_decided(arg) else inner
        origin = self._compilers.get(arg, DEFAULT)
        return origin, self._ended(arg, origin) if arg in self._compilers else arg

    def _ended(self, value: Expr, compiler: str) -> Expr:
        # Nothing enters a call without arguments, such as of zeros, or an empty tuple.
        if isinstance(value, Call) and not value.args:
            return value
        if isinstance(value, Tuple) and not value.fields:
            return value
        return _placed(compiler_end(value, compiler), value)

    def _leaving(self, value: Expr) -> Expr:
        """Return a value that leaves the data flow, marked by its compiler."""
        if is_call_of(value, END) and not _is_decided(value):
            value = cast("Call", value).args[0]
        if value not in self._compilers or is_call_of(value, END):
            return value
        compiler = self._compilers[value]
        new = self._ended(value, compiler)
        self._compilers[new] = compiler
        return new


def _placed(mark: Expr, value: Expr) -> Expr:
    """Return a mark with the place of the value that it is on."""
    return with_span(mark, getattr(value, "span", None), [value])


class _CallAnnotator(_Annotator):
    """Marks calls only."""

    def visit_tuple(self, tup: Tuple) -> Expr:
        post = cast("Tuple", ExprMutator.visit_tuple(self, tup))
        return Tuple(tuple(map(self._leaving, post.fields)), post.span)

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        post = cast("TupleGetItem", ExprMutator.visit_tuple_getitem(self, op))
        return TupleGetItem(self._leaving(post.tuple_value), post.index, post.span)

    def _call_of_variable(self, post: Call) -> Expr:
        args = tuple(map(self._leaving, post.args))
        return Call(post.op, args, post.attrs, post.type_args, post.span)

    def _let_value(self, value: Expr) -> Expr:
        return self._leaving(value)

    def _reference(self, expr: Expr) -> Expr:
        return self._around_data_flow(expr)


def _is_decided(mark: Expr) -> bool:
    return compiler_of(mark) != DEFAULT


def _is_composite(fn: Function) -> bool:
    return fn.attrs is not None and "Composite" in fn.attrs
