"""Recursion without Python's call stack: generators driven by a loop."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")

# What yields the steps that it needs, is sent the result of each, and returns its own.
Steps = Generator[Any, Any, ResultT]


def trampoline(first: Steps[ResultT]) -> ResultT:
    """Run a generator that yields sub-generators, in constant Python recursion depth.

    Each yielded generator is run to its end, and its result sent back; an error of one
    is raised at the `yield` that waits for it. Returns the result of the first.
    """
    waiting: list[Steps[Any]] = [first]
    result: Any = None
    error: BaseException | None = None
    while waiting:
        steps = waiting[-1]
        try:
            wanted = steps.send(result) if error is None else steps.throw(error)
        except StopIteration as stop:
            waiting.pop()
            result, error = stop.value, None
        except BaseException as raised:  # noqa: BLE001 -- handed on below
            waiting.pop()
            result, error = None, raised
        else:
            waiting.append(wanted)
            result, error = None, None
    if error is not None:
        raise error
    return result
