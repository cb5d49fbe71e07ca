"""No module imports itself by way of others, and a name is one module's.

All imports count: those for types alone, and those inside of functions, too.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from parpass.relay.analysis.call_graph import strong_components

ROOT = Path(__file__).parents[1]

# Packages whose modules correspond to those of another package: ONNX converters,
# dynamic forms and rules of operators, errors of what raises them, what the command
# runs, texts of both embedded IRs.
COUNTERPARTS = (
    "parpass.cli.",
    "parpass.errors.",
    "parpass.relay.backend.lowering.rules.",
    "parpass.relay.frontend.onnx.operators.",
    "parpass.relay.op.dyn.",
    "parpass.relay.text.",
    "parpass.tir.text.",
)

# Names that two modules have all the same, and why.
SHARED = {
    "adt": "of types, and of matches, as in TVM",
    "interpreter": "of programs, and of the passes of a stage",
    "parser": "of programs, and of pipelines",
    "printer": "of programs, and of pipelines",
    "testing": "of adapters, and of passes on expressions, as in TVM",
}


@functools.cache
def modules() -> dict[str, Path]:
    """Return the modules of parpass by name."""
    found: dict[str, Path] = {}
    for path in sorted((ROOT / "parpass").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


@functools.cache
def parsed(path: Path) -> ast.Module:
    """Return a module's tree."""
    return ast.parse(path.read_text())


Import = ast.Import | ast.ImportFrom


@functools.cache
def import_statements(path: Path) -> tuple[list[Import], set[int]]:
    """Return the imports of a module, and the lines of those inside of functions."""
    found: list[Import] = []
    late: set[int] = set()

    def visit(body: ast.AST, *, is_late: bool) -> None:
        for node in ast.iter_child_nodes(body):
            if isinstance(node, ast.Import | ast.ImportFrom):
                found.append(node)
                late.update([node.lineno] if is_late else [])
            elif not isinstance(node, ast.expr):  # which has none
                is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                visit(node, is_late=is_late or is_function)

    visit(parsed(path), is_late=False)
    return found, late


def imports(path: Path) -> Iterator[str]:
    """Yield the modules that a module imports, wherever it does."""
    known = modules()
    for node in import_statements(path)[0]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif node.module in known:
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


def test_an_import_inside_of_a_function_says_why():
    unexplained = [
        f"{path.relative_to(ROOT)}:{line}"
        for name, path in modules().items()
        if name.startswith(EXPLAINED)
        for lines in [path.read_text().splitlines()]
        for line in sorted(import_statements(path)[1])
        if "#" not in lines[line - 1] and "#" not in lines[line - 2]
    ]
    assert not unexplained


# It looks at that of others, and lists that are made at once.
LIBRARYS_PROPERTY = (
    "parpass.runner.cache.value_digest",
    "parpass.integrations.codemod",
)


def test_no_lock_of_the_librarys_is_in_a_cached_property():
    # Before Python 3.12 it has one, in which a child may wait for ever.
    found = [
        name
        for name, path in modules().items()
        if not name.startswith(LIBRARYS_PROPERTY)
        if re.search(r"functools(\.| import .*)cached_property", path.read_text())
    ]
    assert not found
