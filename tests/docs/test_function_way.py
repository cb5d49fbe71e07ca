from __future__ import annotations

import itertools
from pathlib import Path

from docs.site.function_way import BOXES, DRAWING, function_way, room

ROOT = Path(__file__).parents[2]


def test_the_drawing_is_what_its_script_draws():
    """`python -m docs.site.function_way` draws it anew."""
    assert DRAWING.read_text(encoding="utf-8") == function_way()


def test_each_box_names_a_file_that_is_there_and_has_room_for_its_name():
    names = [box.file for box in BOXES]
    assert [one for one in names if not (ROOT / "parpass" / one).is_file()] == []
    assert [box for box in BOXES if room(box) < 0] == []


def test_no_box_is_on_another():
    places = [(box.column, box.row) for box in BOXES]
    assert [one for one, two in itertools.combinations(places, 2) if one == two] == []


def test_the_page_begins_with_the_drawing():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    assert 0 < text.index("](function-way.svg)") < text.index("## ")
