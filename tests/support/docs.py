"""What the docstring of a pass shows."""

from __future__ import annotations

import inspect

from parpass.ir.module import IRModule
from parpass.transform import Pass


def shows(pass_type: type[Pass], *programs: IRModule) -> bool:
    """Return whether the docstring of a pass shows these programs, in this order.

    Lines may be wrapped.
    """
    doc = _in_one_line(inspect.getdoc(pass_type) or "")
    at = 0
    for program in programs:
        at = doc.find(_in_one_line(str(program)), at)
        if at < 0:
            return False
    return True


def _in_one_line(text: str) -> str:
    return " ".join(text.split())
