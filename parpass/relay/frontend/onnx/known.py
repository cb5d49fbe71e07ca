"""Values while importing: what does not depend on the inputs of the model?"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from parpass.errors import EvaluationError
from parpass.ir.node import children
from parpass.relay.expr import Constant, Expr, Var
from parpass.relay.functor import ExprFunctor
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.transform.evaluator import Evaluator
from parpass.relay.transform.fold_constant import ConstantFolder
from parpass.transform import PassContext


class KnownValues:
    """The values of expressions that are the same whatever the model runs on.

    Each is worked out once, however often it is asked for.
    """

    def __init__(self) -> None:
        self._varies = _Varies()
        self._found: dict[Expr, npt.NDArray[Any]] = {}

    def value(self, expr: Expr) -> npt.NDArray[Any] | None:
        """Return the value of a tensor; None if it depends on the model's inputs.

        Raises:
            EvaluationError: It has none, or one that is too large.
        """
        if isinstance(expr, Constant):
            return expr.data.numpy()
        if self._varies.visit(expr):
            return None
        if expr not in self._found:
            self._found[expr] = _evaluated(expr)
        return self._found[expr]


def _evaluated(expr: Expr) -> npt.NDArray[Any]:
    """Return the value of a tensor, as FoldConstant finds it, and within its limit."""
    with Evaluator.of(expr, PassContext.current()) as evaluator:
        folder = ConstantFolder(evaluator)
        folded = folder.visit(expr)
    if isinstance(folded, Constant):
        return folded.data.numpy()
    if folder.kept:
        raise EvaluationError(folder.kept[0].message)
    return np.asarray(evaluate(folded))  # of calls that are never folded


class _Varies(ExprFunctor[bool]):
    """Whether a value depends on a parameter; asked of each expression once."""

    def visit_var(self, var: Var) -> bool:
        return True

    def visit_default(self, expr: Expr) -> bool:
        return any(map(self.visit, children(expr)))
