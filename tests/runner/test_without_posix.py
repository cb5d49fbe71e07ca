"""On a system such as Windows all runs in one process, and says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[2]
BEGIN = """
from tests.runner.without_posix import hide
hide()
"""
PROGRAM = """
import parpass
from parpass import relay

two = relay.add(relay.const(1.0), relay.const(1.0))
x = relay.var("x", shape=(2,))
mod = parpass.IRModule.from_expr(relay.Function([x], relay.add(x, two)))
expected = relay.transform.FoldConstant()(relay.transform.InferType()(mod))
"""


def run(program: str, *arguments: str, cwd: Path = ROOT) -> tuple[str, str]:
    """Run a program where POSIX is hidden; return what it prints, and its errors."""
    ran = subprocess.run(
        [sys.executable, "-c", BEGIN + dedent(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=120,
    )
    return ran.stdout, ran.stderr


@pytest.mark.slow
def test_a_run_without_workers_says_nothing() -> None:
    program = """
    found = parpass.run_pipeline_sync(mod, "InferType,FoldConstant", workers=0)
    print(parpass.structural_equal(found, expected))
    """
    assert run(PROGRAM + dedent(program)) == ("True\n", "")


@pytest.mark.slow
def test_a_run_that_could_have_workers_goes_on_here_with_one_warning() -> None:
    program = """
    import asyncio, warnings

    async def main():
        async with parpass.open_runner(workers=4) as runner:
            first = await runner.run(mod, "InferType,FoldConstant")
            return first, await runner.run(mod, "InferType,FoldConstant")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = asyncio.run(main())
    print(*(parpass.structural_equal(one, expected) for one in found))
    print(*(f"{one.category.__name__}: {one.message}" for one in caught))
    """
    printed, errors = run(PROGRAM + dedent(program))
    assert errors == ""
    equal, warned = printed.splitlines()
    assert equal == "True True"
    assert warned.startswith("SlowerRunWarning: workers need Linux or macOS")
    assert warned.count("Warning") == 1


@pytest.mark.slow
def test_what_only_workers_can_do_is_refused() -> None:
    program = """
    import warnings
    from parpass.errors import RuntimeUseError

    warnings.simplefilter("ignore")
    for settings in ({"isolated": True}, {"executor": object()}):
        try:
            parpass.run_pipeline_sync(mod, "InferType", **settings)
        except RuntimeUseError as error:
            print(error)
    with parpass.PassContext(config={"parpass.check_contract": True}):
        try:
            parpass.run_pipeline_sync(mod, "InferType", workers=0)
        except RuntimeUseError as error:
            print(error)
    """
    printed, errors = run(PROGRAM + dedent(program))
    assert errors == ""
    isolated, executor, contract = printed.splitlines()
    assert "there are none" in isolated
    assert "or this system does not support them" in isolated
    assert "executors need Linux or macOS" in executor
    assert "the contract check needs worker processes" in contract


@pytest.mark.slow
def test_the_command_works(tmp_path: Path) -> None:
    # All in one process: what is hidden is hidden from each.
    program = """
    import contextlib, json, sys
    from parpass.cli import main

    for line in json.loads(sys.argv[1]):
        with contextlib.suppress(SystemExit):
            main(line)
        for stream in (sys.stdout, sys.stderr):
            print("=====", file=stream, flush=True)
    """
    (tmp_path / "a.relay").write_text("def @main(%x: float32) { add(%x, 1f) }")
    (tmp_path / "passes.py").write_text(
        dedent(
            """
            from parpass.transform import FunctionPass, PassInfo, register_pass

            @register_pass("my.Failing")
            class Failing(FunctionPass):
                pass_info = PassInfo(0, "Failing")

                def transform_function(self, func, mod, ctx):
                    raise ValueError("it fails")
            """
        )
    )
    failing = ("--load=passes.py", "-p", "InferType,Failing", "--reproducer=r.relay")
    lines = [
        ("opt", "a.relay", "-O2", "-j0"),
        ("opt", "a.relay", "-j0", *failing),
        ("replay", "r.relay", "--load=passes.py"),
        ("reduce", "r.relay", "--load=passes.py"),
    ]
    printed, errors = run(program, json.dumps(lines), cwd=tmp_path)
    opt, _, _, reduced, _ = printed.split("=====\n")
    assert "add(%p0, 1f)" in opt
    assert "pipeline" in reduced
    opt, failed, replayed, reduced, _ = errors.split("=====\n")
    assert opt == ""
    assert "reproducer: r.relay" in failed
    assert "Reproduced the same failure." in replayed
    assert "workers need Linux or macOS" in reduced
