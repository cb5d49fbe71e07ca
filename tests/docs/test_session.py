from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.site.session import DRAWING, RECORDING, Piece, as_cast, drawn, from_cast
from docs.site.session import program as program_of_the_readme
from tests.support.docs.steps import snippets
from tests.support.registering import registering_for_a_while

ROOT = Path(__file__).parents[2]


def test_the_drawing_is_that_of_the_recording():
    """`python -m docs.site.session` records and draws it anew."""
    pieces = from_cast(RECORDING.read_text(encoding="utf-8"))
    assert DRAWING.read_text(encoding="utf-8") == drawn(pieces)


def test_the_recording_shows_what_the_program_prints_and_what_failures_name():
    shown = "".join(one.text for one in from_cast(RECORDING.read_text("utf-8")))
    printed = re.search(r"print\(.*\)  # (.+)\n", program_of_the_readme())
    assert printed is not None
    assert f"\n{printed[1]}\n" in shown
    assert shown.count("'fold_constant'") == 2
    assert str(Path.home()) not in shown


def test_pieces_come_back_from_a_recording():
    pieces = [Piece(0.0, "$ one\n"), Piece(1.5, 'a "b" <c>\n')]
    assert from_cast(as_cast(pieces)) == pieces


def test_a_drawing_is_xml_and_shows_every_line_within_its_width():
    pieces = [Piece(0.0, "$ one\n"), Piece(99.0, f"a < b & {'c' * 100}\n")]
    root = ElementTree.fromstring(drawn(pieces))
    lines = [one.text or "" for one in root.iter() if one.tag.endswith("}text")]
    assert lines[0] == "$ one"
    assert "".join(lines[1:]).replace(" ", "") == f"a<b&{'c' * 100}"
    assert max(map(len, lines)) <= 66


def test_both_front_pages_have_the_program_and_it_prints_what_they_say(
    capsys: pytest.CaptureFixture[str],
):
    text = program_of_the_readme()
    [on_the_index] = snippets(ROOT / "docs/index.md")
    assert on_the_index.text == text
    with registering_for_a_while():
        small = text.replace("2**16", "2**4")
        code = compile(small, "own_ir.py", "exec", dont_inherit=True)
        exec(code, {"__name__": "own_ir"})
    assert f'print(mod.functions["f999"].body)  # {capsys.readouterr().out}' in text
