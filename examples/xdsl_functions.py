"""Passes of xDSL over the functions of a module, by xDSL and on every core.

    python examples/xdsl_functions.py [FUNCTIONS [STEPS]]

Makes a module of functions of arith, scf and memref, and runs thirteen passes on it: by
xDSL's own pipeline, by parpass in this process, and by parpass with workers. Results
are compared, and times printed, as ratios too. Then the same for text: `xdsl-opt`
against `parpass opt`, which parses and prints in the workers. Wants `parpass[xdsl]`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import PassPipeline
from xdsl.transforms import get_all_passes

from parpass.integrations.xdsl import ParallelPipeline
from parpass.runner import open_runner

PASSES = (
    "canonicalize,cse,licm,scf-for-loop-range-folding,constant-fold-interp,"
    "control-flow-hoist,canonicalize,cse,dce,convert-scf-to-cf,canonicalize,cse,dce"
)
FEW = "canonicalize,cse"
_STEP = """\
    %x{at} = arith.addi {last}, %zero : i32
    %y{at} = arith.muli %x{at}, %b : i32
    %z{at} = arith.muli %x{at}, %b : i32
    %w{at} = arith.addi %y{at}, %z{at} : i32
    scf.for %i{at} = %from to %n step %step {{
      %l{at} = memref.load %m[%i{at}, %from] : memref<64x64xf32>
      %s{at} = arith.addf %l{at}, %l{at} : f32
      memref.store %s{at}, %m[%i{at}, %step] : memref<64x64xf32>
    }}
"""


def program(functions: int, steps: int = 20) -> str:
    """Return the text of a module."""
    made = "".join(_function(f"f{at}", steps) for at in range(functions))
    return f"builtin.module {{\n{made}}}\n"


def _function(name: str, steps: int) -> str:
    lasts = ["%a", *(f"%w{at}" for at in range(steps))]
    body = "".join(_STEP.format(at=at, last=lasts[at]) for at in range(steps))
    return (
        f"  func.func @{name}(%a: i32, %b: i32, %m: memref<64x64xf32>, %n: index)"
        " -> i32 {\n"
        "    %from = arith.constant 0 : index\n"
        "    %step = arith.constant 1 : index\n"
        "    %zero = arith.constant 0 : i32\n"
        f"{body}    func.return {lasts[-1]} : i32\n  }}\n"
    )


def context() -> Context:
    """Return a context that knows xDSL's dialects."""
    known = Context()
    for name, dialect in get_all_dialects().items():
        known.register_dialect(name, dialect)
    return known


def by_xdsl(known: Context, module: ModuleOp) -> None:
    """Run the passes as `xdsl-opt` does, which verifies after each."""

    def verify(_before: object, mod: ModuleOp, _after: object) -> None:
        mod.verify()

    PassPipeline.parse_spec(get_all_passes(), PASSES, verify).apply(known, module)


def timed(run: Callable[[Context, ModuleOp], None], text: str) -> tuple[float, str]:
    """Return how long a run took on the module of a text, and what came of it."""
    known = context()
    module = Parser(known, text).parse_module()
    began = time.perf_counter()
    run(known, module)
    return time.perf_counter() - began, str(module)


def objects(text: str) -> None:
    """Compare runs on a module that is there already."""
    with open_runner() as runner:
        parallel = ParallelPipeline(PASSES, runner=runner)
        timed(parallel.apply, text)  # starts the workers, and learns what passes cost
        rows = {
            "xDSL": timed(by_xdsl, text),
            "parpass, in process": timed(
                ParallelPipeline(PASSES, workers=0).apply, text
            ),
            "parpass, workers": timed(parallel.apply, text),
        }
    _print(f"{PASSES.count(',') + 1} passes on objects", rows)


def texts(text: str) -> None:
    """Compare the commands."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.mlir"
        path.write_text(text)
        scripts = Path(sys.executable).parent
        rows = {
            name: _command([str(scripts / name), *rest, str(path), "-p", FEW])
            for name, rest in (("xdsl-opt", []), ("parpass", ["opt"]))
        }
    _print(f"{FEW} on text", rows)


def _command(command: list[str]) -> tuple[float, str]:
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    # xDSL's command writes an empty line at the end.
    return time.perf_counter() - began, done.stdout.rstrip()


def _print(what: str, rows: dict[str, tuple[float, str]]) -> None:
    first, expected = next(iter(rows.values()))
    print(f"{what}:")
    for name, (seconds, result) in rows.items():
        same = "same" if result == expected else "DIFFERENT RESULT"
        print(f"  {name:20} {seconds:6.2f} s {first / seconds:5.2f} x  {same}")


if __name__ == "__main__":
    made = program(*map(int, sys.argv[1:3] or ["40"]))
    objects(made)
    texts(made)
