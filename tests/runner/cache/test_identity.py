"""Identity of passes: what changes it, what does not, and what has none."""

from __future__ import annotations

import contextlib
import functools
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextvars import ContextVar
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from parpass.runner.cache.code_references import UnknownIdentityError
from parpass.runner.cache.identity import identity_of, identity_of_value
from parpass.runner.cache.library_versions import version_of_library
from parpass.transform import FunctionPass, PassInfo

HEAD = """
from parpass.transform import FunctionPass, PassInfo
"""
PASS = """
class Mine(FunctionPass):
    pass_info = PassInfo(0, "Mine")
    def __init__(self, amount=1):
        self.amount = amount
    def transform_function(self, func, mod, ctx):
        return {}
"""


@pytest.fixture(autouse=True)
def _no_module_stays() -> Iterator[None]:
    yield
    for name in ("helpers", "mine", "pack", "pack.json", "pack.mine"):
        sys.modules.pop(name, None)


def module_of(name: str, source: str) -> ModuleType:
    """Return a module of a program, as its import would make it."""
    made = ModuleType(name)
    sys.modules[name] = made
    exec(compile(HEAD + textwrap.dedent(source), f"{name}.py", "exec"), vars(made))
    return made


def content(source: str, helpers: str = "", *args: Any) -> bytes:
    """Return the identity of the pass in a module, whose helpers are in another."""
    module_of("helpers", helpers)
    return identity_of(module_of("mine", source).Mine(*args)).content


def digest_of(value: Any) -> bytes:
    """Return the digest of a value, and of the code that is in it."""
    return identity_of_value(value).content


CHANGES = {
    "a body": (PASS.format("func"), PASS.format("None")),
    "a constant in it": (PASS.format("func + 1"), PASS.format("func + 2")),
    "1 for True": (PASS.format("func + 1"), PASS.format("func + True")),
    "a default": (PASS.format("func"), PASS.format("func").replace("=1", "=2")),
    "a global": ("N = 1\n" + PASS.format("N"), "N = 2\n" + PASS.format("N")),
    "a table": (
        "N = {'a': [1]}\n" + PASS.format("N"),
        "N = {'a': [2]}\n" + PASS.format("N"),
    ),
    "a function it calls": (
        "def f(x): return x\n" + PASS.format("f(func)"),
        "def f(x): return -x\n" + PASS.format("f(func)"),
    ),
    "a function that calls": (
        "def g(x): return x\ndef f(x): return g(x)\n" + PASS.format("f(func)"),
        "def g(x): return -x\ndef f(x): return g(x)\n" + PASS.format("f(func)"),
    ),
    "a lambda in it": (
        PASS.format("(lambda x: x + 1)(func)"),
        PASS.format("(lambda x: x + 2)(func)"),
    ),
    "a comprehension": (
        "def f(x): return x\n" + PASS.format("[f(x) for x in func]"),
        "def f(x): return -x\n" + PASS.format("[f(x) for x in func]"),
    ),
    "a class it makes": (
        "class A:\n  x = 1\n" + PASS.format("A()"),
        "class A:\n  x = 2\n" + PASS.format("A()"),
    ),
    "a base of that": (
        "class B:\n  def f(self): return 1\nclass A(B): pass\n" + PASS.format("A()"),
        "class B:\n  def f(self): return 2\nclass A(B): pass\n" + PASS.format("A()"),
    ),
    "a property": (
        "class A:\n  @property\n  def x(self): return 1\n" + PASS.format("A().x"),
        "class A:\n  @property\n  def x(self): return 2\n" + PASS.format("A().x"),
    ),
    "a static method": (
        "class A:\n  @staticmethod\n  def x(): return 1\n" + PASS.format("A.x()"),
        "class A:\n  @staticmethod\n  def x(): return 2\n" + PASS.format("A.x()"),
    ),
    "a cached function": (
        "import functools\n@functools.cache\ndef f(x): return x\n"
        + PASS.format("f(func)"),
        "import functools\n@functools.cache\ndef f(x): return -x\n"
        + PASS.format("f(func)"),
    ),
    "what a decorator wraps": (
        "import functools\ndef d(f):\n  @functools.wraps(f)\n"
        "  def g(x): return f(x)\n  return g\n@d\ndef f(x): return x\n"
        + PASS.format("f(func)"),
        "import functools\ndef d(f):\n  @functools.wraps(f)\n"
        "  def g(x): return f(x)\n  return g\n@d\ndef f(x): return -x\n"
        + PASS.format("f(func)"),
    ),
    "what a decorator does": (
        "import functools\ndef d(f):\n  @functools.wraps(f)\n"
        "  def g(x): return f(x)\n  return g\n@d\ndef f(x): return x\n"
        + PASS.format("f(func)"),
        "import functools\ndef d(f):\n  @functools.wraps(f)\n"
        "  def g(x): return -f(x)\n  return g\n@d\ndef f(x): return x\n"
        + PASS.format("f(func)"),
    ),
    "a partial function": (
        "import functools\nf = functools.partial(max, 1)\n" + PASS.format("f(func)"),
        "import functools\nf = functools.partial(max, 2)\n" + PASS.format("f(func)"),
    ),
    "an enumeration": (
        "import enum\nclass E(enum.Enum):\n  A = 1\n" + PASS.format("E.A"),
        "import enum\nclass E(enum.Enum):\n  A = 2\n" + PASS.format("E.A"),
    ),
    "a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass D:\n  x: int = 1\n"
        + PASS.format("D()"),
        "from dataclasses import dataclass\n@dataclass\nclass D:\n  x: int = 2\n"
        + PASS.format("D()"),
    ),
    "a struct": (
        "import msgspec\nclass S(msgspec.Struct):\n  x: int = 1\n" + PASS.format("S()"),
        "import msgspec\nclass S(msgspec.Struct):\n  x: int = 2\n" + PASS.format("S()"),
    ),
    "a named tuple": (
        "from typing import NamedTuple\nclass T(NamedTuple):\n  x: int = 1\n"
        + PASS.format("T()"),
        "from typing import NamedTuple\nclass T(NamedTuple):\n  x: int = 2\n"
        + PASS.format("T()"),
    ),
    "a function of a library": (
        "import math\n" + PASS.format("math.floor(func)"),
        "import math\n" + PASS.format("math.ceil(func)"),
    ),
}


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_another_program_has_another_identity(change: str):
    before, after = CHANGES[change]
    assert content(before) == content(before)
    assert content(before) != content(after)


HELPERS = {
    "helpers.f": "import helpers\n" + PASS.format("helpers.f(func)"),
    "from helpers": "from helpers import f\n" + PASS.format("f(func)"),
    "late": PASS.format("__import__").replace(
        "return __import__", "from helpers import f; return f(func)"
    ),
    "as a value": "import helpers\n" + PASS.format("getattr(helpers, 'f')(func)"),
    "a base": "import helpers\n"
    + PASS.format("self.f(func)").replace("FunctionPass)", "FunctionPass, helpers.B)"),
}


@pytest.mark.parametrize("way", sorted(HELPERS))
def test_helpers_in_another_module_are_part_of_it(way: str):
    helpers = "def f(x): return {}\nclass B:\n  def f(self, x): return {}\n"
    source = HELPERS[way]
    before = content(source, helpers.format("x", "x"))
    assert before == content(source, helpers.format("x", "x"))
    assert before != content(source, helpers.format("-x", "-x"))


def test_what_is_not_run_is_no_part_of_it():
    source = "import helpers\n" + PASS.format("helpers.f(func)")
    helpers = "def f(x): return x\n"
    before = content(source, helpers)
    assert content("\n\n# a remark\n" + source, helpers) == before
    assert content(source + "\ndef other(): return 1\n", helpers) == before
    assert content(source, helpers + "\nN = 2\ndef g(): pass\n") == before


def test_lines_are_told_apart_from_the_content():
    source = PASS.format("func")
    above, below = (
        identity_of(module_of("mine", text).Mine()) for text in (source, "\n" + source)
    )
    assert above.content == below.content
    assert above.lines != below.lines


def test_options_are_part_of_it():
    source = PASS.format("func")
    assert content(source, "", 1) == content(source)
    assert len({content(source, "", n) for n in (1, 2, 1.0, True, "1", None)}) == 6


DIFFERENT: list[tuple[Any, Any]] = [
    ((1, 2), [1, 2]),
    ({1: 2}, {1: 3}),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({1, 2}, {1, 3}),
    (("ab", "c"), ("a", "bc")),
    (b"a", "a"),
    (0.0, -0.0),
    ([[]], [[], []]),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=repr)
def test_different_values_have_different_digests(one: Any, other: Any):
    assert digest_of(one) != digest_of(other)


UNKNOWN = {
    "time.time": "import time\n" + PASS.format("time.time()"),
    "time.perf_counter": "from time import perf_counter\n"
    + PASS.format("perf_counter()"),
    "random.random": "import random\n" + PASS.format("random.random()"),
    "random.randint": "from random import randint\n" + PASS.format("randint(1, 2)"),
    "os.environ": "import os\n" + PASS.format("os.environ['HOME']"),
    "print()": PASS.format("print(func)"),
    "sys.argv": "import sys\n" + PASS.format("sys.argv"),
    "open()": PASS.format("open('f').read()"),
    "eval()": PASS.format("eval('1')"),
    "read_text()": "from pathlib import Path\n" + PASS.format("Path('f').read_text()"),
    "now()": "import datetime\n" + PASS.format("datetime.datetime.now()"),
    "lock": "import threading\nL = threading.Lock()\n" + PASS.format("L"),
    "numpy.load": "import numpy\n" + PASS.format("numpy.load('f')"),
    "importlib.import_module": "import importlib\n"
    + PASS.format("importlib.import_module('f')"),
    "__subclasses__": PASS.format("FunctionPass.__subclasses__()"),
    "imports datetime": PASS.format("x").replace(
        "return x", "from datetime import datetime; return datetime.now()"
    ),
    "'nowhere', which is not loaded yet": PASS.format("x").replace(
        "return x", "import nowhere"
    ),
}


@pytest.mark.parametrize("what", sorted(UNKNOWN))
def test_what_differs_each_time_has_no_identity(what: str):
    with pytest.raises(UnknownIdentityError, match=what.replace("()", r"\(\)")):
        content(UNKNOWN[what])


def test_the_reason_names_the_place():
    source = "import threading\nL = threading.Lock()\ndef f(): return L\n"
    with pytest.raises(UnknownIdentityError, match=r"'L' of function 'f': "):
        content(source + PASS.format("f()"))


def test_a_file_that_an_option_names_is_not_read():
    source = "from pathlib import Path\n" + PASS.format("self.amount.read_text()")
    module = module_of("mine", source)
    with pytest.raises(UnknownIdentityError, match=r"read_text\(\)"):
        identity_of(module.Mine(module.Path("f")))


class _Broken:
    """Raises where it is asked for its state."""

    def __getstate__(self) -> Any:
        raise OSError("gone")


def test_what_raises_where_it_is_looked_at_has_no_identity():
    with pytest.raises(UnknownIdentityError, match="gone"):
        digest_of([_Broken()])


def test_what_compiled_code_made_has_the_identity_of_its_state_or_none():
    found: list[bytes] = []
    for seed in (0, 1):  # it depends on the version of numpy
        with contextlib.suppress(UnknownIdentityError):
            found.append(digest_of(np.random.default_rng(seed)))
    assert len(set(found)) in (0, 2)


class _Counting:
    """Wraps a function, beside what it knows itself."""

    def __init__(self, start: int) -> None:
        functools.update_wrapper(self, len)
        self.start = start

    def __call__(self, value: Any) -> int:
        return self.start + len(value)


def test_objects_that_wrap_a_function_are_told_by_all_that_they_are():
    assert digest_of(_Counting(1)) == digest_of(_Counting(1))
    assert digest_of(_Counting(1)) != digest_of(_Counting(2))


def test_the_default_of_a_contextvar_is_its_value():
    variables = [ContextVar("tests.of_identity", default=n) for n in (1, 2)]
    assert digest_of(variables[0]) != digest_of(variables[1])


def test_a_relative_import_is_of_the_package():
    module_of("pack", "")
    source = PASS.format("x").replace("return x", "from .json import f; return f(func)")
    found: list[bytes] = []
    for result in ("x", "-x"):
        module_of("pack.json", f"def f(x): return {result}\n")
        module = module_of("pack.mine", source)
        module.__package__ = "pack"
        found.append(identity_of(module.Mine()).content)
    assert found[0] != found[1]


def test_passes_in_options_are_asked_for_their_identity():
    module = module_of("mine", PASS.format("self.amount"))
    assert identity_of(module.Mine(Keyed(1))) == identity_of(module.Mine(Keyed(1)))
    with pytest.raises(UnknownIdentityError, match="cache_key"):
        identity_of(module.Mine(Keyed(None)))


class Keyed(FunctionPass):
    """Says itself who it is."""

    pass_info = PassInfo(0, "Keyed")

    def __init__(self, key: Any) -> None:
        self.key = key
        self.lock = open  # which has no digest

    def cache_key(self) -> Any:
        return self.key


def test_a_pass_may_say_itself_who_it_is():
    assert identity_of(Keyed(1)) == identity_of(Keyed(1))
    assert identity_of(Keyed(1)) != identity_of(Keyed(2))
    with pytest.raises(UnknownIdentityError, match="cache_key"):
        identity_of(Keyed(None))


def test_a_library_is_told_by_its_version(monkeypatch: pytest.MonkeyPatch):
    source = "import click\n" + PASS.format("click.echo(func)")
    before = content(source)
    version_of_library.cache_clear()
    monkeypatch.setattr("importlib.metadata.version", str.upper)
    try:
        assert content(source) != before
    finally:
        version_of_library.cache_clear()


def test_the_compiler_of_kernels_is_told_by_its_version(
    monkeypatch: pytest.MonkeyPatch,
):
    version_of_library.cache_clear()
    monkeypatch.setattr("importlib.metadata.version", str.upper)
    try:
        assert "llvmlite LLVMLITE" in version_of_library("parpass")
    finally:
        version_of_library.cache_clear()


def test_all_processes_come_to_the_same():
    script = textwrap.dedent(
        """
        from parpass.runner.cache.identity import identity_of
        from parpass.transform import FunctionPass, PassInfo
        NAMES = {"a", "b", "c", "d"}
        class Mine(FunctionPass):
            pass_info = PassInfo(0, "Mine")
            def transform_function(self, func, mod, ctx):
                return func if func in NAMES and func in {"x", "y", "z"} else None
        print(identity_of(Mine()).content.hex())
        """
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            capture_output=True,
            env={"PYTHONHASHSEED": seed},
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
