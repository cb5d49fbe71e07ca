"""InferType: every node of a program gets its type."""

from __future__ import annotations

from parpass.ir.inference_cache import (
    InferenceRecord,
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
    """Find the type of every expression, and check the types that are annotated.

    Types are inferred from the operators' type relations and by unification, and kept
    in the nodes as `checked_type`. Parameters and results are annotated where they were
    not, and calls get their type arguments::

        def @main(%x: Tensor[(2, 3), float32]) {
          nn.relu(%x)
        }

    becomes::

        def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
          nn.relu(%x)
        }

    What is annotated need not be inferred, and is faster. A closure's parameters are
    known from its body, from its calls, and from what it is passed to; those of a
    global function from its body, and from functions that call it and that it calls in
    its turn. Functions are polymorphic only by type parameters, as in `fn <A>(%x: A)`.

    Dimensions are equal, or one of them is `Any`: what may be of either type then has
    `Any` there, but a result or a variable that is annotated has its annotation.

    A variable is bound once, and used inside of what binds it. What is ill-typed, or
    breaks this, is an error diagnostic, all of a module in one run; a function with
    errors stays as it is.
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
            entry = InferenceRecord(
                inferred.used_globals, inferred.nodes, inferred.used_types
            )
            cache_inference(inferred.function, entry)
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
