"""PartitionGraph: annotated regions become functions for other compilers."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import cast

from msgspec import structs

from parpass.function_registry import get_global_func
from parpass.ir.adt import Constructor
from parpass.ir.module import IRModule
from parpass.ir.node import children, post_order
from parpass.ir.op_table import Op
from parpass.relay.analysis.annotated_regions import (
    BEGIN,
    DEFAULT,
    END,
    Region,
    RegionError,
    Regions,
    compiler_of,
    is_call_of,
)
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Tuple,
    TupleGetItem,
    Var,
)
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.infer_type import InferType
from parpass.relay.typing.infer import typed_function
from parpass.transform import (
    ModulePass,
    PassContext,
    PassInfo,
    Sequential,
    register_pass,
)


class RegionBody(ExprMutator):
    """The values at the border of a region, in its function.

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
        compiler, span = self._region.compiler, self._region.outputs[0].span
        is_one = len(self._fields) == 1
        body = self._fields[0] if is_one else Tuple(self._fields, span)
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


@register_pass("relay._transform.PartitionGraph")
class PartitionGraph(Sequential):
    """Lift each region between marks to a function of the module for its compiler.

    ::

        def @main(%x: Tensor[(10, 10), float32]) {
          %0 = annotation.compiler_begin(%x, compiler="test");
          %1 = abs(%0);
          %2 = annotation.compiler_end(%1, compiler="test");
          nn.relu(%2)
        }

    becomes::

        def @main(%x: Tensor[(10, 10), float32]) -> Tensor[(10, 10), float32] {
          %0 = @tvmgen_default_test_main_0(%x);
          nn.relu(%0)
        }

        def @tvmgen_default_test_main_0(%test_0_i0: Tensor[(10, 10), float32], \
global_symbol="tvmgen_default_test_main_0", Primitive=1, Compiler="test", Inline=1) -> \
Tensor[(10, 10), float32] {
          abs(%test_0_i0)
        }

    A function pass leaves such functions alone; the interpreter runs them. A region
    with several results gives a tuple. Marks of the compiler `default`, and marks that
    enclose no data flow, such as around a `let`, are dropped. If a function is
    registered as `relay.ext.COMPILER.optimize`, it is called with a module of each such
    function as `main`, and the `main` of what it returns is used instead.

    Args:
        mod_name: The part of the functions' names that says which module it was.
        bind_constants: Whether constants that enter a region become part of its
            function; otherwise they are passed to it.

    Raises:
        RegionError: The marks part the program into no regions, or a region needs its
            own result.
    """

    def __init__(self, mod_name: str = "default", bind_constants: bool = True) -> None:
        self.mod_name = mod_name
        self.bind_constants = bind_constants
        partition = _PartitionGraph(mod_name, bind_constants=bind_constants)
        super().__init__([partition, InferType()])


class _PartitionGraph(ModulePass):
    """Lifts the regions of a module's functions."""

    pass_info = PassInfo(0, "PartitionGraph")

    def __init__(self, mod_name: str, *, bind_constants: bool = True) -> None:
        self.mod_name = mod_name
        self.bind_constants = bind_constants

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return a module with the regions as functions."""
        marked = {n: f for n, f in mod.functions_by_name.items() if _has_marks(f)}
        if not marked:
            return mod
        result = mod.copy()
        lifted = 0
        for name, function in marked.items():
            plain = cast("Function", _MarksNormalizer().visit(function))
            partitioner = _Partitioner(
                typed_function(plain, mod),
                _Names(self.mod_name, name, result.functions_by_name),
                bind_constants=self.bind_constants,
            )
            result[name] = partitioner.partitioned()
            for var, region_function in partitioner.functions.items():
                result[var] = region_function
            lifted += len(partitioner.functions)
        ctx.count("lifted", lifted)
        return result


def _has_marks(function: Function) -> bool:
    nodes = cast("list[Expr]", post_order(function))
    return any(is_call_of(node, BEGIN) or is_call_of(node, END) for node in nodes)


class _MarksNormalizer(ExprMutator):
    """Drops the marks of what no other compiler takes, and has no tuple leave whole.

    Its fields do, so that a region does not give tuples in tuples.
    """

    def visit_call(self, call: Call) -> Expr:
        new = cast("Call", super().visit_call(call))
        is_end = is_call_of(call, END)
        if not is_end and not is_call_of(call, BEGIN):
            return new
        if compiler_of(call) == DEFAULT:
            return new.args[0]
        return _ended_by_field(new.args[0], new) if is_end else new


def _ended_by_field(value: Expr, end: Call) -> Expr:
    if isinstance(value, Tuple) and value.fields:
        fields = tuple(_ended_by_field(field, end) for field in value.fields)
        return Tuple(fields, value.span)
    if value is end.args[0]:
        return end
    return Call(end.op, (value,), end.attrs, (), end.span)


class _Names:
    """Names the functions of regions, in characters that compilers' symbols may have.

    Args:
        mod_name: The part that says which module it was.
        function: The name of the function that the regions are in.
        taken: The names that are taken.
    """

    def __init__(self, mod_name: str, function: str, taken: Container[str]) -> None:
        self._template = f"tvmgen_{mod_name}_{{}}_{function}_{{}}"
        self._taken = taken

    def name(self, region: Region) -> str:
        """Return the name of a region's function."""
        full = self._template.format(region.compiler, region.number)
        name = re.sub("[^0-9A-Za-z]", "_", full)
        while name in self._taken:
            name += "_"
        return name


class _Partitioner(ExprMutator):
    """Replaces what leaves a region by what a call of its function gives.

    Attributes:
        functions: The functions of the regions.
    """

    def __init__(self, root: Function, names: _Names, *, bind_constants: bool) -> None:
        super().__init__()
        self.functions: dict[GlobalVar, Function] = {}
        self._root = root
        self._names = names
        self._bind_constants = bind_constants
        self._regions = Regions(root)
        self._bodies: dict[Region, RegionBody] = {}
        self._calls: dict[Region, Call] = {}
        self._check_order()

    def partitioned(self) -> Function:
        return self.visit(self._root)

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        region = self._lifted_region(expr)
        if region is None:
            return children(expr)
        return [value for value, _ in self._body(region).arguments]

    def visit_call(self, call: Call) -> Expr:
        region = self._lifted_region(call)
        if region is not None:
            return self._result(region, call)
        new = cast("Call", super().visit_call(call))
        is_mark = is_call_of(call, BEGIN) or is_call_of(call, END)
        return new.args[0] if is_mark else new

    def _lifted_region(self, expr: Expr) -> Region | None:
        """Return the region that ends here, if it becomes a function."""
        return self._regions.of(expr) if is_call_of(expr, END) else None

    def _body(self, region: Region) -> RegionBody:
        if region not in self._bodies:
            body = RegionBody(region, self._regions, bind=self._bind_constants)
            self._bodies[region] = body
        return self._bodies[region]

    def _result(self, region: Region, end: Call) -> Expr:
        body = self._body(region)
        if region not in self._calls:
            args = tuple(self.memo_map[value] for value, _ in body.arguments)
            var = GlobalVar(self._names.name(region))
            self.functions[var] = body.function(var.name_hint)
            self._calls[region] = Call(var, args, span=end.span)
        call = self._calls[region]
        if len(body.results) == 1:
            return call
        return TupleGetItem(call, body.results[end.args[0]], end.span)

    def _check_order(self) -> None:
        """Check that each region can be computed before what needs its results."""
        done: set[Expr] = set()
        entered: set[Region] = set()
        stack: list[tuple[Expr, bool]] = [(self._root, False)]
        while stack:
            node, is_leaving = stack.pop()
            region = self._lifted_region(node)
            if is_leaving:
                done.update(() if region is None else region.outputs)
                done.add(node)
                entered.discard(cast("Region", region))
                continue
            if node in done:
                continue
            if region is not None and region in entered:
                raise RegionError(
                    f"a region of compiler '{region.compiler}' needs its own result, "
                    "by way of what is outside of it; run MergeCompilerRegions on "
                    "marks of single operators to get regions that do not",
                    cast("Call", node).span,
                )
            if region is not None:
                entered.add(region)
            # Not done before all that it needs is: the way back to a region that
            # needs its own result may begin anywhere.
            stack.append((node, True))
            stack += [
                (child, False)
                for child in self.visited_before(node)
                if child not in done
            ]
