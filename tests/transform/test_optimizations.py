"""What the runner does to be fast can be switched off, part by part."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from parpass.errors import ConfigError
from parpass.transform import Optimizations, PassContext
from parpass.transform.optimizations import OPTIMIZATIONS, optimizations_in


def switched(given: Any) -> Optimizations:
    return optimizations_in(PassContext(config={OPTIMIZATIONS: given}).config)


def test_all_is_on_unless_it_is_switched_off():
    assert optimizations_in(PassContext().config) == Optimizations()
    assert switched({"stages": False}) == Optimizations(stages=False)
    assert switched(Optimizations(bundles=False)) == Optimizations(bundles=False)


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
