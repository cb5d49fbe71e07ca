"""The function that a region of marks becomes."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from parpass.ir.adt import Constructor
from parpass.ir.module import IRModule
from parpass.ir.node import children
from parpass.ir.operators.op_table import Op
from parpass.relay.analysis.annotated_regions import (
    BEGIN,
    Region,
    Regions,
    is_call_of,
)
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Tuple,
    Var,
)
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.infer_type import InferType
from parpass.runtime.registry import get_global_func


class RegionBody(ExprMutator):
    """What becomes of a region's nodes in its function.

    Attributes:
        arguments: The values that enter, by their place outside, and the parameters.
        results: The values that leave, and their place in the function's result.
    """

    def __init__(self, region: Region, regions: Regions, *, bind: bool) -> None:
        super().__init__()
        self.arguments: list[tuple[Expr, Var]] = []
        self.results: dict[Expr, int] = {}
        self._region = region
        self._regions = regions
        self._bind = bind
        self._params: dict[Expr, Expr] = {}
        for end in region.outputs:
            self.results.setdefault(end.args[0], len(self.results))
        self._fields = tuple(self.visit(value) for value in self.results)

    def function(self, name: str) -> Function:
        """Return the function of the region."""
        body = self._fields[0] if len(self._fields) == 1 else Tuple(self._fields)
        compiler, span = self._region.compiler, self._region.outputs[0].span
        params = tuple(var for _, var in self.arguments)
        plain = Function(params, body, span=span)
        made = _optimized(plain, compiler)
        attrs = {
            **made.attributes,
            "global_symbol": name,
            "Primitive": 1,
            "Compiler": compiler,
            "Inline": 1,
        }
        return structs.replace(made, attrs=attrs, checked_type_=None)

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return the children of what is inside."""
        return children(expr) if self._is_inside(expr) else ()

    def visit_default(self, expr: Expr) -> Expr:
        """Return what is inside on new children, and a parameter for another value."""
        return super().visit_default(expr) if self._is_inside(expr) else self._in(expr)

    def visit_call(self, call: Call) -> Expr:
        """Return what a mark puts into the region as a parameter."""
        if is_call_of(call, BEGIN):
            return self._in(call.args[0])
        return self.visit_default(call)

    def _is_inside(self, expr: Expr) -> bool:
        if is_call_of(expr, BEGIN):
            return False
        return self._regions.of(expr) is self._region

    def _in(self, value: Expr) -> Expr:
        """Return the parameter for a value from outside."""
        if isinstance(value, Op | GlobalVar | Function | Constructor):
            return value
        if self._bind and isinstance(value, Constant):
            return value
        if value not in self._params:
            region = self._region
            name = f"{region.compiler}_{region.number}_i{len(self.arguments)}"
            param = Var(name, value.checked_type)
            self._params[value] = param
            self.arguments.append((value, param))
        return self._params[value]


def _optimized(function: Function, compiler: str) -> Function:
    """Return a region's function as the compiler's own passes leave it."""
    optimize = get_global_func(f"relay.ext.{compiler}.optimize", allow_missing=True)
    if optimize is None:
        return function
    mod = optimize(InferType()(IRModule.from_expr(function)))
    return mod["main"]
