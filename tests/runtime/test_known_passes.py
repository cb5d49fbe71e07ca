from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from parpass.errors import InternalError
from parpass.runtime import Runner
from parpass.runtime.known_passes import KnownPasses, PassesOfRun
from parpass.runtime.store import Folder
from parpass.transform import Pass
from tests.support.hard_passes import Locked, Remember
from tests.support.pooled import run_pooled
from tests.support.toy_ir import program, values_of
from tests.support.toy_passes import Add


@pytest.fixture
def folder() -> Iterator[Folder]:
    folder = Folder()
    yield folder
    folder.remove()


def test_passes_are_written_once_for_a_run(folder: Folder):
    run = PassesOfRun(folder)
    digest, written = run.publish([Add(1)])
    assert written == Path(folder.path, f"passes-{digest}").stat().st_size
    assert run.publish([Add(1)]) == (digest, 0)


def test_the_digest_is_that_of_their_options(folder: Folder):
    run = PassesOfRun(folder)
    digests = {run.publish(steps)[0] for steps in ([Add(1)], [Add(2)], [Add(1)] * 2)}
    assert len(digests) == 3


def test_what_cannot_be_pickled_is_not_written(folder: Folder):
    with pytest.raises(TypeError, match="pickle"):
        PassesOfRun(folder).publish([Locked()])
    assert folder.names("passes-") == []


def test_known_passes_are_those_of_before_in_later_runs_too(folder: Folder):
    known = KnownPasses()
    digest, _ = PassesOfRun(folder).publish([Add(1)])
    first = known.get(digest, folder)
    later = Folder()
    try:
        assert known.get(digest, later) is first
        known.forget(digest)
        with pytest.raises(InternalError):
            known.get(digest, later)
    finally:
        later.remove()


def test_only_those_that_were_used_last_are_kept(folder: Folder):
    known, run = KnownPasses(), PassesOfRun(folder)
    used, *others = [run.publish([Add(amount)])[0] for amount in range(40)]
    first = known.get(used, folder)
    second = known.get(others[0], folder)
    for digest in others[1:]:
        known.get(digest, folder)
        assert known.get(used, folder) is first
    assert known.get(others[0], folder) is not second


def test_passes_that_share_something_still_do(folder: Folder):
    shared = [1]
    one, other = Add(), Add()
    one.shared = other.shared = shared  # pyright: ignore[reportAttributeAccessIssue] -- any pass may
    digest, _ = PassesOfRun(folder).publish([one, other])
    first, second = KnownPasses().get(digest, folder)
    assert first.__dict__["shared"] is second.__dict__["shared"]


@pytest.mark.filterwarnings("ignore::parpass.errors.PassStateWarning")
def test_a_pass_that_writes_to_itself_begins_anew_in_each_run(runner: Runner):
    step: Pass = Remember()
    runs = [run_pooled(runner, step, program(1)) for _ in range(3)]
    assert [values_of(one) for one in runs] == [values_of(runs[0])] * 3
