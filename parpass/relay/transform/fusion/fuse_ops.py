"""FuseOps: operators that can be computed together become one primitive function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from parpass.ir.module import IRModule
from parpass.ir.node import children
from parpass.ir.op.op_table import Op
from parpass.ir.types import Type
from parpass.relay.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.fusion.fusion_groups import (
    ForwardGraph,
    fusion_groups,
    is_left_alone,
)
from parpass.relay.transform.fusion.fusion_remarks import remark_on_fusion
from parpass.relay.type_inference.infer import typed_function
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass

ExprT = TypeVar("ExprT", bound=Expr)

MAX_FUSED_OPS = 256


@register_pass("relay._transform.FuseOps")
class FuseOps(FunctionPass):
    """Group operators that one loop nest can compute into functions.

    ::

        def @main(%x: Tensor[(10, 20), float32]) {
          %0 = add(%x, 1f);
          %1 = exp(%0);
          squeeze(%1)
        }

    becomes::

        def @main(%x: Tensor[(10, 20), float32]) -> Tensor[(10, 20), float32] {
          %0 = fn (%p0: Tensor[(10, 20), float32], Primitive=1) -> \
Tensor[(10, 20), float32] {
            %1 = add(%p0, 1f);
            %2 = exp(%1);
            squeeze(%2)
          };
          %0(%x)
        }

    The operators' fusion patterns (`OpPattern`) decide what fits together, as in TVM's
    `fuse_ops.cc`: a convolution takes the elementwise operators after it, but never
    another convolution. Nothing is fused across `let`, `if` and functions.

    Scalar constants move into the functions. Other constants become arguments, unless
    you set the option `relay.FuseOps.link_params`. `annotation.stop_fusion` separates
    the operators before it from those after it, and is removed. If another function
    computes a tuple, its fields are passed; TVM passes the tuple. Kernels take tensors.

    The option `relay.FuseOps.max_depth` limits the nodes in a function (default: 256).
    It also bounds the search, which is otherwise near-linear.

    Args:
        fuse_opt_level: At 0 each operator is a function of its own; the default, -1, is
            the context's level.
    """

    pass_info = PassInfo(0, "FuseOps", required=("InferType",))
    cacheable = True

    def __init__(self, fuse_opt_level: int = -1) -> None:
        self.fuse_opt_level = fuse_opt_level

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with its operators in primitive functions."""
        level = ctx.opt_level if self.fuse_opt_level == -1 else self.fuse_opt_level
        fuser = OperatorFuser(
            typed_function(func, mod),
            level,
            # As in TVM, 0 stands for the default.
            max_depth=ctx.config.get("relay.FuseOps.max_depth") or MAX_FUSED_OPS,
            link_params=ctx.config.get("relay.FuseOps.link_params", False),
        )
        result = fuser.fused()
        if fuser.functions:
            ctx.count("functions", fuser.functions)
            ctx.count("operators", fuser.operators)
        return cast("Function", result)


def fuse_ops(expr: ExprT, opt_level: int = 2, max_depth: int = MAX_FUSED_OPS) -> ExprT:
    """Return a typed expression with its operators fused; see `FuseOps`.

    Raises:
        UntypedError: InferType has not run on the expression.
    """
    return cast("ExprT", OperatorFuser(expr, opt_level, max_depth=max_depth).fused())


class OperatorFuser(ExprMutator):
    """Rewrites an expression, whose groups of operators it has found before.

    Attributes:
        functions: How many functions were made.
        operators: How many calls of operators they have.
    """

    def __init__(
        self,
        root: Expr,
        opt_level: int,
        *,
        max_depth: int = MAX_FUSED_OPS,
        link_params: bool = False,
    ) -> None:
        super().__init__()
        self.functions = 0
        self.operators = 0
        self._root = root
        self._link_params = link_params
        graph = ForwardGraph(root)
        self._index = graph.index
        self._groups = fusion_groups(graph, opt_level, max_depth)
        remark_on_fusion(
            graph,
            self._groups,
            PassContext.current(),
            opt_level=opt_level,
            max_depth=max_depth,
        )
        # The parameters of each group's function, by the arguments for them.
        self._params: dict[int, dict[Expr, Var]] = {}
        # Projections that are such arguments, by the tuple and the field.
        self._fields: dict[tuple[Expr, int], Expr] = {}
        self._with_call: set[int] = set()
        self.memo_map.update((x, x) for x in graph.nodes if is_left_alone(x))

    def fused(self) -> Expr:
        """Return the expression with its operators fused."""
        return self.visit(self._root)

    def visit_call(self, call: Call) -> Expr:
        """Return the call within its function, or the call of the function it ends."""
        op = call.op
        if not isinstance(op, Op) or op.non_computational:
            return super().visit_call(call)
        if op.name == "annotation.stop_fusion":
            return self.memo_map[call.args[0]]
        group = self._group_of(call)
        self.operators += 1
        self._with_call.add(group)
        args = self._inside(group, call.args)
        new = Call(op, args, call.attrs, call.type_args, call.span)
        return self._completed(group, call, new)

    def visit_tuple(self, tup: Tuple) -> Expr:
        """Return a tuple within its function, or one that is none's."""
        group = self._group_of(tup)
        if group == self._index[tup]:
            return super().visit_tuple(tup)
        return Tuple(self._inside(group, tup.fields), tup.span)

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        """Return the projection within its function, or one that is none's.

        Of a tuple that is not in the group the field is a parameter, not the tuple: a
        kernel is given tensors.
        """
        group = self._group_of(op)
        if self._group_of(op.tuple_value) == group:
            of = self.memo_map[op.tuple_value]
            return self._completed(group, op, TupleGetItem(of, op.index, op.span))
        if group == self._index[op]:
            return super().visit_tuple_getitem(op)
        key = self.memo_map[op.tuple_value], op.index
        if key not in self._fields:
            self._fields[key] = TupleGetItem(*key, op.span)
        return self._parameter(group, self._fields[key], op.checked_type)

    def _group_of(self, node: Expr) -> int:
        return self._groups.last(self._index[node])

    def _inside(self, group: int, values: Sequence[Expr]) -> tuple[Expr, ...]:
        """Return values as a group's function has them: parameters for what is not in.

        A value that is in the group is used nowhere else, so it needs no second form.
        """
        result: list[Expr] = []
        for value in values:
            new = self.memo_map[value]
            is_inside = self._group_of(value) == group
            if not is_inside and not (self._link_params and type(new) is Constant):
                new = self._parameter(group, new, value.checked_type)
            result.append(new)
        return tuple(result)

    def _parameter(self, group: int, argument: Expr, type_: Type) -> Var:
        """Return the parameter of a group's function that is for an argument."""
        params = self._params.setdefault(group, {})
        if argument not in params:
            params[argument] = Var(f"p{len(params)}", type_)
        return params[argument]

    def _completed(self, group: int, old: Expr, new: Expr) -> Expr:
        if group != self._index[old]:
            return new
        params = self._params.pop(group, {})
        if group not in self._with_call:
            return self._without_function(group, old)
        self.functions += 1
        return _call_of_primitive(new, old.checked_type, params)

    def _without_function(self, group: int, old: Expr) -> Expr:
        """Return a group that computes nothing, a projection of a literal tuple."""
        outside = ExprMutator()
        inside = [old]
        for node in inside:  # which grows
            for child in children(node):
                if self._group_of(child) == group:
                    inside.append(child)
                else:
                    outside.memo_map[child] = self.memo_map[child]
        return outside.visit(old)


def _call_of_primitive(body: Expr, type_: Type, params: dict[Expr, Var]) -> Call:
    span = getattr(body, "span", None)
    attrs = {"Primitive": 1}
    function = Function(tuple(params.values()), body, type_, (), attrs, span)
    return Call(function, tuple(params), span=span)
