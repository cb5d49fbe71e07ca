"""Defunctionalize: functions that are values become values of data types.

As in J. C. Reynolds, "Definitional interpreters for higher-order programming languages"
(1972): for each function type there is a data type, with a constructor for each
function of the program, which holds what the function captures; and a function `apply`
that matches on it.
"""

from __future__ import annotations

from parpass.errors import IRError
from parpass.ir.module import IRModule
from parpass.ir.node import children, post_order
from parpass.ir.type_structure import extent
from parpass.ir.types import FuncType, Type
from parpass.relay.analysis.call_graph import CallGraph
from parpass.relay.expr import Call, Function, GlobalVar, Var
from parpass.relay.transform.block_writer import is_opaque
from parpass.relay.transform.extra.encoded_functions import EncodedProgram
from parpass.relay.typing.infer import typed_function
from parpass.transform import ModulePass, PassContext, PassInfo, register_pass


@register_pass("relay._transform.Defunctionalize")
class Defunctionalize(ModulePass):
    """Make programs first-order: no value is a function any more.

    ::

        def @twice(%f: fn (float32) -> float32, %x: float32) -> float32 {
          %0 = %f(%x);
          %f(%0)
        }

        def @main(%x: float32, %y: float32) -> float32 {
          %0 = fn (%z: float32) -> float32 {
            add(%z, %y)
          };
          @twice(%0, %x)
        }

    becomes, besides `@twice`::

        type Defunc0 {
          Defunc0_0(float32),
        }

        def @main(%x: float32, %y: float32) -> float32 {
          %0 = Defunc0_0(%y);
          @twice_0(%0, %x)
        }

        def @apply_Defunc0(%f: Defunc0, %x: float32) -> float32 {
          match (%f) {
            Defunc0_0(%y: float32) => {
              add(%x, %y)
            },
          }
        }

        def @twice_0(%f: Defunc0, %x: float32) -> float32 {
          %0 = @apply_Defunc0(%f, %x);
          @apply_Defunc0(%f, %0)
        }

    What is changed are functions of the module without type parameters that neither
    take nor give functions; those that they call, and that have functions in them, are
    copied, once for each choice of types. Others stay; RemoveUnusedFunctions drops
    them. Functions that are marked `Primitive` or `Compiler` stay, too.

    Raises:
        IRError: A function with type parameters is bound to a variable, a constructor
            is used as a function, or the definition of a data type has functions.
        DiagnosticError: A function is ill-typed.
        SizeLimitError: More nodes would be copied than option `relay.max_copied_nodes`
            of the context allows: functions may be called with ever larger types.
    """

    pass_info = PassInfo(1, "Defunctionalize", required=("InferType",))

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module with first-order functions."""
        higher_order = _higher_order(mod)
        program, result = EncodedProgram(mod, higher_order, ctx), mod.copy()
        for name in higher_order:
            typed = typed_function(mod[name], mod)
            if _is_whole(typed):
                result[name] = program.converted(typed)
                ctx.count("converted", 1)
        program.add_to(result)
        return result


def defunctionalization(func: Function, mod: IRModule) -> Function:
    """Return a function whose values are no functions; see `Defunctionalize`.

    Args:
        func: The function.
        mod: Has the global functions; data types and functions are added to it.

    Raises:
        IRError: The function takes or gives functions, or has type parameters; or see
            `Defunctionalize`.
        DiagnosticError: A function is ill-typed.
    """
    typed = typed_function(func, mod)
    if not _is_whole(typed):
        raise IRError(
            "expected a function without type parameters that neither takes nor gives "
            f"functions, got {typed.checked_type}"
        )
    program = EncodedProgram(mod, _higher_order(mod), PassContext.current())
    result = program.converted(typed)
    program.add_to(mod)
    return result


Defunctionalization = defunctionalization  # its name in TVM


def _is_whole(function: Function) -> bool:
    """Return whether a function may be called from outside, and stay what it is."""
    parts = function.checked_type.parts
    return not function.type_params and not any(map(_has_function_type, parts))


def _has_function_type(typ: Type) -> bool:
    return FuncType in extent(typ).kinds


def _higher_order(mod: IRModule) -> list[str]:
    """Return the functions with functions in them, or in those that they call."""
    graph, found = CallGraph(mod), set[str]()
    for component in graph.sccs():  # callees first
        names = {var.name_hint for var in component}
        if any(
            not found.isdisjoint(graph.callees[name]) or _has_functions(mod[name], mod)
            for name in names
        ):
            found |= names
    return [name for name in mod.functions_by_name if name in found]


def _has_functions(function: object, mod: IRModule) -> bool:
    if not isinstance(function, Function) or is_opaque(function):
        return False
    typed = typed_function(function, mod)
    order = [node for node in post_order(typed) if node is not typed]
    for node in order:
        if isinstance(node, Function) and is_opaque(node):
            continue
        if isinstance(node, Function | Var) and _has_function_type(node.checked_type):
            return True
        inside = children(node)[1:] if isinstance(node, Call) else children(node)
        if any(isinstance(child, GlobalVar) for child in inside):
            return True
    return isinstance(typed.body, GlobalVar)
