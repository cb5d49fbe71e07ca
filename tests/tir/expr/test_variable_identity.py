"""Variables and shared constants are themselves again where they came from."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import pytest

from parpass import IRModule, Sequential, tir
from parpass.ir.node import breadth_first
from parpass.ir.types import PointerType, PrimType
from parpass.runner import Runner
from parpass.tir.transform import PrimFuncPass
from parpass.transform import PassContext, PassInfo
from tests.support.runner.pooled import POOLED

FORKED = """
import os, pickle, threading, warnings
from parpass import tir
from parpass.tir.expr import scalar as identity

warnings.simplefilter("ignore")
entered, done = threading.Event(), threading.Event()

def hold():
    with identity._origin.lock:
        entered.set()
        done.wait()

thread = threading.Thread(target=hold)
thread.start()
entered.wait()
child = os.fork()
if child == 0:
    var = tir.Var("x")
    os._exit(0 if pickle.loads(pickle.dumps(var)) is var else 1)
_, status = os.waitpid(child, 0)
done.set()
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks")
def test_a_process_that_is_forked_meanwhile_pickles_variables():
    ran = subprocess.run(
        [sys.executable, "-c", FORKED],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert (ran.stdout, ran.stderr) == ("0\n", "")


@pytest.mark.parametrize(
    "constant",
    [tir.const(7), tir.const(1, "int64"), tir.const_true(), tir.const_true(4)],
    ids=str,
)
def test_a_constant_that_is_always_the_same_object_is_so_when_it_was_pickled(
    constant: Any,
):
    again, other = pickle.loads(pickle.dumps((constant, tir.IntImm("int32", 7))))
    assert again is constant
    assert other is not tir.const(7)


class AddLoad(PrimFuncPass):
    """Adds a statement, with a predicate and an index that are always the same."""

    pass_info = PassInfo(0, "AddLoad")

    def transform_function(
        self, func: tir.PrimFunc, mod: IRModule, ctx: PassContext
    ) -> tir.PrimFunc:
        pointer = func.params[0]
        load = tir.Load("float32", pointer, tir.const(0))
        return func.with_body(
            tir.SeqStmt([func.body, tir.Store(pointer, load, tir.const(0))])
        )


class CountNodes(PrimFuncPass):
    """Counts the objects that a function consists of."""

    pass_info = PassInfo(0, "CountNodes")

    def transform_function(
        self, func: tir.PrimFunc, mod: IRModule, ctx: PassContext
    ) -> tir.PrimFunc:
        ctx.count("nodes", len(breadth_first(func)))
        return func


def test_passes_in_workers_see_as_many_objects_as_in_process(runner: Runner):
    pointer = tir.Var("A", PointerType(PrimType("float32")))
    body = tir.Store(pointer, tir.Load("float32", pointer, tir.const(0)), tir.const(1))
    mod = IRModule({f"f{n}": tir.PrimFunc([pointer], body) for n in range(4)})
    passes = [AddLoad(), CountNodes()]
    with PassContext(config=POOLED) as serial:
        Sequential(passes)(mod)
    with PassContext(config=POOLED) as parallel:
        runner.run_sync(mod, passes)
    assert serial.statistics == parallel.statistics
