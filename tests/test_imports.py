"""No module imports itself by way of others, and a name is one module's.

All imports count: those for types alone, and those inside of functions, too.
"""

from __future__ import annotations

import ast
import functools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from parpass.relay.analysis.components import strong_components

ROOT = Path(__file__).parents[1]

# Rooms that have a module for each thing that another room has one of: ONNX converters,
# dynamic forms and rules of operators, errors of what raises them, what the command
# runs.
COUNTERPARTS = (
    "parpass.cli.",
    "parpass.errors.",
    "parpass.relay.backend.lowering.rules.",
    "parpass.relay.frontend.onnx.operators.",
    "parpass.relay.op.dyn.",
)

# Names that two modules have all the same, and why.
SHARED = {
    "adt": "of types, and of matches, as in TVM",
    "interpreter": "of programs, and the name under which TVM has its values",
    "parser": "of programs, and of pipelines",
    "printer": "of programs, and of pipelines",
}


@functools.cache
def modules() -> dict[str, Path]:
    """Return the modules of parpass by name."""
    found: dict[str, Path] = {}
    for path in sorted((ROOT / "parpass").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


def imports(path: Path) -> Iterator[str]:
    """Yield the modules that a module imports, wherever it does."""
    known = modules()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in known else node.module


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the sets of modules that import each other, each sorted."""
    found = strong_components({name: [*to] for name, to in graph.items()})
    return [sorted(group) for group in found if len(group) > 1]


def test_no_modules_import_each_other():
    graph = {name: {*imports(path)} - {name} for name, path in modules().items()}
    assert not circles(graph)


def test_a_circle_would_be_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [["b", "c"]]


def test_no_two_modules_have_one_name():
    of_name: dict[str, list[str]] = defaultdict(list)
    for name, path in modules().items():
        if path.name != "__init__.py" and not name.startswith(COUNTERPARTS):
            of_name[path.stem].append(name)
    shared = {name: found for name, found in of_name.items() if len(found) > 1}
    assert {n: found for n, found in shared.items() if n not in SHARED} == {}


# Where an import inside of a function has to say why; elsewhere start-up is the reason.
EXPLAINED = (
    "parpass.instrument",
    "parpass.ir",
    "parpass.relay",
    "parpass.runner",
    "parpass.runtime",
    "parpass.target",
    "parpass.tir",
    "parpass.transform",
)


def late_imports(path: Path) -> Iterator[int]:
    """Yield the lines of imports inside of functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = (part for part in ast.walk(node) if part is not node)
            for part in inside:
                if isinstance(part, ast.Import | ast.ImportFrom):
                    yield part.lineno


def test_an_import_inside_of_a_function_says_why():
    unexplained = [
        f"{path.relative_to(ROOT)}:{line}"
        for name, path in modules().items()
        if name.startswith(EXPLAINED)
        for lines in [path.read_text().splitlines()]
        for line in late_imports(path)
        if "#" not in lines[line - 1] and "#" not in lines[line - 2]
    ]
    assert not unexplained
