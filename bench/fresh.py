"""A process of its own for what must not be disturbed by what ran before."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

ResultT = TypeVar("ResultT")
ParamsT = ParamSpec("ParamsT")


def in_fresh_process(
    function: Callable[ParamsT, ResultT], *args: ParamsT.args, **kwargs: ParamsT.kwargs
) -> ResultT:
    """Return what a function of a module returns in a new interpreter.

    Raises:
        BrokenProcessPool: The process died.
        Exception: What the function raised.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(function, *args, **kwargs).result()
