"""The types of a module's functions, inferred on demand where they are not annotated.

What is found for a function does not depend on which function asked first, so that
errors are the same in whatever order, and in whichever process, functions are visited.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from parpass.relay.analysis import called_globals
from parpass.relay.expr import Expr, Function, GlobalVar
from parpass.relay.module import IRModule
from parpass.relay.transform.report import Finding
from parpass.relay.ty import FuncType


class Inferred(NamedTuple):
    """A function with types as far as they could be found, and what was wrong."""

    function: Function
    findings: list[Finding]
    used_globals: dict[str, FuncType]


class GlobalTypes:
    """Answers which type a global function has.

    Args:
        mod: The module, which must not change while this is in use; None for an
            expression that refers to no globals.
    """

    def __init__(self, mod: IRModule | None) -> None:
        self._mod = mod
        self._functions: Mapping[str, Function]
        self._functions = mod.functions_by_name if mod is not None else {}
        self._global_vars: Mapping[str, GlobalVar]
        self._global_vars = mod.global_vars_by_name if mod is not None else {}
        self._types: dict[str, FuncType | None] = {}
        self._inferred: dict[Function, Inferred] = {}
        self._callees: dict[str, list[str]] = {}
        self._recursive: dict[str, bool] = {}

    @property
    def names(self) -> Collection[str]:
        """The names of the module's functions."""
        return self._functions.keys()

    def type_of(self, name: str) -> FuncType | None:
        """Return the type of a function of the module, None if it cannot be found."""
        # By name, for a module may load another equal object when it is asked again.
        if name not in self._types:
            annotated = self._mod.annotated_type(name) if self._mod else None
            if annotated is not None:
                self._types[name] = annotated
            else:
                self._infer_with_callees(name)
        return self._types[name]

    def own_global_var(self, global_var: GlobalVar) -> GlobalVar:
        """Return the module's own global variable of that name, if it has one."""
        return self._global_vars.get(global_var.name_hint, global_var)

    def is_recursive(self, name: str) -> bool:
        """Return whether a function needs its own type, which is not annotated."""
        if name not in self._recursive:
            self._recursive[name] = name in self._unannotated_below(name)
        return self._recursive[name]

    def infer(self, function: Function) -> Inferred:
        """Return a function with its types; only once for what callers asked for."""
        from parpass.relay.transform.type_inferencer import TypeInferencer

        known = self._inferred.get(function)
        if known is not None:
            return known
        inferencer = TypeInferencer(self)
        typed = inferencer.visit(function)
        assert isinstance(typed, Function)
        free = [
            Finding(
                var.span, f"variable '{var.name_hint}' is used, and nothing binds it"
            )
            for var in inferencer.free_vars
        ]
        findings = [*free, *inferencer.findings]
        return Inferred(typed, findings, inferencer.used_globals)

    def _infer_with_callees(self, name: str) -> None:
        below = {name, *self._unannotated_below(name)} - self._types.keys()
        order = TopologicalSorter(
            {each: below.intersection(self._callees[each]) for each in below}
        )
        self._types |= dict.fromkeys(below)
        with contextlib.suppress(CycleError):
            order.prepare()  # it still gives what needs no cycle; the rest has no type
        while ready := order.get_ready():
            for each in ready:
                function = self._functions[each]
                inferred = self._inferred[function] = self.infer(function)
                found = inferred.function.checked_type_
                self._types[each] = found if isinstance(found, FuncType) else None
            order.done(*ready)

    def _unannotated_below(self, name: str) -> set[str]:
        """Return the functions whose types are needed to infer that of `name`."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            caller = waiting.pop()
            if caller not in self._callees:
                self._callees[caller] = self._unannotated_in(self._functions[caller])
            fresh = [each for each in self._callees[caller] if each not in found]
            found.update(fresh)
            waiting += fresh
        return found

    def _unannotated_in(self, expr: Expr) -> list[str]:
        names = [found.name_hint for found in called_globals(expr)]
        return [
            name
            for name in names
            if name in self._functions and self._functions[name].annotated_type is None
        ]
