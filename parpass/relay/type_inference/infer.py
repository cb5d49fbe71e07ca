"""Entry points of type inference: of expressions, functions, and a module's functions.

Functions without annotation that call each other are inferred together, as are those of
a strongly connected component of the call graph; their callees are inferred before. The
type of a function does not depend on which function was requested first, so that errors
are equal in whatever order, and in whichever process, functions are visited.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, TypeVar, cast

from parpass.ir.adt import TypeData
from parpass.ir.module import IRModule, stated_type
from parpass.ir.types import FuncType
from parpass.relay.analysis import called_globals
from parpass.relay.analysis.call_graph import strong_components
from parpass.relay.analysis.findings import Finding, raise_errors
from parpass.relay.analysis.type_analysis import unbound_type_vars
from parpass.relay.expr import Expr, Function, GlobalVar
from parpass.relay.type_inference.solver import TypeSolver
from parpass.relay.type_inference.type_inferencer import TypeInferencer


class Inferred(NamedTuple):
    """The result of inference for a function.

    Attributes:
        function: The function with its types; unchanged, if some could not be inferred.
        type: The type of the function; None if it could not be inferred.
        findings: The errors.
        used_globals: The types of the global functions that it refers to.
        nodes: The number of its nodes.
        used_types: Digests of the definitions of types that it refers to.
    """

    function: Function
    type: FuncType | None
    findings: list[Finding]
    used_globals: dict[str, FuncType]
    nodes: int
    used_types: dict[str, bytes]


class GlobalTypes:
    """Answers which type a global function has, and how a type is defined.

    Args:
        mod: The module, which must not change while this is in use; None for an
            expression that refers to no globals.
    """

    def __init__(self, mod: IRModule | None) -> None:
        # Not the module itself: what is kept for a module must not keep it alive.
        self._functions: Mapping[str, Function]
        self._functions = mod.functions_by_name if mod is not None else {}
        self._global_vars: Mapping[str, GlobalVar]
        self._global_vars = mod.global_vars_by_name if mod is not None else {}
        self._definitions: Mapping[str, TypeData]
        self._definitions = mod.types.by_name if mod is not None else {}
        self._types: dict[str, FuncType | None] = {}
        self._inferred: dict[str, Inferred] = {}
        self._callees: dict[str, list[str]] = {}
        self._order: dict[str, int] = {}

    @property
    def names(self) -> Collection[str]:
        """The names of the module's functions."""
        return self._functions.keys()

    def type_of(self, name: str) -> FuncType | None:
        """Return the type of a function of the module, None if it cannot be found."""
        # By name, for a module may load another equal object when it is asked again.
        if name not in self._types:
            annotated = stated_type(self._functions, name)
            if annotated is not None:
                self._types[name] = annotated
            else:
                self._infer_with_callees(name)
        return self._types[name]

    def definition(self, name: str) -> TypeData | None:
        """Return the definition of a type of the module, None if there is none."""
        return self._definitions.get(name)

    def own_global_var(self, global_var: GlobalVar) -> GlobalVar:
        """Return the module's own global variable of that name, if it has one."""
        return self._global_vars.get(global_var.name_hint, global_var)

    def infer(self, function: Function, name: str | None = None) -> Inferred:
        """Return a function with its types.

        Args:
            function: The function.
            name: Its name, if it is in the module: its type may depend on
                functions that it calls and that call it.
        """
        stated = function.annotated_type is not None
        if name is None or stated or name not in self._functions:
            return self._infer_together({"": function}, TypeSolver(), {})[0]
        if name not in self._inferred:
            self._callees[name] = self._unannotated_in(function)
            if self._callees[name]:
                self._infer_with_callees(name)
            else:
                self._infer_group({name: function}, is_recursive=False)
        return self._inferred[name]

    def _infer_with_callees(self, name: str) -> None:
        below = {name, *self._unannotated_below(name)}
        edges = {
            each: [callee for callee in self._callees[each] if callee in below]
            for each in self._in_order(below)
        }
        for group in strong_components(edges):
            is_recursive = len(group) > 1 or group[0] in edges[group[0]]
            functions = {each: self._functions[each] for each in self._in_order(group)}
            self._infer_group(functions, is_recursive=is_recursive)

    def _in_order(self, names: Collection[str]) -> list[str]:
        """Return names in the order of the module."""
        if len(names) == 1:  # else it may wait for all functions to be known
            return list(names)
        if not self._order:
            self._order = {each: at for at, each in enumerate(self._functions)}
        return sorted(names, key=self._order.__getitem__)

    def _infer_group(
        self, functions: Mapping[str, Function], *, is_recursive: bool
    ) -> None:
        solver, assumed = TypeSolver(), dict[str, FuncType]()
        if is_recursive:
            for name, function in functions.items():
                assumed[name] = _with_unknowns(function, solver)
        found = self._infer_together(functions, solver, assumed)
        for name, inferred in zip(functions, found, strict=True):
            self._inferred[name] = inferred
            self._types[name] = inferred.type

    def _infer_together(
        self,
        functions: Mapping[str, Function],
        solver: TypeSolver,
        assumed: Mapping[str, FuncType],
    ) -> list[Inferred]:
        """Infer functions; if they call each other, with assumed types for them all."""
        typed: list[tuple[Function, TypeInferencer]] = []
        for name, function in functions.items():
            inferencer = TypeInferencer(self, solver, assumed)
            new = inferencer.visit(function)
            assert isinstance(new, Function)
            typed.append((new, inferencer))
            if name in assumed:
                inferencer.uses.conclude(name, function, new.checked_type_)
        for _, inferencer in typed:
            inferencer.inference.report_unknown()
        return [
            _inferred(old, new, inferencer)
            for old, (new, inferencer) in zip(functions.values(), typed, strict=True)
        ]

    def _unannotated_below(self, name: str) -> set[str]:
        """Return the functions whose types are needed to infer that of `name`."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            caller = waiting.pop()
            if caller not in self._callees:
                self._callees[caller] = self._unannotated_in(self._functions[caller])
            fresh = [
                each
                for each in self._callees[caller]
                if each not in found and each not in self._types
            ]
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


def _with_unknowns(function: Function, solver: TypeSolver) -> FuncType:
    """Return the type of a function, unknown where it is not annotated."""
    params = [param.type_annotation or solver.unknown() for param in function.params]
    result = function.ret_type or solver.unknown()
    return FuncType(tuple(params), result, function.type_params)


def _inferred(old: Function, new: Function, inferencer: TypeInferencer) -> Inferred:
    unbound: list[Finding] = []
    if inferencer.inference.solver.type_vars:
        unbound = [
            Finding(
                getattr(node, "span", None) or old.span,
                f"type variable '{var}' is used, and no function around it binds it",
            )
            for node, var in unbound_type_vars(old)
        ]
    findings = [
        *inferencer.scoping.free_findings(),
        *inferencer.scoping.findings(old),
        *unbound,
        *inferencer.inference.findings,
    ]
    typ = inferencer.resolved(new.checked_type_)
    is_complete = inferencer.complete()
    return Inferred(
        new if is_complete else old,
        typ if isinstance(typ, FuncType) else None,
        findings,
        inferencer.uses.types,
        len(inferencer.memo_map),
        inferencer.uses.definitions,
    )


ExprT = TypeVar("ExprT", bound=Expr)


def infer_type(expr: ExprT, mod: IRModule | None = None) -> ExprT:
    """Return an expression with types on all of its nodes.

    Args:
        expr: The expression; its free variables must be annotated.
        mod: Has the functions that the expression refers to.

    Raises:
        DiagnosticError: The expression is ill-typed; it holds all that was found.
    """
    inferencer = TypeInferencer(GlobalTypes(mod))
    typed = inferencer.visit(expr)
    inferencer.inference.report_unknown()
    scopes = inferencer.scoping.findings(expr)
    raise_errors([*scopes, *inferencer.inference.findings])
    raise_errors(
        [
            Finding(
                getattr(user, "span", None),
                f"expected a well-typed function, got '{name}', which has errors",
            )
            for name, user in inferencer.uses.ill_typed.items()
        ]
    )
    inferencer.complete()
    return cast("ExprT", typed)


def typed_function(func: Function, mod: IRModule) -> Function:
    """Return a function with types on all of its nodes, itself if it has them.

    A pipeline runs InferType before passes that require it; a direct call of a pass
    does not.

    Raises:
        DiagnosticError: The function is ill-typed.
    """
    return func if func.checked_type_ is not None else infer_type(func, mod)
