"""The place of the body of a pass in the source, for errors that name it."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from parpass.transform.passes import ModulePass, Pass


def body_of(pass_: Pass) -> Any:
    """Return what the user wrote that runs on a function, or on a module."""
    name = "transform_module" if isinstance(pass_, ModulePass) else "transform_function"
    made = vars(pass_)  # of a decorator
    return made.get("pass_func") or getattr(made.get("_inst", pass_), name)


def place_of(pass_: Pass) -> str:
    """Return where its body is, as `FILE:LINE`; the module where no file is known."""
    body = body_of(pass_)
    while isinstance(body, functools.partial):
        body = body.func
    body = inspect.unwrap(body)
    if not hasattr(body, "__code__"):  # an object that can be called
        body = type(body).__call__
    code = getattr(body, "__code__", None)
    if code is None:
        return f"module '{body_of(pass_).__module__}'"
    return f"{code.co_filename}:{code.co_firstlineno}"


def call_error(pass_: Pass, error: Exception, *given: Any) -> TypeError | None:
    """Return the error for a body that does not take what it is called with.

    It is `error` with the place of the body; None if the body took the arguments.
    """
    if not isinstance(error, TypeError):
        return None
    try:
        inspect.signature(body_of(pass_)).bind(*given)
    except TypeError:
        wanted = "mod, ctx" if isinstance(pass_, ModulePass) else "func, mod, ctx"
        return TypeError(
            f"{error}; the pass at {place_of(pass_)} is called with ({wanted})"
        )
    except ValueError:  # it is not written in Python, and does not tell
        pass
    return None


def describe_result(pass_: Pass, result: object) -> str:
    """Return what a pass gave, of the wrong kind, and where to mend that."""
    forgot = "; did you forget 'return'" if result is None else " of the pass"
    asked = "?" if result is None else ""
    return f"{type(result).__name__}{forgot} at {place_of(pass_)}{asked}"
