from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from parpass.errors import ConfigError
from parpass.transform import (
    PassContext,
    list_config_options,
    register_config_option,
)


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


def test_a_key_is_registered_once():  # 3.1
    with pytest.raises(ConfigError, match="is registered already"):
        register_config_option("test.flag", bool)


def test_registered_options_are_listed_with_their_types():  # 3.10
    assert PassContext.list_configs()["test.depth"] == {"type": "int"}
    assert list_config_options()["test.flag"].doc == "A flag."


def test_an_unknown_key_is_refused_with_the_nearest_and_all_known_ones():  # 3.3
    with pytest.raises(ConfigError) as caught:
        PassContext(config={"test.dept": 1})
    assert isinstance(caught.value, AttributeError)
    assert caught.value.key == "test.dept"
    message = str(caught.value)
    assert message.startswith("invalid config option 'test.dept'; did you mean ")
    assert "'test.depth'" in message
    assert "candidates are: " in message
    assert "'test.unroll'" in message


@pytest.mark.parametrize("key", ["test.flag", "test.depth", "test.unroll"])
def test_none_is_refused(key: str):  # 3.4
    with pytest.raises(ConfigError) as caught:
        configured(key, None)
    assert f"invalid config value for '{key}': expected " in str(caught.value)
    assert str(caught.value).endswith(", got None")


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


def test_a_missing_key_is_a_key_error():  # 3.9
    with pytest.raises(KeyError):
        PassContext().config["test.flag"]
    assert PassContext().config.get("test.flag") is None


def test_the_configuration_is_read_only_and_a_copy():
    given: dict[str, Any] = {"test.depth": 1}
    context = PassContext(config=given)
    given["test.depth"] = 2
    assert context.config["test.depth"] == 1
    with pytest.raises(TypeError):
        context.config["test.depth"] = 2  # pyright: ignore[reportIndexIssue]
