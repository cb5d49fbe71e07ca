"""`parpass mlir-opt` without click, which would take a tenth of a second to load.

A test suite starts the command hundreds of times on small programs. xDSL alone runs
those, so nothing else is loaded for them.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from parpass.integrations.xdsl.thresholds import LARGE_PROGRAM

if TYPE_CHECKING:
    from parpass.integrations.xdsl.parallel_run import RunFactory


def run_mlir_opt(arguments: Sequence[str]) -> None:
    """Do what `xdsl-opt` does with these arguments, on every core.

    Raises:
        SystemExit: The arguments are wrong, or ask for help; or xDSL is not installed.
        Exception: Whatever xDSL raises.
    """
    sizes = (os.path.getsize(one) for one in arguments if os.path.isfile(one))
    if max(sizes, default=0) >= LARGE_PROGRAM:
        from parpass.cli.operations.preload import preload_from_argv

        preload_from_argv(["mlir-opt", *arguments])
    try:
        from parpass.integrations.xdsl.opt_main import main
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "xdsl":
            raise
        print(  # noqa: T201 -- as argparse tells of what is wrong
            "Error: parpass mlir-opt needs xdsl; install 'parpass[xdsl]'",
            file=sys.stderr,
        )
        sys.exit(2)
    main(arguments, _opening_workers)


@contextlib.contextmanager
def _opening_workers(jobs: int | None, text: str) -> Generator[RunFactory | None]:
    """Open workers for a program, and yield a factory of runs on them, if any."""
    from parpass.cli.operations.preload import preloaded_workers
    from parpass.integrations.xdsl.xdsl_plugin import worker_modules
    from parpass.runner.cores import usable_cores
    from parpass.runner.pool.fork_server import has_fork_server

    if jobs is None and usable_cores() == 1:
        yield None
        return
    with contextlib.ExitStack() as stack:
        executor = None
        if has_fork_server():  # workers load while this process does
            starting = preloaded_workers(worker_modules(text), jobs)
            executor, jobs = stack.enter_context(starting), None
        from parpass.integrations.xdsl.parallel_run import runs_on
        from parpass.runner import open_runner

        runner = open_runner(workers=jobs, executor=executor)
        yield runs_on(stack.enter_context(runner))
