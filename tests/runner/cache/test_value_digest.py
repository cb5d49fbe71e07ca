"""Digests of values are the same in each process."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType

import pytest

from parpass.runner.cache.value_digest import digest_of_value

# What a main script defines is digested by value, with all that it names.
SCRIPT = """
__lazy_modules__ = ["xml.etree.ElementTree", "textwrap", "json"]  # from Python 3.15 on
import json
import xml.etree.ElementTree
from textwrap import indent
from parpass.runner.cache.value_digest import digest_of_value

class Mine:
    names = {"one", "two", "three"}

    def function(self, text):
        return json, indent, xml.etree.ElementTree, LIMIT, OTHER, Mine

LIMIT, OTHER = 3, frozenset(["one", "two", "three"])
if USES:
    Mine().function("")
print(digest_of_value(Mine()).content.hex())
"""


def digest_in_a_process(seed: str, *, uses: bool) -> str:
    """Return the digest that a process with a seed of hashes prints."""
    command = [sys.executable, "-c", SCRIPT.replace("USES", str(uses))]
    environ = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.check_output(command, text=True, env=environ)


def test_what_a_main_script_defines_has_one_digest_in_all_processes():
    digests = {digest_in_a_process(seed, uses=False) for seed in ("1", "2", "3")}
    assert len(digests) == 1
    assert digests == {digest_in_a_process("4", uses=True)}


def test_names_that_differ_have_digests_that_differ():
    def numbers() -> object:
        return int, float

    def texts() -> object:
        return str, bytes

    assert digest_of_value(numbers) != digest_of_value(texts)


def test_no_name_runs_into_the_next(monkeypatch: pytest.MonkeyPatch):
    def named(module: str, name: str) -> type:
        made = type("Named", (), {"__module__": module, "__qualname__": name})
        found = ModuleType(module)
        setattr(found, name, made)
        monkeypatch.setitem(sys.modules, module, found)
        return made

    one, other = named("digested\0a", "b"), named("digested", "a\0b")
    assert digest_of_value(one) == digest_of_value(one)
    assert digest_of_value(one) != digest_of_value(other)
