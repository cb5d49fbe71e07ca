"""Which smaller programs `parpass reduce` tries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from parpass.cli.operations.reducer import Reducer, TrialRunner
from parpass.cli.operations.trial import FailurePredicate, TrialResult, read_reproducer
from parpass.relay import parse
from parpass.transform import adapter_of
from parpass.transform.debug.reproducer import Reproducer
from tests.support.relay.reproducing import write_reproducer

KeyT = TypeVar("KeyT")


class Listening(TrialRunner):
    """Tries as ever, and remembers what."""

    def __init__(self, same: FailurePredicate) -> None:
        super().__init__(None, same, 60.0)
        self.tried: list[str] = []

    def first(
        self, candidates: Iterable[tuple[KeyT, Reproducer]]
    ) -> tuple[KeyT, TrialResult] | None:
        return super().first(self._heard(candidates))

    def _heard(
        self, candidates: Iterable[tuple[KeyT, Reproducer]]
    ) -> Iterator[tuple[KeyT, Reproducer]]:
        for key, candidate in candidates:
            self.tried.append(candidate.text)
            yield key, candidate


@pytest.mark.slow
def test_no_program_with_faults_is_tried(tmp_path: Path):
    path = write_reproducer(tmp_path / "file.txt", "InferType,FailOnExp")
    reproducer, mod = read_reproducer(path)
    adapter = adapter_of(mod, "reduce")
    same = FailurePredicate.from_reproducer(reproducer)
    trials = Listening(same)
    Reducer(reproducer, mod, adapter, trials).run()
    assert len(trials.tried) > 10
    for text in trials.tried:
        read = parse(text)
        functions = read.functions_by_name.values()
        assert [adapter.faults(one, read) for one in functions] == [[]] * len(functions)


def test_a_candidate_that_cannot_be_read_is_one_however_long_its_error_is():
    lines = [f"  %{at} = {'long' * 50}_{at}(%x);" for at in range(20)]
    text = "\n".join(["def @main(%x: float32) {", *lines, "  %x", "}"])
    reproducer = Reproducer(
        error="ValueError: no",
        pass_name="InferType",
        function="main",
        ir="relay",
        pipeline="InferType",
        text=text,
    )
    same = FailurePredicate.from_reproducer(reproducer)
    assert TrialRunner(None, same, 60.0).run(reproducer).error == "ParseError"
