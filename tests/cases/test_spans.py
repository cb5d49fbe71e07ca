"""Spans survive passes, but for what the table in docs/seeing.md says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from parpass.errors import ParpassError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.op.op_table import Op
from parpass.relay.expr import Call, If, Let, Tuple, TupleGetItem
from parpass.tir.stmt import Stmt
from tests.support.cases.files import CaseFileError, read_cases
from tests.support.cases.running import run_case

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests" / "cases").rglob("*.txt"))
_PLACED = (Call, Tuple, TupleGetItem, Let, If, Stmt)


def lost_spans(path: Path) -> set[str]:
    """Return what of the results of a file's cases has no span.

    Programs of case files are text, all of which has spans.

    Returns:
        Operators by their names, other nodes by their kinds.
    """
    found: set[str] = set()
    for case in read_cases(path):
        try:
            before, after = run_case(case)
        except (CaseFileError, ParpassError):
            continue  # a case of an error
        assert not {*_unplaced(before)}
        found |= {*_unplaced(after)}
    return found


def _unplaced(mod: IRModule) -> Iterator[str]:
    for function in mod.functions_by_name.values():
        for node in post_order(function):
            if isinstance(node, _PLACED) and getattr(node, "span", None) is None:
                op = node.op if isinstance(node, Call) else None
                yield op.name if isinstance(op, Op) else type(node).__name__


def documented() -> dict[str, set[str]]:
    """Return what has no span behind each pass, as the table says, by case files."""
    text = (ROOT / "docs" / "seeing.md").read_text()
    _, begins, rest = text.partition("| pass | makes without a span |")
    assert begins
    rows = re.findall(r"^\| (\S+) \| (.+) \|$", rest.partition("\n\n")[0], re.MULTILINE)
    return {_file_of(name): set(re.findall(r"`(\S+)`", what)) for name, what in rows}


def _file_of(name: str) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.removeprefix("tir."))
    return words.lower()


def test_the_table_is_of_passes_that_have_cases():
    assert documented().keys() <= {path.stem for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_spans_are_kept_as_documented(path: Path):
    assert lost_spans(path) == documented().get(path.stem, set())
