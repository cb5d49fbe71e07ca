"""A pass that tells what it sees where it runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from parpass.runner import Runner
from parpass.transform import FunctionPass, Pass, PassContext, PassInfo
from tests.support.runner.pooled import run_pooled
from tests.support.toy.ir import Fn, Program, program


class Probe(FunctionPass):
    """Appends what a function returns; what it raises, as text."""

    pass_info = PassInfo(0, "Probe")

    def __init__(self, read: Callable[[], Any]) -> None:
        self.read = read

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        try:
            seen: Any = self.read()
        except Exception as error:  # noqa: BLE001 -- it is compared
            seen = f"{type(error).__name__}: {error}"
        return func.with_values((*func.values, seen))


def seen_in_workers(runner: Runner, read: Callable[[], Any] | Pass) -> Any:
    """Return what is seen in workers, which is what is seen here.

    Raises:
        AssertionError: It is something else, or it was not seen in workers.
    """
    probe = read if isinstance(read, Pass) else Probe(read)
    mod = program(1, 2, 3, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel = run_pooled(runner, probe, mod)
    assert parallel == probe(mod), (str(parallel), str(probe(mod)))
    report = runner.last_report
    assert report is not None
    assert not report.here
    return parallel.functions["f0"].values[-1]
