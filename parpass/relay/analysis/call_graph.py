"""The call graph of a module and strongly connected components of any graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from parpass.errors import UnknownGlobalError
from parpass.ir.module.reachability import called_globals
from parpass.relay.expr import GlobalVar

if TYPE_CHECKING:
    from parpass.ir.module import IRModule


NameT = TypeVar("NameT")


def strong_components(edges: Mapping[NameT, Sequence[NameT]]) -> list[list[NameT]]:
    """Return the components, each after those that it has edges to.

    The algorithm is Tarjan's, on an explicit stack; it is linear.

    Args:
        edges: For each node its successors, which are keys too.
    """
    index: dict[NameT, int] = {}
    lowest: dict[NameT, int] = {}  # of the nodes whose component is not complete
    path: list[NameT] = []
    found: list[list[NameT]] = []
    for root in edges:
        if root in index:
            continue
        visiting: list[tuple[NameT, Iterator[NameT]]] = []
        _enter(root, edges, index, lowest, path, visiting)
        while visiting:
            node, below = visiting[-1]
            for child in below:
                if child not in index:
                    _enter(child, edges, index, lowest, path, visiting)
                    break
                if child in lowest:
                    lowest[node] = min(lowest[node], index[child])
            else:
                visiting.pop()
                if visiting:
                    around, _ = visiting[-1]
                    lowest[around] = min(lowest[around], lowest[node])
                if lowest[node] == index[node]:
                    found.append(_completed(node, path, lowest))
    return found


def _enter(
    node: NameT,
    edges: Mapping[NameT, Sequence[NameT]],
    index: dict[NameT, int],
    lowest: dict[NameT, int],
    path: list[NameT],
    visiting: list[tuple[NameT, Iterator[NameT]]],
) -> None:
    index[node] = lowest[node] = len(index)
    path.append(node)
    visiting.append((node, iter(edges[node])))


def _completed(root: NameT, path: list[NameT], lowest: dict[NameT, int]) -> list[NameT]:
    """Remove the component that begins with `root` from the path, and return it."""
    members: list[NameT] = []
    while not members or members[-1] != root:
        members.append(path.pop())
        del lowest[members[-1]]
    return members[::-1]


class CallGraph:
    """The references between a module's functions, at the time of construction.

    A reference counts once for each function that contains it, a call or not. Functions
    are identified by name or by global variable.

    Args:
        module: The module. Names that it does not define are left out.

    Attributes:
        module: The module.
        callees: The names that each function refers to, in order of appearance.
        callers: The names of the functions that refer to each function.
    """

    def __init__(self, module: IRModule) -> None:
        functions = module.functions_by_name
        self.module = module
        self.callees: Mapping[str, tuple[str, ...]] = {
            name: tuple(
                callee.name_hint
                for callee in called_globals(function)
                if callee.name_hint in functions
            )
            for name, function in functions.items()
        }
        callers: dict[str, list[str]] = {name: [] for name in functions}
        for caller, names in self.callees.items():
            for name in names:
                callers[name].append(caller)
        self.callers: Mapping[str, tuple[str, ...]]
        self.callers = {name: tuple(found) for name, found in callers.items()}
        self._components = strong_components(self.callees)
        self._recursive = {
            name
            for component in self._components
            for name in component
            if len(component) > 1 or name in self.callees[name]
        }

    def ref_count(self, var: GlobalVar | str) -> int:
        """Return how many functions refer to a function, itself included."""
        return len(self.callers[self._known(var)])

    def global_call_count(self, var: GlobalVar | str) -> int:
        """Return how many functions a function refers to."""
        return len(self.callees[self._known(var)])

    def is_recursive(self, var: GlobalVar | str) -> bool:
        """Return whether a function refers to itself, directly or through others."""
        return self._known(var) in self._recursive

    def entry_points(self) -> list[GlobalVar]:
        """Return the functions that no other one refers to, in the module's order."""
        return [
            self.module.get_global_var(name)
            for name, callers in self.callers.items()
            if not set(callers) - {name}
        ]

    def sccs(self) -> list[list[GlobalVar]]:
        """Return the strongly connected components, callees before callers.

        The functions of a component all refer to each other, directly or not.
        """
        var = self.module.get_global_var
        return [[var(name) for name in component] for component in self._components]

    def print_var(self, var: GlobalVar | str) -> str:
        """Return a text on one function: its number of uses and its callees."""
        name = self._known(var)
        lines = [f"Call graph node <{name}> #refs = {self.ref_count(name)}"]
        lines += [f"  call site: <{callee}>" for callee in self.callees[name]]
        return "\n".join(lines)

    def __str__(self) -> str:
        return "\n\n".join(map(self.print_var, self.callees))

    def _known(self, var: GlobalVar | str) -> str:
        name = var.name_hint if isinstance(var, GlobalVar) else var
        if name not in self.callees:
            raise UnknownGlobalError(name, self.callees)
        return name
