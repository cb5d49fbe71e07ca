"""Comparing what a module computes with what another one does, on the same inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from parpass.cli.files.arrays import random_value
from parpass.cli.work import loop_values
from parpass.errors import EvaluationError
from parpass.ir.module import IRModule
from parpass.relay.analysis import called_globals
from parpass.relay.expr import Function
from parpass.relay.interpreter.interpreter import evaluate
from parpass.tir.function import PrimFunc

# Passes may change the order of sums, and so the last digits.
_RELATIVE, _ABSOLUTE = 1e-3, 1e-4


class Values:
    """The values of a module's functions on random inputs.

    Its entry functions are evaluated: `main`, or those to which no other refers.

    Args:
        mod: The module.
        seed: Of the inputs.

    Raises:
        EvaluationError: A function cannot be evaluated.
    """

    def __init__(self, mod: IRModule, seed: int) -> None:
        random = np.random.default_rng(seed)
        self._inputs = {
            name: [
                random_value(random, p.type_annotation, f"the parameters of '{name}'")
                for p in _parameters(mod[name])
            ]
            for name in _entries(mod)
        }
        self._known = {
            name: value_of(mod[name], inputs, mod)
            for name, inputs in self._inputs.items()
        }

    def difference(self, mod: IRModule) -> str | None:
        """Return where the values of another module differ, None if they do not."""
        for name, inputs in self._inputs.items():
            if name not in mod:
                return f"function '{name}' is gone"
            try:
                value = value_of(mod[name], inputs, mod)
            except EvaluationError as error:
                return f"function '{name}' cannot be evaluated: {error}"
            found = _difference(self._known[name], value)
            if found is not None:
                return f"the value of function '{name}' differs: {found}"
        return None


def value_of(function: Any, inputs: Sequence[Any], mod: IRModule) -> Any:
    """Return the value of a function of a module, of either kind.

    Raises:
        EvaluationError: It cannot be evaluated.
    """
    if isinstance(function, PrimFunc):
        return loop_values.made(function, inputs)
    return evaluate(function, inputs, mod)


def _parameters(function: Any) -> Sequence[Any]:
    if isinstance(function, PrimFunc):
        return loop_values.parameters(function, {}, {})
    return function.params


def _entries(mod: IRModule) -> list[str]:
    functions = mod.functions_by_name
    if "main" in functions:
        return ["main"]
    called = {v.name_hint for f in functions.values() for v in called_globals(f)}
    return [name for name in functions if name not in called]


def _difference(
    known: Any, value: Any, equal: set[tuple[int, int]] | None = None
) -> str | None:
    if isinstance(known, tuple) and isinstance(value, tuple):
        equal = set() if equal is None else equal
        pair = (id(cast("Any", known)), id(cast("Any", value)))
        if pair in equal:
            return None
        equal.add(pair)  # if they are not, that is told at once
        pairs = list(zip(cast("Any", known), cast("Any", value), strict=False))
        if len(pairs) != max(len(cast("Any", known)), len(cast("Any", value))):
            return "tuples of different lengths"
        found = (_difference(mine, theirs, equal) for mine, theirs in pairs)
        return next((one for one in found if one is not None), None)
    if isinstance(known, Function) or not isinstance(known, np.ndarray):
        return None  # closures have no value to compare
    before, after = cast("Any", known), np.asarray(value)
    if before.shape != after.shape or before.dtype != after.dtype:
        return (
            f"{before.dtype} of shape {before.shape} before, {after.dtype} of shape "
            f"{after.shape} after"
        )
    if np.allclose(before, after, _RELATIVE, _ABSOLUTE, equal_nan=True):
        return None
    at = int(
        np.argmax(~np.isclose(before, after, _RELATIVE, _ABSOLUTE, equal_nan=True))
    )
    return f"{before.flat[at]} before, {after.flat[at]} after, at {at}"
