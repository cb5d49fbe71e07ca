"""Row `siblings`: a pass that reads all functions does not have them sent each time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import parpass
from bench.counting import CountingAdapter
from bench.measure import Figure, Setting
from bench.table import Goal, Line, Row
from bench.work import PAIRS, USE_WORKERS, Swap, Work, no_pass
from parpass import FunctionPass, IRModule, PassContext, PassInfo, Sequential, relay
from parpass.ir import wire
from parpass.transform import register_adapter


class ReadAll(FunctionPass):
    """Reads every function of the module; changes nothing."""

    pass_info = PassInfo(0, "ReadAll")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        """Read all, and return the function."""
        if any(not other.params for other in mod.functions.values()):
            raise ValueError("expected functions with parameters")
        return func


def _siblings(setting: Setting) -> Iterator[Line]:
    mod = Work(setting.scaled(400, 40), 30, no_pass).module()
    functions = len(mod.functions)
    passes = Sequential([Swap(PAIRS), ReadAll()])
    with (
        tempfile.TemporaryDirectory() as folder,
        parpass.open_runner(workers=setting.workers) as runner,
        PassContext(config=USE_WORKERS),
    ):
        adapter = CountingAdapter(folder)
        register_adapter(IRModule, adapter)
        parpass.assert_structural_equal(runner.run_sync(mod, passes), passes(mod))
        counts = adapter.counts()
    del counts[os.getpid()]
    whole = sum(len(wire.encode(one)) for one in mod.functions_by_name.values())
    most = max(counts.values(), key=lambda one: one.decoded_bytes)
    yield Line(
        f"a light pass, and one that reads all {functions:,} functions through mod",
        "bytes decoded by a worker, at most : bytes of the module",
        Figure(most.decoded_bytes / whole),
        Goal(2),
        note=f"once, be it for its own jobs or for others; {len(counts)} workers "
        f"decoded {sum(one.decoded for one in counts.values()):,} functions",
    )


ROWS = (Row("siblings", _siblings),)
