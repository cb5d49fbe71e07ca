"""Code that travels by value."""

from __future__ import annotations

import functools
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from types import CodeType
from typing import Any, ForwardRef

import pytest

from parpass.transform.by_value import pickle_value
from parpass.transform.code_pickler import dumps
from parpass.transform.code_unpickler import number_of, unpickle
from tests.support.interleaving import interleaved

PROGRAM = """
class Adder:
    def add(self, value):
        return value + 1

def function(value):
    def inner():
        return [one + value for one in (1, "2")]
    return inner()

expression = lambda value: value + 1

@functools.lru_cache(maxsize=7)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
"""


@functools.cache
def importable(value: int) -> int:
    return value + 1


@pytest.fixture
def program() -> dict[str, Any]:
    """Give what the main script of a program defines."""
    names: dict[str, Any] = {"__name__": "__main__", "functools": functools}
    exec(compile(PROGRAM, "/of/a/program.py", "exec"), names)
    return names


def files_of(code: CodeType) -> set[str]:
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return {code.co_filename}.union(*map(files_of, inner))


@pytest.mark.parametrize("name", ["function", "expression"])
def test_a_function_and_those_in_it_keep_their_file(name: str, program: dict[str, Any]):
    sent = pickle.loads(dumps(program[name]))
    assert sent is not program[name]
    assert files_of(sent.__code__) == {"/of/a/program.py"}
    assert sent.__code__ == program[name].__code__


def test_a_method_keeps_its_file(program: dict[str, Any]):
    sent = pickle.loads(dumps(program["Adder"]))
    assert files_of(sent.add.__code__) == {"/of/a/program.py"}
    value = program["Adder"]()
    value.again = program["expression"]
    again = pickle.loads(pickle_value(value)).again
    assert files_of(again.__code__) == {"/of/a/program.py"}


def test_a_traceback_names_file_and_line(program: dict[str, Any]):
    with pytest.raises(TypeError) as caught:
        pickle.loads(dumps(program["function"]))(1)
    shown = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (shown.filename, shown.lineno) == ("/of/a/program.py", 8)


def test_bytes_are_the_same_each_time(program: dict[str, Any]):
    assert dumps(program["function"]) == dumps(program["function"])


def test_a_cached_function_of_the_main_script_travels_whole_with_an_empty_cache(
    program: dict[str, Any],
):
    cached = program["fibonacci"]
    cached(5)
    sent = pickle.loads(dumps(cached))
    assert sent is not cached
    assert sent.cache_info() == (0, 0, 7, 0)
    assert sent.__name__ == "fibonacci"
    assert sent(30) == 832040


def test_so_does_one_that_is_defined_in_a_function():
    @functools.cache
    def inner(value: int) -> int:
        return 2 * value

    assert pickle.loads(dumps(inner))(4) == 8
    assert pickle.loads(dumps(functools.cache(functools.partial(max, 3))))(2) == 3


def test_one_that_can_be_imported_is():
    assert pickle.loads(dumps(importable)) is importable


SLOTS = """
import dataclasses

class Node:
    __slots__ = ("value", "parts")

@dataclasses.dataclass(slots=True)
class Data(Node):
    name: str = ""
"""


def test_instances_of_classes_with_slots_come_back_from_another_process():
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(SLOTS, "/of/a/program.py", "exec"), names)
    node, data = names["Node"](), names["Data"]("name")
    node.value, node.parts = 1, [data]
    there = f"""
from parpass.transform.code_unpickler import unpickle
from parpass.transform.code_pickler import dumps
node = unpickle({dumps(node)!r})
node.value += 1
print(dumps(node).hex())
"""
    ran = subprocess.run(
        [sys.executable, "-c", there], capture_output=True, text=True, check=True
    )
    found = unpickle(bytes.fromhex(ran.stdout))
    assert type(found) is names["Node"]
    assert (found.value, found.parts) == (2, [data])


# Some annotations name what is there for type checkers alone.
ANNOTATED = """
import dataclasses, typing

@dataclasses.dataclass(frozen=True)
class Options:
    step: int
    like: Missing | None = None

class Adder:
    options: Options

    def __init__(self, options: Options) -> None:
        self.options = options

    def add(self, value: int, like: Missing.Kind = None) -> Missing:
        return value + self.options.step

def function(value: int) -> str:
    return str(value)
"""
# Before Python 3.15 these statements are not lazy, and nobody looks at the first line.
LAZY = """
__lazy_modules__ = ["xml.etree.ElementTree", "json"]
import xml.etree.ElementTree
from json import dumps

def function(text):
    return dumps([xml.etree.ElementTree.fromstring(text).tag, ""])

from parpass.transform import code_pickler
print(code_pickler.dumps(function).hex(), end="")
"""
ASKED = """
import sys
from parpass.transform.code_unpickler import unpickle
adder, function = unpickle(bytes.fromhex(sys.argv[1]))

def annotations(value):
    try:
        return str(value.__annotations__)
    except Exception as error:
        return repr(error)

print(adder.add(1))
for one in (type(adder), type(adder.options), type(adder).add, function):
    print(annotations(one))
"""


def defined(source: str) -> dict[str, Any]:
    """Return what a main script defines that has no future of annotations."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "/of/a/program.py", "exec", dont_inherit=True), names)
    return names


def asked_of(value: Any) -> str:
    """Return what another process prints of values that are sent to it."""
    command = [sys.executable, "-c", ASKED, dumps(value).hex()]
    return subprocess.check_output(command, text=True)


def asked_here(value: Any, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what is printed here of the same values."""
    lines = ASKED.strip().splitlines()[3:]
    exec("\n".join(lines), dict(zip(("adder", "function"), value, strict=True)))
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "before",
    ["from __future__ import annotations", "class Missing:\n    Kind: int = 3"],
)
def test_annotations_are_what_they_are_here(
    before: str, capsys: pytest.CaptureFixture[str]
):
    names = defined(f"{before}\n{ANNOTATED}")
    value = names["Adder"](names["Options"](2)), names["function"]
    assert asked_of(value) == asked_here(value, capsys)


def test_annotations_that_cannot_be_evaluated_fail_where_they_are_asked_for(
    capsys: pytest.CaptureFixture[str],
):
    try:
        names = defined(ANNOTATED)
    except NameError:  # before Python 3.14 they are evaluated where they stand
        names = defined(f"from __future__ import annotations\n{ANNOTATED}")
    value = names["Adder"](names["Options"](2)), names["function"]
    told = asked_of(value)
    assert told.startswith("3\n")
    assert told == asked_here(value, capsys)
    sent = unpickle(dumps(value))
    assert type(sent[0]) is names["Adder"]
    assert sent[0] is not value[0]
    assert sent[0].options == value[0].options


def test_a_function_has_what_its_lazy_statements_name():
    # In a process where nothing has loaded it.
    packed = subprocess.check_output([sys.executable, "-c", LAZY], text=True)
    asked = (
        "import pickle, sys; print(pickle.loads(bytes.fromhex(sys.argv[1]))('<a/>'))"
    )
    told = subprocess.check_output([sys.executable, "-c", asked, packed], text=True)
    assert told == '["a", ""]\n'


def test_a_forward_reference_is_sent_without_its_module():
    ref = ForwardRef("Missing", module=__name__, is_class=True)
    sent = pickle.loads(dumps(ref))
    assert sent == ref
    assert sent.__forward_module__ == __name__
    assert len(dumps(ref)) < 500


def test_a_function_with_state_comes_back_with_what_a_pass_has_left_in_it():
    counted = [1]

    def function(kept: list[int] = []) -> list[int]:  # noqa: B006 -- it is the state
        return [*counted, *kept]

    packed = dumps(function)
    counted.append(2)
    vars(function)["tag"] = "later"
    made = unpickle(packed)
    assert made() == [1]
    assert not vars(made)


def test_a_function_that_another_thread_pickles_as_well_is_found():
    def calls() -> tuple[Callable[[], Any], Callable[[], Any]]:
        def function() -> None:
            pass

        def found() -> bool:
            return unpickle(dumps(function)) is function

        return lambda: number_of(function) and found(), found

    for found in interleaved(calls, ["code_unpickler.py"]):
        assert found == (True, True)
