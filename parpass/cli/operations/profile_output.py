"""The options `--profile`, `--profile-memory` and `--repeat`: numbers in a file."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from typing import Any

import click

from parpass import __version__
from parpass.cli.files.writing import write_bytes
from parpass.cli.output.failure import InputError
from parpass.report.profile import Profile, RunProfile
from parpass.runner import Runner
from parpass.transform import PassContext


class ProfileOutput:
    """Measures runs of a pipeline for a file.

    Args:
        path: The file.
        runner: What carries the runs out.
        contexts: The settings of each run. On each program a run of every one is made.
        memory: Whether to measure the memory of passes, too.
    """

    def __init__(
        self,
        path: str,
        runner: Runner,
        contexts: Sequence[PassContext],
        *,
        memory: bool,
    ) -> None:
        self._path, self._runner, self._contexts = path, runner, contexts
        self._memory = memory
        self._runs = [RunProfile() for _ in contexts]

    def run(self, once: Callable[[PassContext], Any]) -> Any:
        """Run on a program as often as is wanted; return the first result.

        Args:
            once: Runs the pipeline under a context.
        """
        results: list[Any] = []
        for at, context in enumerate(self._contexts):
            measured = RunProfile()
            try:
                with self._runner.profile(context, memory=self._memory) as measured:
                    results.append(once(context))
            except BaseException as error:
                failure = f"{type(error).__name__}: {error}"
                for one in self._runs[at:]:  # the rest is not run on this program
                    one.failure = one.failure or failure
                raise
            finally:
                self._runs[at].add(measured)
            del results[1:]
        return results[0]

    def write(self, pipeline: str, jobs: int | None) -> None:
        """Write the file; one that cannot be written is a warning."""
        profile = Profile(
            parpass=__version__, pipeline=pipeline, jobs=jobs, runs=self._runs
        )
        try:
            write_bytes(profile.encoded(), self._path)
        except InputError as error:
            click.echo(f"Warning: {error.message}", err=True)


@contextlib.contextmanager
def writing_profile(
    path: str | None,
    runner: Runner,
    contexts: Sequence[PassContext],
    pipeline: str,
    jobs: int | None,
    *,
    memory: bool = False,
) -> Generator[ProfileOutput | None]:
    """Give what measures runs, and write what it measured, however the block ends.

    Args:
        path: The file; None for none, and for nothing that measures.
        runner: What carries the runs out.
        contexts: The settings of each run.
        pipeline: The pipeline, as text.
        jobs: How many worker processes were asked for.
        memory: Whether to measure the memory of passes, too.
    """
    if path is None:
        yield None
        return
    output = ProfileOutput(path, runner, contexts, memory=memory)
    try:
        yield output
    finally:
        output.write(pipeline, jobs)
