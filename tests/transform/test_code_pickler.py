"""Code that travels by value."""

from __future__ import annotations

import functools
import pickle
import subprocess
import sys
import traceback
from types import CodeType
from typing import Any

import pytest

from parpass.transform.by_value import pickle_by_value, unpickle
from parpass.transform.code_pickler import dumps

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
    again = pickle.loads(pickle_by_value(value)).again
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
from parpass.transform.by_value import unpickle
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
