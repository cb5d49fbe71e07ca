"""Files are written whole or not at all, and leave nothing beside them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from parpass.atomic_files import atomic_write
from tests.support.permissions import with_umask

_WRITES = """\
import itertools, sys
from parpass.atomic_files import atomic_write
print("ready", flush=True)
for turn in itertools.count():
    with atomic_write(sys.argv[1]) as file:
        file.write(b"ab"[turn % 2 : turn % 2 + 1] * 300_000)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    return path


@pytest.mark.slow
def test_killed_at_any_moment_it_leaves_a_whole_file(path: Path):
    for _ in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", _WRITES, path], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        identity = path.stat().st_ino
        while path.stat().st_ino == identity:  # until it is in the midst of it
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=200)
        assert set(path.read_bytes()) in ({ord("a")}, {ord("b")})
        assert path.stat().st_size == 300_000
        left = [one for one in os.listdir(path.parent) if one != "file"]
        assert all(one.startswith(".parpass-") for one in left)


def test_a_full_disk_leaves_the_old_file(path: Path):
    code = (
        "import resource, signal, sys\n"
        "from parpass.atomic_files import atomic_write\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n"
        "    with atomic_write(sys.argv[1]) as file: file.write(b'n' * 5000)\n"
        "except OSError: print('refused')\n"
    )
    # Python would cut bytecode off, too, for all that import that module later: -B.
    told = subprocess.check_output([sys.executable, "-B", "-c", code, path], text=True)
    assert told == "refused\n"
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == ["file"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_is_raised_in_the_midst_leaves_the_old_file(
    path: Path, error: type[BaseException]
):
    def write() -> None:
        with atomic_write(path) as file:
            file.write(b"new")
            raise error

    with pytest.raises(error):
        write()
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == ["file"]


def test_an_interrupt_as_the_block_begins_leaves_nothing(path: Path):
    beginning = atomic_write(path)
    beginning.__enter__()
    assert len(os.listdir(path.parent)) == 2
    del beginning  # as when the interrupt comes before the block has its first line
    assert os.listdir(path.parent) == ["file"]
    assert path.read_bytes() == b"old"


def test_a_new_file_has_what_the_umask_leaves_and_an_old_one_keeps_its_own(path: Path):
    path.chmod(0o604)
    new = path.with_name("n" * 255)
    with with_umask(0o027):
        for one in (path, new):
            with atomic_write(one) as file:
                file.write(b"new")
    assert path.stat().st_mode & 0o7777 == 0o604
    assert new.stat().st_mode & 0o7777 == 0o640
    assert [path.read_bytes(), new.read_bytes()] == [b"new", b"new"]


def test_a_link_stays_one_and_who_has_the_old_file_open_keeps_it(path: Path):
    link = path.with_name("link")
    link.symlink_to("file")
    with path.open("rb") as before:
        with atomic_write(link) as file:
            file.write(b"new")
            assert path.read_bytes() == b"old"
        assert before.read() == b"old"
    assert link.is_symlink()
    assert path.read_bytes() == b"new"


def test_an_error_names_the_file_and_not_the_one_beside_it(tmp_path: Path):
    for wanted in (tmp_path, tmp_path / "none" / "file"):
        with pytest.raises(OSError, match="director") as caught, atomic_write(wanted):
            pass
        assert caught.value.filename == str(wanted)
        assert not os.listdir(tmp_path)
