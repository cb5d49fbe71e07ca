"""Modules of TVM 0.8 are importable by TVM's paths, or on the page's list."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from parpass import relay, tir
from parpass.cli.options.listing import PassOrigin, pass_origin
from parpass.transform import pass_keys
from parpass.tvm_paths import TVM_PATHS

ROOT = Path(__file__).parents[1]


@functools.cache
def api() -> dict[str, list[str]]:
    """Return TVM's modules, by their paths below `tvm`, and their names.

    Of modules that are not here names are not listed.
    """
    found: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("tvm_api.txt").read_text().splitlines():
        if line.startswith("["):
            module = line.strip("[]")
            found[module] = []
        elif found:
            [*_, module] = found
            found[module] += line.split()
    found.update((module, []) for module in found.pop(""))
    return {module.removeprefix("tvm").strip("."): found[module] for module in found}


class Absent:
    """What `for-tvm-users.md` says is not here.

    Attributes:
        modules: Paths, for what is below, too. One with a star is for other modules
            than are named elsewhere.
        names: By path.
        others: Paths of which all but these names are not here.
    """

    def __init__(self) -> None:
        page = (ROOT / "docs/for-tvm-users.md").read_text(encoding="utf-8")
        [listing] = re.findall(
            r"^## Missing names by path.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL
        )
        self.modules: list[str] = []
        self.names: dict[str, list[str]] = {}
        self.others: dict[str, list[str]] = {}
        for row in re.findall(r"^\| (`.*) \|$", listing, re.MULTILINE):
            paths, _, names = row.partition(" | ")
            words = re.findall(r"`([^`]+)`", names)
            for path in re.findall(r"`([^`]+)`", paths):
                path = path.removeprefix("tvm").strip(".")
                if names.startswith("all but "):
                    self.others[path] = words
                elif words:
                    self.names[path] = words
                else:
                    self.modules.append(path)

    def has_module(self, path: str) -> bool:
        """Return whether a module is listed, or a package that it is in."""
        if api()[path]:  # it was here when the names were listed, whatever a star says
            return path in self.modules
        parts = path.split(".")
        above = [".".join(parts[: i + 1]) for i in range(len(parts))]
        return any(fnmatchcase(one, out) for one in above for out in self.modules)

    def has_name(self, path: str, name: str) -> bool:
        """Return whether a name is listed, for its module or for the package above."""
        if path in self.others:
            return name not in self.others[path]
        above = path.rpartition(".")[0]
        return any(name in self.names.get(one, ()) for one in (path, above))


@functools.cache
def absent() -> Absent:
    return Absent()


def our_module(path: str) -> ModuleType:
    return importlib.import_module(f"parpass.{path}".strip("."))


def is_there(path: str) -> bool:
    try:
        our_module(path)
    except ModuleNotFoundError:
        return False
    return True


def has(path: str, name: str) -> bool:
    """Return whether a name is in a module, or in the package that this is in."""
    above = path.rpartition(".")[0]
    return any(hasattr(our_module(one), name) for one in {path, above or path})


def names() -> Iterator[tuple[str, str]]:
    """Yield the names of TVM's modules that are here."""
    for path, of_module in api().items():
        if not absent().has_module(path) or is_there(path):
            yield from ((path, name) for name in of_module)


@pytest.mark.slow
def test_each_module_of_tvms_is_importable_or_listed() -> None:
    assert [
        path for path in api() if not is_there(path) and not absent().has_module(path)
    ] == []


def test_each_name_of_tvms_is_there_or_listed() -> None:
    missing = [
        f"{path}.{name}"
        for path, name in names()
        if not has(path, name) and not absent().has_name(path, name)
    ]
    assert missing == []


# Passes that TVM has in C++, without a function in Python.
IN_CPP_ALONE = {"InlinePrimitives", "PrintIR"}


def test_a_pass_has_tvms_key_if_tvm_has_the_pass() -> None:
    tvms = {*IN_CPP_ALONE, *api()["relay.transform"], *api()["tir.transform"]}
    ours = {*relay.transform.__all__, *tir.transform.__all__}
    ours |= {"DefaultPipeline", "LowerToTIR", "PrintIR"}
    found = {name: key for name, key in pass_keys().items() if name in ours}
    assert len(found) > 40
    for name, key in found.items():
        is_tvms = pass_origin(key) is PassOrigin.TVM
        assert (is_tvms, key.startswith("parpass.")) == (name in tvms, name not in tvms)


def test_what_is_listed_is_tvms_and_not_there() -> None:
    page = absent()
    modules = [path for path in page.modules if "*" not in path]
    assert {*modules, *page.names, *page.others} <= {*api()}
    assert [path for path in modules if is_there(path)] == []
    listed = [(path, name) for path in page.names for name in page.names[path]]
    assert [f"{path}.{name}" for path, name in listed if has(path, name)] == []
    assert [name for path, name in listed if name not in api()[path]] == []
    rest = [(path, name) for path in page.others for name in page.others[path]]
    assert [f"{path}.{name}" for path, name in rest if not has(path, name)] == []


@pytest.mark.parametrize("path", TVM_PATHS)
def test_a_path_has_the_names_that_the_module_behind_it_has(path: str) -> None:
    module: Any = importlib.import_module(f"parpass.{path}")
    for defining, words in TVM_PATHS[path].items():
        behind: Any = importlib.import_module(f"parpass.{defining}")
        has_all = "*" in words
        listed = [*words.rstrip(" *").split(), *(behind.__all__ if has_all else ())]
        for name in listed:
            assert getattr(module, name) is getattr(behind, name)
            assert name in dir(module)
            assert name in module.__all__ or has_all


def test_other_names_are_refused() -> None:
    module: Any = importlib.import_module("parpass.relay.ty")
    with pytest.raises(AttributeError, match=r"'parpass\.relay\.ty' has no .* 'Typ'"):
        _ = module.Typ


def test_a_class_is_pickled_by_either_name() -> None:
    for path in ("parpass.relay.functor", "parpass.relay.expr_functor"):
        assert pickle.loads(f"c{path}\nExprMutator\n.".encode()) is relay.ExprMutator
    assert pickle.loads(pickle.dumps(relay.ExprMutator)) is relay.ExprMutator


def test_a_path_has_a_spec_of_its_name() -> None:
    spec = importlib.util.find_spec("parpass.relay.expr_functor")
    assert spec is not None
    assert spec.name == "parpass.relay.expr_functor"


def run(*lines: str) -> None:
    command = [sys.executable, "-c", "\n".join(lines)]
    subprocess.run(command, check=True, cwd=ROOT, timeout=200)


@pytest.mark.slow
@pytest.mark.parametrize(
    "use",
    [
        "import parpass.runtime.packed_func\nparpass.runtime.packed_func.PackedFunc",
        "from parpass.runtime.packed_func import PackedFunc",
        "from parpass.runtime import packed_func\npacked_func.PackedFunc",
        "import parpass\nparpass.runtime.packed_func.PackedFunc",
        "import_module('parpass.runtime.packed_func').PackedFunc",
        r"loads(b'cparpass.runtime.packed_func\nPackedFunc\n.')",
    ],
)
def test_a_path_is_found_in_a_new_process(use: str) -> None:
    run("from importlib import import_module", "from pickle import loads", use)


@pytest.mark.slow
def test_names_load_when_they_are_asked_for() -> None:
    run(
        "import sys, pickle, numpy",
        "import parpass.arith.analyzer, parpass.parser, parpass.error",
        # Pickle looks for such a function in each module that is loaded.
        "pickle.dumps(numpy.add)",
        "assert 'parpass.tir' not in sys.modules",
        "assert 'parpass.relay' not in sys.modules",
        "parpass.arith.analyzer.Analyzer",
        "assert 'parpass.tir' in sys.modules",
    )
