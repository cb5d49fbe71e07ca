"""What was run ahead of the plan's walk: a stage, and the records of its steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import msgspec

from parpass.transform.plan.commands import RunStage, StageResult, StepRecord
from parpass.transform.plan.events import Body


class Ahead:
    """The stage that the walk is in; a module pass is a stage of its own.

    Attributes:
        steps: The bodies that belong to it.
        given: The module that it began with.
        moment: Where the walk is in the time in which steps were run together; None
            where it is no more behind.
    """

    def __init__(self) -> None:
        self.steps: Sequence[Body] = ()
        self.given: Any = None
        self.moment: float | None = None
        self._command: RunStage | None = None
        self._ran = 0  # how many of the steps were run
        self._records: deque[StepRecord] = deque()  # that the walk has not come to
        self._pace = 0.0  # seconds of the clock for each second in workers

    @property
    def has_begun(self) -> bool:
        """Whether steps are to come of it."""
        return self._ran - len(self._records) < len(self.steps)

    @property
    def at(self) -> int:
        """How many steps the walk has come to the end of."""
        return self._ran - len(self._records)

    def begin(
        self, steps: Sequence[Body], mod: Any, command: RunStage | None = None
    ) -> None:
        """Begin the next one, with the command that runs it."""
        self.steps, self.given, self._command, self._ran = steps, mod, command, 0

    def is_over(self) -> bool:
        """Return whether all of it was run, so that another one begins."""
        return self._ran == len(self.steps)

    def what_is_left(self, mod: Any) -> RunStage:
        """Return the command for what a driver has not run of it."""
        command = self._command
        assert command is not None
        if not self._ran:
            return command
        left = command.steps[self._ran :]
        return msgspec.structs.replace(command, steps=left, mod=mod, done=self._ran)

    def take(self, result: StageResult) -> StepRecord:
        """Return the first record, and keep the others for when they are come to."""
        first, *others = result.records
        self._ran += len(result.records)
        if others:
            self._records.extend(others)
            total = sum([record.seconds for record in result.records])
            self._pace = (result.ended - result.began) / total if total else 0.0
            self.moment = result.began + first.seconds * self._pace
        return first

    def next_record(self) -> StepRecord | None:
        """Return the record of a step that was run; None if the next one was not."""
        if not self._records:
            return None
        record = self._records.popleft()
        if not self._records:
            self.moment = None
        elif self.moment is not None:
            self.moment += record.seconds * self._pace
        return record
