"""What it costs that functions can be changed: by kind of IR and what its adapter says.

    python -m bench.copies

Four light passes go over 200 functions of 100 nodes, in one process. The time is that
of the processor, so that other programs count little; the best of several rounds is
taken.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from parpass.transform import (
    FunctionPass,
    ModuleAdapter,
    PassContext,
    PassInfo,
    Sequential,
    register_adapter,
)

_FUNCTIONS, _NODES, _PASSES, _ROUNDS = 200, 100, 4, 7


@dataclass(frozen=True)
class Value:
    """A node that cannot be changed."""

    op: str
    args: tuple[Value, ...] = ()


class Node:
    """A node that can be changed."""

    def __init__(self, op: str, args: list[Node]) -> None:
        self.op, self.args = op, args


class Function:
    """A function that counts its changes."""

    def __init__(self, body: Any) -> None:
        self.body, self.changes = body, 0
        self.parent: Any = None


class Module:
    """A module of functions."""

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self.functions = functions


class Adapter(ModuleAdapter):
    """States nothing."""

    module_type = Module
    function_type = Function | Value

    def with_functions(self, mod: Module, functions: Mapping[str, Any]) -> Module:
        """Return a module of them."""
        return Module(functions)

    def size(self, function: Any, limit: int) -> int:
        """Return about how many nodes there are."""
        return min(_NODES, limit)


class Stating(Adapter):
    """States that functions are values."""

    mutability = None


class ByChanges:
    """Passes change a clone, and count that."""

    def fingerprint(self, function: Function) -> int:
        """Return how often it was changed."""
        return function.changes

    def to_change(self, function: Function) -> Function:
        """Return a clone."""
        return Function(_cloned(function.body))


class Counting(Adapter):
    """States how to clone a function, and how changes are seen."""

    mutability = ByChanges()


def _cloned(node: Node) -> Node:
    return Node(node.op, [_cloned(one) for one in node.args])


def _tree(make: Callable[[str, list[Any]], Any]) -> Any:
    layer = [make(f"x{at % 7}", []) for at in range(_NODES // 2)]
    while len(layer) > 1:
        pairs = range(0, len(layer), 2)
        layer = [make("add", layer[at : at + 2]) for at in pairs]
    return layer[0]


class Rebuild(FunctionPass):
    """Makes all nodes anew."""

    pass_info = PassInfo(0, "Rebuild")

    def transform_function(self, func: Any, mod: Any, ctx: PassContext) -> Any:
        """Return a function of new nodes."""

        def rebuilt(node: Value) -> Value:
            args = tuple([rebuilt(one) for one in node.args])
            return Value("sub" if node.op == "add" else "add" * bool(args), args)

        return rebuilt(func)


class Rename(FunctionPass):
    """Changes nodes in place."""

    pass_info = PassInfo(0, "Rename")

    def transform_function(self, func: Any, mod: Any, ctx: PassContext) -> Any:
        """Change it, and return it."""

        def rename(node: Node) -> None:
            for one in node.args:
                rename(one)
            if node.args:
                node.op = "sub" if node.op == "add" else "add"

        rename(func.body)
        func.changes += 1
        return func


class Case(NamedTuple):
    """A kind of IR, what its adapter says, and a pass."""

    kind: str
    stated: str
    adapter: ModuleAdapter
    make: Callable[[], Any]
    step: FunctionPass
    knows: bool = False


def _value() -> Value:
    return _tree(lambda op, args: Value(op, tuple(args)))


def _function() -> Function:
    return Function(_tree(Node))


CASES = [
    Case("frozen all the way down", "nothing", Adapter(), _value, Rebuild()),
    Case("", "`mutability = None`", Stating(), _value, Rebuild()),
    Case("objects that can be changed", "nothing", Adapter(), _function, Rename()),
    Case("", "a `Mutability` of its own", Counting(), _function, Rename()),
    Case("the same, and they know their module", "nothing", Adapter(), _function,
         Rename(), knows=True),
]  # fmt: skip


def _module(case: Case) -> Module:
    mod = Module({f"f{at}": case.make() for at in range(_FUNCTIONS)})
    if case.knows:
        for function in mod.functions.values():
            function.parent = mod
    return mod


def measure(case: Case) -> tuple[float, float]:
    """Return the microseconds of a run for each node and pass, and of bodies alone."""
    register_adapter(Module, case.adapter)
    root = Sequential([case.step] * _PASSES)
    runs, bodies = list[float](), list[float]()
    for _ in range(_ROUNDS):
        mod = _module(case)
        began = time.process_time()
        root(mod)
        runs.append(time.process_time() - began)
        context = PassContext.current()
        began = time.process_time()
        for function in mod.functions.values():
            for _ in range(_PASSES):
                case.step.transform_function(function, mod, context)
        bodies.append(time.process_time() - began)
    steps = _FUNCTIONS * _NODES * _PASSES / 1e6
    return min(runs) / steps, min(bodies) / steps


def main() -> None:
    """Print the table of `docs/writing-an-adapter.md`."""
    print("| functions | the adapter states | passes alone | a serial run |")
    print("|---|---|--:|--:|")
    for case in CASES:
        run, alone = measure(case)
        print(f"| {case.kind} | {case.stated} | {alone:.1f} | {run:.1f} |")


if __name__ == "__main__":
    main()
