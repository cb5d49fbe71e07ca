from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from parpass.runner.travel.folder import Folder
from parpass.runner.travel.notes import Note, Notes, Phase, Work


@pytest.fixture
def folder() -> Iterator[Folder]:
    folder = Folder()
    yield folder
    folder.remove()


def brief(works: list[Work]) -> set[tuple[int, int, int, int, int]]:
    return {work[:5] for work in works}


def test_notes_tell_what_workers_are_at_and_leave_out_who_is_idle(folder: Folder):
    Note(folder, "11-a").write(4, 2)
    Note(folder, "12-b").write(7, 0, Phase.UNPICKLE)
    Note(folder, "13-c")
    done = Note(folder, "14-d")
    done.write(1, 1)
    done.idle()
    works = Notes(folder).read()
    assert brief(works) == {(4, 2, 4, 2, Phase.PASS), (7, 0, 7, 0, Phase.UNPICKLE)}
    assert {work.process for work in works} == {11, 12}


def test_what_is_made_on_demand_has_its_own_time_and_that_of_who_asked_stands(
    folder: Folder,
):
    note, notes = Note(folder, "1-a"), Notes(folder)
    note.write(4, 2)
    (before,) = notes.read()
    outer = note.enter(5, 1)
    (inside,) = notes.read()
    assert inside[:5] == (4, 2, 5, 1, Phase.PASS)
    assert inside.since >= before.since
    entered = time.monotonic_ns()
    while time.monotonic_ns() < entered + 2_000_000:
        pass
    note.leave(outer)
    (after,) = notes.read()
    assert after[:5] == before[:5]
    assert after.since >= before.since + 2_000_000


def test_work_that_begins_again_has_all_of_its_time(folder: Folder):
    note, notes = Note(folder, "1-a"), Notes(folder)
    note.write(4, 2)
    (before,) = notes.read()
    note.write_again()
    (after,) = notes.read()
    assert after[:5] == before[:5]
    assert after.since > before.since


def test_what_a_process_was_at_is_told_once(folder: Folder):
    Note(folder, "1-a").write(4, 2)
    Note(folder, "2-b").write(5, 1)
    notes = Notes(folder)
    work = notes.of_process(1)
    assert work is not None
    assert work[:5] == (4, 2, 4, 2, Phase.PASS)
    assert notes.of_process(1) is None


CRASH = """
import ctypes, os, sys
from parpass.runner.travel.notes import Note
from parpass.runner.travel.folder import Folder
def faulty():
    ctypes.string_at(0)
note = Note(Folder(sys.argv[1]), f"{os.getpid()}-a")
note.write(3, 1)
note.catch_faults()
faulty()
"""


@pytest.mark.slow
def test_the_note_and_the_traceback_outlive_a_segmentation_fault(folder: Folder):
    command = [sys.executable, "-c", CRASH, folder.path]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode < 0
    notes = Notes(folder)
    (work,) = notes.read()
    assert (work.function, work.step) == (3, 1)
    told = notes.traceback(work.owner)
    assert "Segmentation fault" in told
    assert "in faulty" in told
    assert notes.traceback(work.owner) == ""


def test_this_process_is_never_asked_by_a_signal_where_it_is(folder: Folder):
    note, notes = Note(folder, f"{os.getpid()}-a"), Notes(folder)
    note.write(3, 1)
    assert notes.ask_where(notes.read()) == {}
