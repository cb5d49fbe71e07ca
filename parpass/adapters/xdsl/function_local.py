"""Which passes of xDSL work on each function by itself, so that they run in parallel.

xDSL does not say. The table is of what was found by running each pass of xDSL 0.74 that
needs no arguments on whole modules and on their functions one by one: the programs of
its own tests came out alike, to the letter. A pass that is not in it sees whole
modules, which is always right.
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.passes import ModulePass

PassT = TypeVar("PassT", bound=type[ModulePass])

_MARK = "parpass_is_function_local"


def function_local(xdsl_pass: PassT) -> PassT:
    """Say of a pass that it works on each function of a module by itself; a decorator.

    Such a pass reads and changes nothing outside of the function that it is at: not
    other functions, but for what they state without their bodies, not the module, not
    the pass itself. It may add declarations to the module.
    """
    setattr(xdsl_pass, _MARK, True)
    return xdsl_pass


def is_function_local(xdsl_pass: type[ModulePass]) -> bool:
    """Return whether a pass works on each function by itself."""
    if vars(xdsl_pass).get(_MARK):
        return True
    is_of_xdsl = xdsl_pass.__module__.partition(".")[0] == "xdsl"
    return is_of_xdsl and xdsl_pass.name in FUNCTION_LOCAL


FUNCTION_LOCAL: frozenset[str] = frozenset(["canonicalize", "cse", "dce"])
