"""The options `--profile`, `--profile-memory` and `--repeat`: figures in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parpass import __version__
from parpass.cli.files.writing import write_or_warn
from parpass.report.profile import Profile, RunProfile
from parpass.runner import Runner
from parpass.transform import PassContext


class ProfileOutput:
    """Measures runs of a pipeline for a file.

    On each program a run is made under each of the contexts.
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
        """Run on a program under each context; return the first result."""
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
        """Write the file; warn if it cannot be written."""
        profile = Profile(
            parpass=__version__, pipeline=pipeline, jobs=jobs, runs=self._runs
        )
        write_or_warn(profile.encoded(), self._path)
