"""SimplifyFCTranspose: weights of dense layers are transposed once, beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from parpass.ir.module import IRModule
from parpass.ir.types import TensorType
from parpass.relay.analysis import free_vars
from parpass.relay.analysis.matchers import search_fc_transpose, transposed_weight
from parpass.relay.expr import Call, Expr, Function, Var
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.binding_check import expects_single_bindings
from parpass.runtime.ndarray import NDArray
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass
from parpass.transform.pass_info import checked_names

_MARK = ".T"  # behind the name of a weight that is transposed


@register_pass("relay._transform.SimplifyFCTranspose")
@expects_single_bindings
class SimplifyFCTranspose(FunctionPass):
    """Take the transposed weight as a parameter, where a dense layer transposes one.

    With the weight `w`::

        def @main(%x: Tensor[(1, 3), float32], %w: Tensor[(3, 4), float32]) {
          %0 = transpose(%w, axes=[1, 0]);
          nn.dense(%x, %0)
        }

    becomes::

        def @main(%x: Tensor[(1, 3), float32], %"w.T": Tensor[(4, 3), float32]) \
-> Tensor[(1, 4), float32] {
          nn.dense(%x, %"w.T")
        }

    New parameters come last, in the order in which they are used; those that nothing
    uses any more go. `convert` gives their values, too.

    Args:
        target_weight_name: The names of the weights, as `search_fc_transpose` finds
            them; others are left alone.

    Raises:
        ArgumentError: `target_weight_name` is no list of names.
    """

    pass_info = PassInfo(4, "SimplifyFCTranspose", required=("DeadCodeElimination",))

    def __init__(self, target_weight_name: Iterable[str] = ()) -> None:
        self.target_weight_name = checked_names(
            target_weight_name, "target_weight_name"
        )

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with parameters that are transposed."""
        wanted = {
            param for param in func.params if param.name_hint in self.target_weight_name
        }
        replacer = _Replacer(wanted)
        body = replacer.visit(func.body)
        if body is func.body:
            return func
        ctx.count("transposed", len(replacer.transposed))
        used = {*free_vars(body)}
        kept = [
            param
            for param in func.params
            if param in used or param not in replacer.transposed
        ]
        params = (*kept, *replacer.transposed.values())
        return Function(
            params, body, func.ret_type, func.type_params, func.attrs, func.span
        )


class _Replacer(ExprMutator):
    """Puts transposed weights in the place of transposes.

    Attributes:
        transposed: The new variables, by the weights, in the order of their use.
    """

    def __init__(self, weights: set[Var]) -> None:
        super().__init__()
        self.transposed: dict[Var, Var] = {}
        self._weights = weights

    def visit_call(self, call: Call) -> Expr:
        """Return a dense layer with a variable that is its transposed weight."""
        new: Call = super().visit_call(call)
        weight = transposed_weight(call)
        if weight is None or weight not in self._weights:
            return new
        if weight not in self.transposed:
            self.transposed[weight] = _transposed(weight)
        args = (new.args[0], self.transposed[weight])
        return Call(call.op, args, call.attrs, span=call.span)


def _transposed(weight: Var) -> Var:
    stated = weight.type_annotation
    assert isinstance(stated, TensorType)  # says `transposed_weight`
    turned = TensorType(stated.shape[::-1], stated.dtype)
    return Var(weight.name_hint + _MARK, turned, weight.span)


def convert(
    func: Function, params: Mapping[str, Any]
) -> tuple[Function, dict[str, Any]]:
    """Return a function whose dense layers transpose no weights, and its values.

    Args:
        func: The function.
        params: The values of its parameters, by name; it stays as it is.

    Returns:
        The function, and values by the names of its parameters, those of transposed
        weights transposed.
    """
    weights = search_fc_transpose(func)
    mod = SimplifyFCTranspose(weights)(IRModule.from_expr(func))
    converted: Function = mod["main"]
    values = {**params}
    for name in weights:
        value = NDArray(params[name]).numpy()
        values[name + _MARK] = NDArray(np.ascontiguousarray(value.T))
    there = {param.name_hint for param in converted.params}
    for name in there.symmetric_difference(weights) - there:
        values.pop(name, None)
    return converted, values
