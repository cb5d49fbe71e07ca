"""Passes that declare that their results may be kept, and read what no key has."""

from __future__ import annotations

import datetime
import gzip
import logging
import os
import pathlib
import time
from collections.abc import Callable
from os.path import exists
from typing import Any

import numpy as np

from parpass.transform import FunctionPass, PassContext, PassInfo
from tests.support.toy.ir import Fn, Program


def _read_array() -> object:
    return np.loadtxt(os.devnull, ndmin=1, dtype="U1", max_rows=0)


def _read_gzip() -> object:
    with gzip.open(__file__) as file:
        return file.name


READS: dict[str, Callable[[], object]] = {
    "os.stat()": lambda: exists(__file__),
    "open()": lambda: pathlib.Path(__file__).read_text("utf-8")[:1],
    "os.getcwd() of numpy": _read_array,
    "open() of gzip": _read_gzip,
    "os.listdir()": lambda: len(os.listdir("/")),
    "os.getcwd()": os.getcwd,
    "os.environ": lambda: os.environ.get("PATH"),
    "time.time()": lambda: time.time() > 0,
    "datetime.now()": lambda: datetime.datetime.now(datetime.UTC).year > 0,
}
PURE: dict[str, Callable[[], object]] = {
    "logs": lambda: logging.getLogger("outside").warning("met %s", 1),
    "makes paths": lambda: os.path.join("a", "b") + str(pathlib.PurePath("a/b")),
    "makes dates": lambda: datetime.date(2000, 1, 1).isoformat(),
    "computes": lambda: np.arange(3).sum() and sorted({"a", "b"}),
}


class Ask(FunctionPass):
    """Asks for something, and changes nothing.

    Args:
        what: The name of a question.
    """

    pass_info = PassInfo(0, "Ask")
    cacheable = True

    def __init__(self, what: str) -> None:
        self.what = what

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        ask: Any = READS.get(self.what) or PURE[self.what]
        ask()
        return func


class AskUndeclared(Ask):
    """Does the same, and declares nothing."""
