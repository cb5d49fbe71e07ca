from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from parpass.runner.ipc.shared_dir import SharedDirectory
from parpass.runner.ipc.status_board import Phase, Status, StatusBoard, StatusSlot


@pytest.fixture
def folder() -> Iterator[SharedDirectory]:
    folder = SharedDirectory()
    yield folder
    folder.remove()


def brief(work: Status) -> tuple[int, int, int, int, int]:
    return work.function, work.step, work.body, work.body_step, work.phase


def test_slots_show_activities_and_leave_out_idle_workers(
    folder: SharedDirectory,
):
    StatusSlot(folder, "11-a").write(4, 2)
    StatusSlot(folder, "12-b").write(7, 0, Phase.UNPICKLE)
    StatusSlot(folder, "13-c")
    done = StatusSlot(folder, "14-d")
    done.write(1, 1)
    done.idle()
    works = StatusBoard(folder).read()
    assert {brief(work) for work in works} == {
        (4, 2, 4, 2, Phase.PASS),
        (7, 0, 7, 0, Phase.UNPICKLE),
    }
    assert {work.process for work in works} == {11, 12}


def test_a_board_of_a_stage_leaves_out_what_died_in_another(folder: SharedDirectory):
    for process, stage in [(11, 3), (12, 4)]:
        slot = StatusSlot(folder, f"{process}-a")
        slot.begin(stage, 5)
        slot.write(5, 2)
        slot.enter(6, 1)
    board = StatusBoard(folder, 4)
    assert [(work.process, work.stage) for work in board.read()] == [(12, 4)]
    assert board.take_for_process(11) is None
    assert board.take_for_process(12) is not None
    assert board.read() == []
    assert [work.process for work in StatusBoard(folder).read()] == [11]


def test_at_the_start_a_slot_shows_the_pass_that_is_loaded(folder: SharedDirectory):
    slot, board = StatusSlot(folder, "1-a"), StatusBoard(folder)
    loading: list[int | None] = []
    slot.begin(1, 4)
    loading += [work.loading for work in board.read()]
    for step in (0, 1):
        slot.load(step)
        loading += [work.loading for work in board.read()]
    slot.write(4, 2)
    loading += [work.loading for work in board.read()]
    assert loading == [None, 0, 1, None]


def test_what_is_made_on_demand_has_its_own_time_and_that_of_its_reader_stands(
    folder: SharedDirectory,
):
    slot, board = StatusSlot(folder, "1-a"), StatusBoard(folder)
    slot.write(4, 2)
    (before,) = board.read()
    outer = slot.enter(5, 1)
    (inside,) = board.read()
    assert brief(inside) == (4, 2, 5, 1, Phase.PASS)
    assert inside.since >= before.since
    entered = time.monotonic_ns()
    while time.monotonic_ns() < entered + 2_000_000:
        pass
    slot.leave(outer)
    (after,) = board.read()
    assert brief(after) == brief(before)
    assert after.since >= before.since + 2_000_000


def test_work_that_begins_again_has_all_of_its_time(folder: SharedDirectory):
    slot, board = StatusSlot(folder, "1-a"), StatusBoard(folder)
    slot.write(4, 2)
    (before,) = board.read()
    slot.restart_clock()
    (after,) = board.read()
    assert brief(after) == brief(before)
    assert after.since > before.since


def test_the_last_activity_of_a_process_is_taken_once(folder: SharedDirectory):
    StatusSlot(folder, "1-a").write(4, 2)
    StatusSlot(folder, "2-b").write(5, 1)
    board = StatusBoard(folder)
    work = board.take_for_process(1)
    assert work is not None
    assert brief(work) == (4, 2, 4, 2, Phase.PASS)
    assert board.take_for_process(1) is None


@pytest.mark.parametrize("since", [0, 12_000])
def test_a_status_is_the_same_after_it_is_encoded_and_has_all_of_its_fields(since: int):
    status = Status(7, 4, 2, 5, 1, Phase.PASS, since, "1-a")
    assert Status.decode(status.encode(), "1-a") == status
    assert Status.decode(status.encode()[1:]) is None


def test_a_status_for_another_machine_has_an_age_instead_of_a_time():
    now = time.monotonic_ns()
    sent = Status(7, 4, 2, 5, 1, Phase.PASS, now - 5_000).leaving()
    assert sent.since <= -5_000
    assert now <= sent.arrived().since + 5_000 <= time.monotonic_ns()
    suspended = Status(7, 4, 2, 5, 1, Phase.PASS, 0)
    assert suspended.leaving().arrived() == suspended


CRASH = """
import ctypes, os, sys
from parpass.runner.ipc.status_board import StatusSlot
from parpass.runner.ipc.shared_dir import SharedDirectory
def faulty():
    ctypes.string_at(0)
slot = StatusSlot(SharedDirectory(sys.argv[1]), f"{os.getpid()}-a")
slot.write(3, 1)
slot.enable_fault_dumps()
faulty()
"""


@pytest.mark.slow
def test_the_slot_and_the_traceback_outlive_a_segmentation_fault(
    folder: SharedDirectory,
):
    command = [sys.executable, "-c", CRASH, folder.path]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode < 0
    board = StatusBoard(folder)
    (work,) = board.read()
    assert (work.function, work.step) == (3, 1)
    told = board.traceback(work.owner)
    assert "Segmentation fault" in told
    assert "in faulty" in told
    assert board.traceback(work.owner) == ""


def test_this_process_is_never_sent_the_signal_for_a_traceback(folder: SharedDirectory):
    slot, board = StatusSlot(folder, f"{os.getpid()}-a"), StatusBoard(folder)
    slot.write(3, 1)
    assert board.dump_tracebacks(board.read()) == {}
