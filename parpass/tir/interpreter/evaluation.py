"""The value of a loop program on arrays: an interpreter on numpy, the oracle of passes.

It is simple and slow, and strict: an access out of bounds, or to uninitialised memory,
is an error, as is a division of ints by 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parpass.errors import EvaluationError
from parpass.ir.node import children
from parpass.ir.node.tree_size import check_tree_size
from parpass.tir.expr import Var
from parpass.tir.function import PrimFunc
from parpass.tir.interpreter.argument_binding import Arrays, as_scalar
from parpass.tir.interpreter.assembly import assemble
from parpass.tir.interpreter.machine import Machine

# How many places more than nodes are made instructions of: about a second, 120 MB.
_MOST_COPIES = 2**18


def evaluate(
    func: PrimFunc,
    args: Sequence[Any] = (),
    *,
    variables: Mapping[Var, Any] | None = None,
    max_steps: int | None = None,
) -> Any:
    """Run a function on arguments; the arrays among them are written to.

    Args:
        func: The function.
        args: An array for each buffer and each pointer, a number for each scalar. A
            buffer whose elements are vectors takes an array with a dimension more.
        variables: Values of variables that the function does not bind.
        max_steps: How many statements and rounds of loops it may take; None for any
            number.

    Returns:
        What the function returns, a scalar of numpy; None where it returns nothing.

    Raises:
        EvaluationError: The arguments do not fit, an access is out of bounds or to what
            is not written, an assertion does not hold, or something in the program
            cannot be evaluated; the message says where.
        StepLimitError: It takes more steps than it may.
        SizeLimitError: Nodes would be evaluated at too many places, as many others
            share them.
    """
    check_tree_size(
        *(func.body, children, "nodes to evaluate"),
        "bind expressions that are used often, with tir.LetStmt",
        _MOST_COPIES,
    )
    machine = Machine(str(func.attributes.get("global_symbol", "")), max_steps)
    if len(args) != len(func.params):
        raise EvaluationError(f"expected {len(func.params)} arguments, got {len(args)}")
    for var, value in (variables or {}).items():
        machine.bind(var, as_scalar(var, value))
    arrays = Arrays(machine)
    for param, arg in zip(func.params, args, strict=True):
        arrays.bind(param, func.buffer_map.get(param), arg)
    code = assemble([*arrays.checks(), func.body])
    try:
        return machine.run(code)
    finally:
        arrays.write_back()
