"""InlineSegments: undoes OutlineSegments; and passes that run at every level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from parpass.ir.module import IRModule
from parpass.ir.module.reachability import extract_reachable
from parpass.ir.node import bindings, breadth_first
from parpass.relay.analysis.call_graph import CallGraph
from parpass.relay.expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
    Tuple,
    TupleGetItem,
)
from parpass.relay.transform.binding_check import expects_single_bindings
from parpass.relay.transform.functions.inline import Inliner, inlined
from parpass.relay.transform.outline_segments import SEGMENT, TypedMutator
from parpass.transform import (
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    create_pass,
    register_pass,
)
from parpass.transform.pass_info import checked_names
from parpass.transform.passes import flat_passes


def at_every_level(a_pass: Pass) -> Pass:
    """Return a pass that was just made, it and those in it set to run at every level.

    The `disabled_pass` of the context holds.
    """
    for one in flat_passes(a_pass):
        one.pass_info = PassInfo(0, one.info.name, required=one.info.required)
    return a_pass


_NOBODY: Mapping[str, Sequence[str]] = {}


@register_pass("parpass.InlineSegments")
@expects_single_bindings
class InlineSegments(ModulePass):
    """Inline the segments that OutlineSegments made; its inverse.

    ::

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

    becomes::

        def @main(%x: Tensor[(3,), float32]) -> Tensor[(3,), float32] {
          %0 = exp(%x);
          %1 = exp(%0);
          %2 = exp(%1);
          exp(%2)
        }

    A function whose segments no pass has changed becomes structurally equal to the
    original. A segment that is no longer called is removed, unless the function it came
    from no longer exists either.

    Args:
        again: The names of passes to run once more on each reassembled function. Name
            passes that look at the neighbours of a node, which may have been across a
            seam. Changes that these passes make in called functions are not kept.

    Raises:
        ArgumentError: `again` is not a list of names.
        UnknownPassError: A name in `again` is unknown.
        SizeLimitError: The pass would copy more nodes than the option
            `relay.max_copied_nodes` allows. It copies a segment only if another pass
            made a second call of it.
    """

    pass_info = PassInfo(0, "InlineSegments")

    def __init__(self, again: Iterable[str] = ()) -> None:
        self.again = checked_names(again, "again")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module with segments put back."""
        segments = _segments_of(mod)
        if not segments:
            return mod
        whole = inlined(mod, SEGMENT, ctx, _SegmentInliner)
        functions = dict(whole.functions_by_name)
        left = _segments_of(whole)
        callers = CallGraph(whole).callers if left else _NOBODY
        for name, origin in left.items():
            if origin in mod and not callers[name]:
                del functions[name]
        result = IRModule.assemble(whole, functions)
        if self.again:
            for name in dict.fromkeys(segments.values()):
                if name in functions and functions[name] is not mod[name]:
                    result[name] = self._run_again(name, result)
        return result

    def _run_again(self, name: str, mod: IRModule) -> Function:
        part = extract_reachable(mod, [name])
        passes = [at_every_level(create_pass(one)) for one in self.again]
        found: Function = Sequential(passes)(part)[name]
        return found


def _segments_of(mod: IRModule) -> dict[str, str]:
    """Return the segments of a module, and what they were cut out of, by name."""
    return {
        name: str(function.attrs[SEGMENT])
        for name, function in mod.functions_by_name.items()
        if function.has_nonzero_attr(SEGMENT)
    }


class _SegmentInliner(TypedMutator, Inliner):
    """Inlines segments in one function, whose nodes keep their types."""

    def inlined_in(self, function: Function) -> Function:
        """Return a function with the segments in it put back."""
        # Unless a pass brought in what writes, a value may go that nobody uses.
        self._may_drop = self.effects.may_drop(function.body)
        return super().inlined_in(function)

    def closure_of(self, callee: Function) -> Function:
        """Return what stands for a segment that a pass made a closure of."""
        return callee.without_attr(SEGMENT)

    def in_place(self, callee: Function, args: Sequence[Expr], call: Call) -> Expr:
        """Return the nodes of a segment, with other values for its parameters."""
        if not self._may_drop or _binds(callee.body):
            return super().in_place(callee, args, call)
        mutator = TypedMutator()
        mutator.memo_map.update(zip(callee.params, args, strict=True))
        return mutator.visit(callee.body)

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        """Return a field of what a segment gives."""
        call, given = op.tuple_value, self.memo_map[op.tuple_value]
        is_segments = isinstance(call, Call) and isinstance(call.op, GlobalVar)
        if is_segments and isinstance(given, Tuple) and self._may_drop:
            return given.fields[op.index]
        return self.visit_default(op)


def _binds(expr: Expr) -> bool:
    return any(map(bindings, breadth_first(expr)))
