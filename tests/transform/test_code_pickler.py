"""Code that travels by value."""

from __future__ import annotations

import pickle
import traceback
from types import CodeType
from typing import Any

import pytest

from parpass.transform.by_value import pickle_by_value
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
"""


@pytest.fixture
def program() -> dict[str, Any]:
    """Give what the main script of a program defines."""
    names: dict[str, Any] = {"__name__": "__main__"}
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
