"""What the docstring of a pass shows."""

from __future__ import annotations

import inspect
import textwrap

from parpass.relay.module import IRModule
from parpass.transform import Pass


def shows(pass_type: type[Pass], *programs: IRModule) -> bool:
    """Return whether the docstring of a pass shows these programs, in this order."""
    doc = inspect.getdoc(pass_type) or ""
    at = 0
    for program in programs:
        at = doc.find(textwrap.indent(str(program).strip(), "    "), at)
        if at < 0:
            return False
    return True
