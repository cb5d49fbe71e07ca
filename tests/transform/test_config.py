"""What the runner does to be fast can be switched off, part by part."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parpass.errors import ConfigError
from parpass.transform import (
    Optimizations,
    PassContext,
    register_config_option,
)
from parpass.transform.config import OPTIMIZATIONS, optimizations_in


@dataclass
class Unroll:
    max_step: int = 0
    explicit: bool = True


class Tile(msgspec.Struct):
    size: int = 8


register_config_option("test.flag", bool, "A flag.")
register_config_option("test.depth", int)
register_config_option("test.ratio", float)
register_config_option("test.name", str)
register_config_option("test.names", list)
register_config_option("test.unroll", Unroll)
register_config_option("test.tile", Tile)


def configured(key: str, value: Any) -> Any:
    return PassContext(config={key: value}).config[key]


@pytest.mark.parametrize(
    ("key", "given", "kept"),
    [
        ("test.flag", True, True),
        ("test.flag", 7, True),
        ("test.flag", 0, False),
        ("test.depth", True, 1),
        ("test.depth", 256, 256),
        ("test.ratio", 1, 1.0),
        ("test.name", "a", "a"),
        ("test.names", ["a"], ["a"]),
    ],
)
def test_values_become_the_declared_type(key: str, given: Any, kept: Any):  # 3.7
    value = configured(key, given)
    assert value == kept
    assert type(value) is type(kept)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("test.flag", "yes"),
        ("test.flag", 1.0),
        ("test.depth", "7"),
        ("test.depth", 1.5),
        ("test.name", 7),
        ("test.names", 7),
        ("test.unroll", 7),
    ],
)
def test_values_of_other_types_are_refused(key: str, value: Any):  # 3.6
    with pytest.raises(ConfigError) as caught:
        configured(key, value)
    assert caught.value.key == key
    assert f"'{key}': expected " in str(caught.value)
    assert f"got {value!r} of type {type(value).__name__}" in str(caught.value)


def test_a_dict_becomes_the_struct_with_its_defaults():  # 3.5
    assert configured("test.unroll", {"max_step": 10}) == Unroll(10, explicit=True)
    assert configured("test.tile", {}) == Tile(8)
    assert configured("test.tile", Tile(2)) == Tile(2)


@pytest.mark.parametrize("key", ["test.unroll", "test.tile"])
def test_fields_that_the_struct_does_not_have_are_refused(key: str):  # 3.5
    with pytest.raises(ConfigError, match="it has no 'steps', only '"):
        configured(key, {"steps": 10})


def test_the_configuration_is_read_only_and_a_copy():
    given: dict[str, Any] = {"test.depth": 1}
    context = PassContext(config=given)
    given["test.depth"] = 2
    assert context.config["test.depth"] == 1
    with pytest.raises(TypeError):
        context.config["test.depth"] = 2  # pyright: ignore[reportIndexIssue]


def switched(given: Any) -> Optimizations:
    return optimizations_in(PassContext(config={OPTIMIZATIONS: given}).config)


def test_all_is_on_unless_it_is_switched_off():
    assert optimizations_in(PassContext().config) == Optimizations()
    assert switched({"stages": False}) == Optimizations(stages=False)
    assert switched(Optimizations(batches=False)) == Optimizations(batches=False)


def test_an_unknown_part_is_refused_with_the_nearest_and_all_known_ones():
    with pytest.raises(ConfigError) as caught:
        switched({"retained_byte": False})
    assert caught.value.key == OPTIMIZATIONS
    assert "it has no 'retained_byte', only 'stages', " in str(caught.value)
    assert "; did you mean 'retained_bytes'?" in str(caught.value)


@pytest.mark.parametrize(
    "given", [{"stages": "no"}, {"large_value_bytes": None}, False, ["stages"]]
)
def test_other_values_than_its_type_has_are_refused(given: Any):
    with pytest.raises(ConfigError, match=f"'{OPTIMIZATIONS}': expected Optimizations"):
        switched(given)


def test_the_page_on_debugging_tells_of_each():
    page = Path(__file__).parents[2] / "docs" / "debugging.md"
    told = re.findall(r"^\| `(\w+)` \|", page.read_text(), re.MULTILINE)
    assert tuple(told) == Optimizations.__struct_fields__


def test_the_runners_options_can_be_set_before_the_runner_is_loaded():
    code = (
        "import sys, parpass\n"
        "parpass.PassContext(config={'parpass.asking_workers_seconds': 0.0})\n"
        "assert 'parpass.runner' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
