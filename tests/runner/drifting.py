"""Settings of the process that drift between runs, and a pass that looks at them."""

from __future__ import annotations

import contextlib
import decimal
import importlib
import itertools
import os
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import parpass
from parpass.ir.op.op_registration import TempOpAttr, op_attrs
from parpass.transform import FunctionPass, PassContext, PassInfo
from tests.support.toy.ir import Fn, Program

VARIABLE = "PARPASS_TEST_DRIFT"
FUNCTION = "test.drift"
MODULE = "parpass_test_drifting"

level = 0  # of this module, which passes are from


class Look(FunctionPass):
    """Appends a number that depends on all that drifts."""

    pass_info = PassInfo(0, "Look")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        registered = parpass.get_global_func(FUNCTION, allow_missing=True)
        seen: list[Any] = [
            os.environ.get(VARIABLE),
            os.getcwd(),
            decimal.getcontext().prec,
            np.get_printoptions()["precision"],
            sys.getrecursionlimit(),
            None if registered is None else registered(),
            op_attrs(FUNCTION),
            level,
            importlib.import_module(MODULE).VALUE,
        ]
        return func.with_values((*func.values, crc32(str(seen).encode()) % 1000))


_times = itertools.count(1)


@dataclass(frozen=True)
class Drift:
    """How the process is set for a run; each part is None for what it is by itself."""

    variable: str | None
    folder: bool
    precision: int | None
    digits: int | None
    deeper: int
    answer: int | None
    attribute: int | None
    level: int
    reloads: Sequence[int]

    @contextlib.contextmanager
    def in_force(self, folder: Path) -> Generator[None]:
        """Set the process so, and back again."""
        with contextlib.ExitStack() as stack:
            self._set_process(stack, folder)
            if self.answer is not None:
                answer = self.answer
                parpass.register_func(FUNCTION, lambda: answer)
                stack.callback(parpass.remove_global_func, FUNCTION)
            if self.attribute is not None:
                attribute = TempOpAttr("abs", FUNCTION, self.attribute)
                stack.enter_context(attribute)
            for value in self.reloads:
                load_again(folder, value)
            yield

    def _set_process(self, stack: contextlib.ExitStack, folder: Path) -> None:
        global level
        if self.variable is not None:
            os.environ[VARIABLE] = self.variable
            stack.callback(os.environ.pop, VARIABLE)
        if self.folder:
            stack.enter_context(contextlib.chdir(folder))
        if self.precision is not None:
            stack.enter_context(decimal.localcontext(prec=self.precision))
        if self.digits is not None:
            stack.enter_context(np.printoptions(precision=self.digits))
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + self.deeper)
        stack.callback(sys.setrecursionlimit, limit)
        level = self.level


def load_again(folder: Path, value: int) -> None:
    """Write a module with a value, and load it, or load it again."""
    path = folder / f"{MODULE}.py"
    path.write_text(f"VALUE = {value}\n")
    time = next(_times)  # else what was compiled before might be taken
    os.utime(path, (time, time))
    importlib.invalidate_caches()
    if MODULE in sys.modules:
        importlib.reload(sys.modules[MODULE])
    else:
        importlib.import_module(MODULE)
