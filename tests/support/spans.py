"""Which passes lose spans, by the programs of case files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from parpass.errors import ParpassError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.op_table import Op
from parpass.relay.expr import Call, If, Let, Tuple, TupleGetItem
from parpass.tir.stmt import Stmt
from tests.support.case_files import CaseFileError, read_cases
from tests.support.cases import run_case

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
