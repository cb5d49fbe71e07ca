"""InferType: every node of a program gets its type."""

from __future__ import annotations

from parpass.ir.inference_cache import (
    cache_inference,
    cached_inference,
)
from parpass.ir.module import IRModule
from parpass.ir.types import Type
from parpass.ir.types.type_structure import digest
from parpass.relay.analysis.findings import emit_errors
from parpass.relay.expr import Expr, Function
from parpass.relay.type_inference.infer import GlobalTypes, infer_type
from parpass.transform import FunctionwisePass, PassContext, PassInfo, register_pass
from parpass.transform.config import optimizations_in

_GLOBAL_TYPES = "relay.global_types"


@register_pass("relay._transform.InferType")
class InferType(FunctionwisePass):
    """Infer the type of every expression, and check annotated types.

    The pass infers types from the operators' type relations and by unification, and
    stores them in the nodes as `checked_type`. It annotates parameters and results that
    have no annotation, and fills in the calls' type arguments::

        def @main(%x: Tensor[(2, 3), float32]) {
          nn.relu(%x)
        }

    becomes::

        def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
          nn.relu(%x)
        }

    Annotated types need not be inferred, which is faster. The types of a closure's
    parameters follow from its body, its calls and the places it is passed to. Those of
    a global function follow from its body, and from functions that it calls and that
    call it, directly or indirectly. Functions are polymorphic only in declared type
    parameters, as in `fn <A>(%x: A)`.

    Two dimensions match if they are equal or one of them is `Any`. A value that may
    have either type has `Any` there; an annotated result or variable keeps its
    annotation.

    A variable is bound once, and used only within the scope of its binding. Violations
    and type errors are error diagnostics. One run reports all errors of a module, and a
    function with errors stays unchanged.
    """

    pass_info = PassInfo(opt_level=0, name="InferType")
    cacheable = True

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with types, the same object if it had them all."""
        # Kept while a module is visited, so that a function whose type is not annotated
        # is inferred once, however many functions call it.
        if _GLOBAL_TYPES not in mod.derived:
            mod.derived[_GLOBAL_TYPES] = GlobalTypes(mod)
        types: GlobalTypes = mod.derived[_GLOBAL_TYPES]
        remembers = optimizations_in(ctx.config).cached_analyses
        if remembers and _is_typed(func, types):
            return func
        inferred = types.infer(func, ctx.function_name)
        if inferred.findings:
            emit_errors(inferred.findings, ctx)
            return func
        if inferred.function.checked_type_ is not None:
            cache_inference(
                inferred.function,
                inferred.used_globals,
                inferred.nodes,
                inferred.used_types,
            )
        return inferred.function


def InferTypeLocal(expr: Expr) -> Type:  # noqa: N802 -- TVM's name
    """Return the type of an expression that refers to no globals; see `infer_type`."""
    return infer_type(expr).checked_type


def _is_typed(func: Function, types: GlobalTypes) -> bool:
    entry = cached_inference(func)
    if entry is None:
        return False
    for name, known in entry.used_types.items():
        definition = types.definition(name)
        if definition is None or digest(definition) != known:
            return False
    return all(
        name in types.names and types.type_of(name) == found
        for name, found in entry.used_globals.items()
    )
