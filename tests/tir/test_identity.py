"""Variables are themselves again where they came from."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FORKED = """
import os, pickle, threading, warnings
from parpass import tir
from parpass.tir import identity

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
        timeout=60,
    )
    assert (ran.stdout, ran.stderr) == ("0\n", "")
