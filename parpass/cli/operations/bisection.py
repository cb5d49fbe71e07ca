"""Bisection of a pipeline, by runs of its first pairs of pass and function."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parpass.cli.files.irs import default_suffix
from parpass.errors import EvaluationError, PassInputError, UnreadFunctionError
from parpass.runner import Runner
from parpass.transform import Pass, PassContext, ProgramFormat
from parpass.transform.debug.bisect import (
    OPT_BISECT,
    OPT_BISECT_LIMIT,
    BisectVerdict,
    listener,
)

# Returns the fault of a module; None if it is good.
Check = Callable[[Any], str | None]


class InconclusiveError(Exception):
    """The check could not decide."""


@dataclass(frozen=True)
class Probe:
    """One run.

    Attributes:
        wrong: Its fault; None if it is good.
        verdicts: The pairs that it reached.
        is_misdirected: Whether it had a pass of another IR.
    """

    wrong: str | None
    verdicts: Sequence[BisectVerdict]
    is_misdirected: bool = False


@dataclass(frozen=True)
class Culprit:
    """The first pair that breaks the result; `alone` if it does so by itself."""

    verdict: BisectVerdict
    wrong: str
    alone: bool


class Bisection:
    """Runs a pipeline repeatedly, with some of its pairs.

    `context` has the other settings. `check` judges the result of a run that did not
    fail; `tell` is called with a line about each run.
    """

    def __init__(
        self,
        runner: Runner,
        mod: Any,
        pipeline: Pass,
        context: PassContext,
        check: Check,
        tell: Callable[[str], None],
    ) -> None:
        self._runner = runner
        self._mod = mod
        self._pipeline = pipeline
        self._context = context
        self._check = check
        self._tell = tell

    def limited(self, limit: int) -> Probe:
        """Run the first pairs; -1 runs all."""
        probe = self._probe({OPT_BISECT_LIMIT: limit})
        what = "all pairs" if limit < 0 else f"the first {limit}"
        self._tell(f"{what}: {probe.wrong or 'good'}")
        return probe

    def culprit(self, whole: Probe) -> Culprit:
        """Return the culprit: running all pairs is wrong, running none is good."""
        good, bad, found = 0, len(whole.verdicts), whole
        while bad - good > 1:
            middle = (good + bad) // 2
            probe = self.limited(middle)
            if probe.wrong is None:
                good = middle
            else:
                bad, found = middle, probe
        assert found.wrong is not None
        single = self._probe({OPT_BISECT: str(bad)})
        return Culprit(found.verdicts[bad - 1], found.wrong, single.wrong is not None)

    def _probe(self, settings: Mapping[str, Any]) -> Probe:
        context = PassContext(
            self._context.opt_level,
            self._context.required_pass,
            self._context.disabled_pass,
            config={**self._context.config, **settings},
        )
        verdicts: list[BisectVerdict] = []
        token = listener.set(verdicts.extend)
        try:
            made = self._runner.run_sync(self._mod, self._pipeline, context=context)
        except UnreadFunctionError:
            raise
        except Exception as error:  # noqa: BLE001 -- a pass may raise anything
            wrong = f"{type(error).__name__}: {error}"
            return Probe(wrong, verdicts, isinstance(error, PassInputError))
        finally:
            listener.reset(token)
        return Probe(self._check(made), verdicts)


def check_by_values(mod: Any, seed: int) -> Check:
    """Return a check that compares the values of functions with those in `mod`.

    Raises:
        EvaluationError: They cannot be evaluated.
    """
    from parpass.cli.operations.values import ReferenceValues
    from parpass.ir.module import IRModule

    if not isinstance(mod, IRModule):
        kind = type(mod).__name__
        raise EvaluationError(f"only Relay is evaluated here, and this is a {kind}")
    return ReferenceValues(mod, seed).difference


def check_by_command(command: str, programs: ProgramFormat) -> Check:
    """Return a check by a shell command on a file of IR.

    The path replaces `{}`, or comes last. The command exits with 0 if the module is
    good, with 125 if it cannot decide, with anything else if it is bad.
    """

    def check(mod: Any) -> str | None:
        with tempfile.TemporaryDirectory(prefix="parpass-bisect-") as folder:
            path = Path(folder) / f"module{default_suffix(programs)}"
            path.write_text(programs.astext(mod), encoding="utf-8")
            quoted = shlex.quote(str(path))
            line = command.replace("{}", quoted) if "{}" in command else ""
            code = subprocess.run(
                line or f"{command} {quoted}", shell=True, check=False
            )
        if code.returncode == 125:
            raise InconclusiveError(f"'{command}' exited with 125: it cannot tell")
        return None if code.returncode == 0 else f"exit code {code.returncode}"

    return check
