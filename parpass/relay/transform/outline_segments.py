"""OutlineSegments: a large function becomes several, which workers share.

Cuts are where few values pass (`segment_cuts`); `TypedMutator` rewrites nodes whose
types stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import force_setattr

from parpass.errors import ArgumentError
from parpass.fork_safety import cached_property
from parpass.ir.module import IRModule
from parpass.ir.node import breadth_first, children, reflection
from parpass.ir.types import TupleType
from parpass.relay.adt import Match
from parpass.relay.analysis.call_graph import CallGraph
from parpass.relay.analysis.effects import Effects
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    RefCreate,
    RefRead,
    Tuple,
    TupleGetItem,
    Var,
)
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.binding_check import expects_single_bindings
from parpass.relay.transform.segment_cuts import DataFlow, segments
from parpass.transform import ModulePass, PassContext, PassInfo, register_pass

# Of these the type follows from the types of the children.
_FOLLOWING = (Call, Tuple, TupleGetItem)


class TypedMutator(ExprMutator):
    """A mutator that keeps the type of a node whose new children have the old types.

    So InferType finds little to do behind it. It is for rewrites that give a value
    another origin, and leave operators and attributes as they are.
    """

    def visit_default(self, expr: Expr) -> Expr:
        """Return a node with its children rewritten, with its type if that holds."""
        new = super().visit_default(expr)
        if new is not expr and isinstance(expr, _FOLLOWING):
            _keep_type(expr, new)
        return new


def _keep_type(old: Expr, new: Expr) -> None:
    for before, after in zip(children(old), children(new), strict=True):
        if before is not after:
            known = _type_of(before)
            if known is None or known != _type_of(after):
                return
    force_setattr(new, "checked_type_", _type_of(old))


def _type_of(expr: Expr) -> Any:
    return getattr(expr, "checked_type_", None)


SEGMENT = "Segment"  # marks a function cut out of another one, whose name is the value
MIN_NODES = "relay.OutlineSegments.min_nodes"

# Passes leave these as they are, or have them from another compiler.
_KEPT_WHOLE = (SEGMENT, "Primitive", "Compiler", "Extern", "SkipOptimization")
_LEAST_SHARE = 8


@register_pass("parpass.OutlineSegments")
@expects_single_bindings
class OutlineSegments(ModulePass):
    """Cut large functions into segments of about equal size, for the workers.

    With `OutlineSegments(min_nodes=6, segment_nodes=4)`::

        def @main(%x: Tensor[(3,), float32]) -> Tensor[(3,), float32] {
          %0 = exp(%x);
          %1 = exp(%0);
          %2 = exp(%1);
          exp(%2)
        }

    becomes::

        def @main(%x: Tensor[(3,), float32]) -> Tensor[(3,), float32] {
          %0 = @main_segment0(%x);
          @main_segment1(%0)
        }

        def @main_segment0(%x: Tensor[(3,), float32], Segment="main") -> \
Tensor[(3,), float32] {
          %0 = exp(%x);
          exp(%0)
        }

        def @main_segment1(%p0: Tensor[(3,), float32], Segment="main") -> \
Tensor[(3,), float32] {
          %0 = exp(%p0);
          exp(%0)
        }

    An imported network is one function, and one function never runs in two workers at
    once. Between this pass and InlineSegments, which reassembles it, the network is
    many functions. The segments depend on the module alone, never on workers or time.
    Cuts are placed where the fewest values cross, usually one; see `seams`.

    Passes see one segment at a time. Passes that look at a node and its type, such as
    SimplifyInference and CanonicalizeOps, give the same result as on the whole
    function. Passes that look further, such as EliminateCommonSubexpr and
    FoldScaleAxis, miss matches across a seam unless `InlineSegments(again=...)` runs
    them again. Run fusion, and passes that change the layouts of inputs and outputs, on
    the whole function.

    These functions stay whole:

    * functions without types, with effects (see `relay.op.effect`), or with type
      parameters
    * functions with `let`s outside of closures and branches
    * functions that call themselves, directly or indirectly
    * functions that passes skip
    * functions with less than an eighth of the module's nodes: the others are enough
      work

    If a function with an eighth or more is not cut, a remark gives the reason and the
    nodes that decided.

    Args:
        min_nodes: The minimum number of nodes of a function to cut. The context's
            option `relay.OutlineSegments.min_nodes` overrides it.
        segment_nodes: The approximate number of nodes in a segment.

    Raises:
        ArgumentError: An argument is not a positive int.
    """

    pass_info = PassInfo(0, "OutlineSegments", required=("InferType",))

    def __init__(self, min_nodes: int = 600, segment_nodes: int = 150) -> None:
        for value in (min_nodes, segment_nodes):
            if type(value) is not int or value < 1:
                raise ArgumentError(
                    f"expected a number of nodes from 1 on, got {value!r}"
                )
        self.min_nodes = min_nodes
        self.segment_nodes = segment_nodes

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module with segments as functions of their own, at its end."""
        least: int = ctx.config.get(MIN_NODES, self.min_nodes)
        functions = dict(mod.functions_by_name)
        sizes = {
            name: len(breadth_first(function))
            for name, function in functions.items()
            if isinstance(function, Function)  # of this IR
        }
        share = sum(sizes.values()) // _LEAST_SHARE
        outliner = _Outliner(mod, sizes, least, self.segment_nodes)
        for name in [name for name, size in sizes.items() if size >= share]:
            made = outliner.cut(name)
            if not isinstance(made, str):
                functions[name] = made
            else:
                ctx.remark(
                    "missed",
                    f"not cut: {made}",
                    functions[name].span,
                    name="NotCut",
                    function=name,
                    nodes=sizes[name],
                    min_nodes=least,
                    segment_nodes=self.segment_nodes,
                )
        if not outliner.segments:
            return mod
        ctx.count("segments", len(outliner.segments))
        result = IRModule.assemble(mod, functions)
        for var, segment in outliner.segments.items():
            result[var] = segment
        return result


# What binds variables in the midst of data flow, or whose values change.
_WHOLE = (Match, RefCreate, RefRead)


class _Outliner:
    """Cuts functions of one module.

    Args:
        mod: The module.
        sizes: How many nodes each function has.
        least: Functions of fewer nodes are not cut.
        segment_nodes: How many nodes a segment has, about.

    Attributes:
        segments: What was cut out.
    """

    def __init__(
        self, mod: IRModule, sizes: Mapping[str, int], least: int, segment_nodes: int
    ) -> None:
        self.segments: dict[GlobalVar, Function] = {}
        self._mod, self._sizes = mod, sizes
        self._least, self._segment_nodes = least, segment_nodes
        self._taken = set(mod.functions_by_name)

    @cached_property
    def _effects(self) -> Effects:
        return Effects(mod=self._mod)

    @cached_property
    def _graph(self) -> CallGraph:
        return CallGraph(self._mod)

    def _why_whole(self, name: str) -> str:
        """Return why a function must stay as it is; empty if it may be cut."""
        function: Function = self._mod[name]
        attrs = function.attrs or {}
        if self._sizes[name] < self._least:
            return "it has too few nodes"
        if function.checked_type_ is None:
            return "it has no types"
        if function.type_params:
            return "it has type parameters"
        kept = [key for key in _KEPT_WHOLE if attrs.get(key)]
        if kept:
            return f"it has attribute '{kept[0]}'"
        if not self._effects.may_drop(function.body):
            return "it has effects"
        if any(isinstance(node, _WHOLE) for node in breadth_first(function)):
            return "it has a match, or references"
        return "it calls itself" if self._graph.is_recursive(name) else ""

    def cut(self, name: str) -> Function | str:
        """Return a function that calls its segments, or why it stays as it is."""
        if why := self._why_whole(name):
            return why
        function: Function = self._mod[name]
        flow = DataFlow(function.body)
        parts = segments(flow, self._segment_nodes)
        if len(parts) < 2:
            return "no cut leaves parts of this size"
        inside = {flow.nodes[at]: part for part in parts for at in part}
        given = {function.body}
        for node, operands in zip(flow.nodes, flow.operands, strict=True):
            part = inside[node]
            given |= {it for it in operands if inside.get(it, part) is not part}
        # What stands in the function for what its segments are given, and give.
        known: dict[Expr, Expr] = {param: param for param in function.params}
        constants: set[Expr] = set()
        for number, part in enumerate(parts):
            used = dict.fromkeys(it for at in part for it in flow.operands[at])
            given_in = [it for it in used if it in known]
            results = [flow.nodes[at] for at in part if flow.nodes[at] in given]
            mutator = _own_constants(used, constants)
            segment = _segment(given_in, results, mutator, name, function)
            var = self._variable(f"{name}_segment{number}")
            self.segments[var] = segment
            args = tuple(known[it] for it in given_in)
            span = getattr(results[-1], "span", None)
            call = Call(var, args, None, (), span, segment.ret_type)
            known |= zip(results, _fields(call, results), strict=True)
        return _with_body(function, known[function.body])

    def _variable(self, wanted: str) -> GlobalVar:
        name, tries = wanted, 0
        while name in self._taken:
            tries += 1
            name = f"{wanted}_{tries}"
        self._taken.add(name)
        return GlobalVar(name)


def _own_constants(used: Iterable[Expr], taken: set[Expr]) -> TypedMutator:
    """Return a mutator by which no constant is in two segments.

    Workers would make two of it, where in this process it stayed one: a pass that knows
    constants apart by identity has to find the same here and there.
    """
    mutator = TypedMutator()
    for constant in used:
        if isinstance(constant, Constant):
            if constant in taken:
                mutator.memo_map[constant] = Constant(constant.data, constant.span)
            taken.add(constant)
    return mutator


def _segment(
    given: Sequence[Expr],
    results: Sequence[Expr],
    mutator: TypedMutator,
    name: str,
    function: Function,
) -> Function:
    """Return what computes some nodes of a function from other ones, as parameters."""
    params: list[Var] = []
    for number, value in enumerate(given):
        hint = value.name_hint if isinstance(value, Var) else f"p{number}"
        found, span = value.checked_type, getattr(value, "span", None)
        params.append(Var(hint, found, span, found))
        mutator.memo_map[value] = params[-1]
    body, *others = [mutator.visit(node) for node in results]
    found = results[0].checked_type
    if others:
        found = TupleType(tuple(node.checked_type for node in results))
        body = Tuple((body, *others), None, found)
    attrs = {SEGMENT: name}
    return Function(tuple(params), body, found, (), attrs, function.span)


def _fields(call: Call, results: Sequence[Expr]) -> Iterator[Expr]:
    """Yield what stands for the results of a segment that is called."""
    if len(results) == 1:
        yield call
        return
    for index, result in enumerate(results):
        yield TupleGetItem(call, index, None, result.checked_type)


def _with_body(function: Function, body: Expr) -> Function:
    new: Function = reflection(Function).rebuild(function, (*function.params, body))
    force_setattr(new, "checked_type_", function.checked_type_)
    return new
