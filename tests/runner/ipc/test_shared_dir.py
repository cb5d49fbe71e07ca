"""What runs left behind is removed, and what is in use is not.

The folder of a run: private, and gone when the run ends.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from parpass.runner.ipc import shared_dir as store
from parpass.runner.ipc.shared_dir import (
    Extent,
    KeptDirectories,
    SharedDirectory,
    StorageError,
    lock_directory,
    remove_stale,
)
from parpass.runner.ipc.status_board import StatusSlot


def test_a_socket_does_not_keep_an_abandoned_folder(tmp_path: Path):
    folder = tmp_path / "left"
    folder.mkdir()
    lock = lock_directory(str(folder))
    assert lock is not None
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "values"))
    remove_stale([folder])
    assert folder.exists()
    os.close(lock)
    remove_stale([folder])
    assert not folder.exists()


@pytest.fixture
def folder() -> Iterator[SharedDirectory]:
    folder = SharedDirectory()
    yield folder
    folder.remove()


def mode(path: str | Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def test_only_this_user_can_enter_the_folder_or_read_its_files(folder: SharedDirectory):
    folder.publish("spec", b"x")
    folder.open_writer("buffers").close()
    assert mode(folder.path) == 0o700
    assert mode(Path(folder.path, "spec")) == 0o600
    assert mode(Path(folder.path, "buffers")) == 0o600


def test_the_folder_goes_with_all_that_is_in_it(folder: SharedDirectory):
    folder.publish("spec", b"x")
    folder.remove()
    assert not os.path.exists(folder.path)
    folder.remove()  # is no error


def make_old(path: Path) -> None:
    """Set the time of a folder to what it would be if it were a minute old."""
    os.utime(path, (time.time() - 60, time.time() - 60))


def test_a_folder_that_is_not_locked_yet_is_left_alone(tmp_path: Path):
    (tmp_path / "parpass-1-x").mkdir()
    remove_stale(tmp_path.iterdir())
    assert (tmp_path / "parpass-1-x").is_dir()


@pytest.mark.parametrize("names", [[], ["alive.draft"]])
def test_one_whose_process_was_killed_before_it_locked_it_is_removed(
    names: list[str], tmp_path: Path
):
    folder = tmp_path / "parpass-1-x"
    folder.mkdir()
    for name in names:
        (folder / name).touch()
    make_old(folder)
    remove_stale(tmp_path.iterdir())
    assert not folder.exists()


def test_a_folder_of_somebody_else_with_such_a_name_is_left_alone(tmp_path: Path):
    for folder in (tmp_path / "parpass-notes", tmp_path / "parpass-1-notes"):
        folder.mkdir()
    (folder / "note").touch()
    for one in tmp_path.iterdir():
        make_old(one)
    remove_stale(tmp_path.iterdir())
    assert len([*tmp_path.iterdir()]) == 2


def test_where_files_cannot_be_locked_no_other_process_removes_a_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def refuse(file: int) -> None:
        raise OSError("no locks here")

    monkeypatch.setattr(store, "lock_file", refuse)
    folder = tmp_path / "parpass-1-x"
    folder.mkdir()
    assert lock_directory(str(folder)) is None
    make_old(folder)
    remove_stale(tmp_path.iterdir())
    assert folder.is_dir()


def test_each_new_folder_has_the_process_remove_what_others_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(store, "_SHARED_MEMORY", tmp_path)
    for _ in range(2):
        left = tmp_path / "parpass-1-left"
        left.mkdir()
        lock = lock_directory(str(left))
        assert lock is not None
        os.close(lock)
        new = SharedDirectory()
        assert not left.exists()
        new.remove()


def test_a_claim_ends_with_its_holder(tmp_path: Path):
    held, left = tmp_path / "parpass-1-held", tmp_path / "parpass-1-left"
    for folder in (held, left):
        folder.mkdir()
    holding, ended = lock_directory(str(held)), lock_directory(str(left))
    assert holding is not None
    assert ended is not None
    os.close(ended)
    remove_stale(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == [held]
    os.close(holding)


def test_where_shared_memory_is_scarce_the_folder_is_a_temporary_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(store, "_MIN_FREE_BYTES", 1 << 62)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = SharedDirectory()
    assert Path(folder.path).parent == tmp_path


def test_what_is_published_can_be_read_until_it_is_discarded(folder: SharedDirectory):
    assert folder.read("spec") is None
    folder.publish("spec", b"content")
    assert folder.read("spec") == b"content"
    folder.discard("spec", "never there")
    assert folder.read("spec") is None


def test_discarding_frees_the_room_of_a_file_that_is_still_open(
    folder: SharedDirectory,
):
    writer = folder.open_writer("functions")
    writer.append(b"x" * 100)
    reader = folder.open_reader("functions")
    folder.discard("functions")
    assert os.fstat(reader).st_size == 0
    os.close(reader)
    writer.close()


def test_a_file_can_not_be_opened_for_writing_twice(folder: SharedDirectory):
    folder.open_writer("buffers").close()
    with pytest.raises(FileExistsError):
        folder.open_writer("buffers")


def test_what_is_appended_begins_where_it_is_said_to(folder: SharedDirectory):
    writer = folder.open_writer("values")
    refs = [writer.append(bytes([n]) * (n + 1), 64) for n in range(5)]
    content = folder.read("values") or b""
    assert [ref.offset % 64 for ref in refs] == [0] * 5
    for n, ref in enumerate(refs):
        assert content[ref.offset : ref.offset + ref.length] == bytes([n]) * (n + 1)
    writer.close()


def test_extents_can_be_written_to_in_any_order(folder: SharedDirectory):
    writer = folder.open_writer("values")
    refs = [Extent("values", at, 10) for at in (0, 10, 20)]
    for ref in reversed(refs):
        writer.write(ref, bytes([ref.offset]) * 10)
    assert folder.read("values") == b"".join(bytes([r.offset]) * 10 for r in refs)
    writer.close()


@pytest.fixture
def kept() -> Iterator[KeptDirectories]:
    kept = KeptDirectories(2)
    yield kept
    kept.close()


def test_directories_are_for_one_run_after_the_other_and_numbers_for_one_stage(
    kept: KeptDirectories,
):
    first, second = kept.take(), kept.take()
    assert first.path != second.path
    numbers = [first.new_stage()]
    StatusSlot(first, "1-00000000").close()
    for folder in (first, second):
        kept.give_back(folder)
    again = [kept.take(), kept.take()]
    assert {one.path for one in again} == {first.path, second.path}
    numbers.append(first.new_stage())
    assert len({*numbers}) == 2
    for folder in again:
        kept.give_back(folder)
    kept.close()
    assert not any(os.path.exists(one.path) for one in again)


def test_a_directory_with_anything_of_its_run_left_is_not_kept(kept: KeptDirectories):
    folder = kept.take()
    folder.open_writer("values-coordinator").close()
    kept.give_back(folder)
    assert not os.path.exists(folder.path)


def test_a_directory_does_not_collect_slots_of_workers_that_are_gone(
    kept: KeptDirectories,
):
    folder = kept.take()
    kept.give_back(folder)
    for process in range(5):
        assert kept.take() is folder
        StatusSlot(folder, f"{process}-00000000").close()
        kept.give_back(folder)
    assert not os.path.exists(folder.path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_does_not_hold_the_locks_of_its_parent(tmp_path: Path):
    """Else the folder of a parent that was killed stays for as long as the child."""
    script = (
        "import os, sys\n"
        "from parpass.runner.ipc.shared_dir import SharedDirectory\n"
        "folder = SharedDirectory()\n"
        "if os.fork():\n"
        "    print(folder.path, flush=True)\n"
        "    os._exit(0)\n"
        "sys.stdout = None\n"
        "os.close(1)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        path = Path(parent.stdout.read().strip())
        assert path.is_dir()
        remove_stale([path])
        assert not path.exists()  # although the child is alive


def test_a_kept_directory_that_somebody_removed_is_not_given_again(
    kept: KeptDirectories,
):
    folder = kept.take()
    kept.give_back(folder)
    shutil.rmtree(folder.path)
    other = kept.take()
    assert os.path.isdir(other.path)
    kept.give_back(other)


def test_what_is_given_back_late_is_removed(kept: KeptDirectories):
    folder = kept.take()
    kept.close()
    kept.give_back(folder)
    assert not os.path.exists(folder.path)


@pytest.mark.parametrize("mode", [0o755, 0o730, 0o701])
def test_a_folder_that_others_can_enter_is_refused(tmp_path: Path, mode: int):
    tmp_path.chmod(mode)
    with pytest.raises(StorageError, match="this user alone"):
        SharedDirectory(str(tmp_path))


def test_where_others_could_exchange_it_no_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(store, "_SHARED_MEMORY", tmp_path / "none")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    tmp_path.chmod(0o777)
    with pytest.raises(StorageError, match="can be written to by others"):
        SharedDirectory()
    assert not [*tmp_path.iterdir()]
    tmp_path.chmod(0o1777)
    SharedDirectory().remove()


def test_a_link_to_a_folder_is_refused(tmp_path: Path, folder: SharedDirectory):
    link = tmp_path / "link"
    link.symlink_to(folder.path)
    with pytest.raises(StorageError, match="this user alone"):
        SharedDirectory(str(link))


def test_a_folder_is_removed_although_files_are_made_in_it_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(store, "_REMOVE_SECONDS", 60.0)  # for who waits for a core
    folder = SharedDirectory()
    over = threading.Event()
    begun = threading.Event()

    def make_files() -> None:
        for number in itertools.count():
            with contextlib.suppress(OSError):
                Path(folder.path, f"file-{number}").touch()
            begun.set()
            if over.is_set() or number > 3_000:
                return

    thread = threading.Thread(target=make_files)
    thread.start()
    begun.wait()
    folder.remove()
    over.set()
    thread.join()
    assert not Path(folder.path).exists()
