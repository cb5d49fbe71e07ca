"""The weights that a model brings: parameters of its function, or constants in it."""

from __future__ import annotations

from collections.abc import Mapping

from parpass.ir.node import post_order
from parpass.relay.binding import substitute
from parpass.relay.expr import Constant, Function, Var
from parpass.runtime.ndarray import NDArray


def with_weights_as_parameters(
    function: Function, weights: Mapping[str, Constant]
) -> tuple[Function, dict[str, NDArray]]:
    """Return a function that is given its weights, and their values by name.

    The parameters for weights follow the function's own. A weight that is not in the
    body, because it was read while importing, as a shape is, becomes none.

    Args:
        function: A function with constants for its weights.
        weights: These constants, by the names that the parameters get.
    """
    read = {node for node in post_order(function) if isinstance(node, Constant)}
    given = {name: weight for name, weight in weights.items() if weight in read}
    variables = {
        weight: Var(name, weight.checked_type_) for name, weight in given.items()
    }
    body = substitute(function.body, variables)
    params = (*function.params, *variables.values())
    return Function(params, body), {name: one.data for name, one in given.items()}
