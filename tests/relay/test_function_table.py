"""The table on disk, as functions use it: ends, a full disk, damage, clocks, pruning.

None of that gives another program, or ends a run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import types
import warnings
from pathlib import Path

import pytest

from parpass import object_store
from parpass.errors import SlowerRunWarning
from parpass.object_store import ObjectStore, StoreSize
from tests.relay.kept_functions import TEXT, made
from tests.relay.killing import can_kill_at_writes
from tests.relay.test_function_cache import process
from tests.support.own_mounts import unsharing

pytestmark = pytest.mark.usefixtures("no_program")

ROOT = Path(__file__).parents[2]


KILLED = textwrap.dedent(
    """
    import shutil, sys
    from pathlib import Path
    from parpass.object_store import ObjectStore, StoreState
    from tests.relay.kept_functions import TEXT, made
    from tests.relay.killing import killed_at_write

    folder, first, step = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    before, after = TEXT, TEXT.replace("negative", "exp")
    expected = made(after)[0]
    made(before, folder / "kept")  # two functions are the same, so times are written
    most = ObjectStore(folder / "kept").state().size.nbytes  # so one is dropped
    for number in range(first, 1000, step):
        left = folder / str(number)
        shutil.copytree(folder / "kept", left)
        run = lambda: made(after, left, max_bytes=most)
        was_killed = killed_at_write(run, number)
        text, recalled = made(after, left)
        assert text == expected, number
        assert recalled >= 1, number
        state = ObjectStore(left).state(verify=True)
        assert state == StoreState(state.size), (number, state)
        assert made(after, left) == (expected, 3), number
        if not was_killed:
            break
    print(number)
    """
)


def _kill_at_writes(folder: Path, first: int, step: int) -> int:
    command = [sys.executable, "-W", "error", "-c", KILLED]
    told = subprocess.run(
        [*command, str(folder), str(first), str(step)],
        check=True,
        cwd=ROOT,
        timeout=300,
        capture_output=True,
        text=True,
    )
    return int(told.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not can_kill_at_writes(), reason="nothing is traced so here")
def test_a_process_that_is_killed_at_a_write_leaves_whole_results(tmp_path: Path):
    assert _kill_at_writes(tmp_path, 2, 7) > 10


@pytest.mark.stress
def test_a_process_that_is_killed_at_any_write_leaves_whole_results(tmp_path: Path):
    assert _kill_at_writes(tmp_path, 0, 1) > 10


FULL = textwrap.dedent(
    """
    import sys, warnings
    from pathlib import Path
    from parpass.errors import SlowerRunWarning
    from tests.relay.kept_functions import TEXT, made

    def check(folder, full, free):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", SlowerRunWarning)
            full()
            assert made(TEXT, folder) == (expected, 0)
            (one,) = caught
            assert "cannot be used (" in str(one.message), one.message
            free()
            assert made(TEXT, folder)[0] == expected
            assert made(TEXT, folder) == (expected, 3)
            assert len(caught) == 1

    folder = Path(sys.argv[1])
    expected = made(TEXT)[0]
    """
)
NO_LARGE_FILES = """
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))

for size in (0, 4096, 8000):
    check(folder / str(size), lambda: limit(size), lambda: limit(soft))
"""
NO_ROOM = """
check(folder, lambda: None, (folder / "ballast").unlink)
"""
FULL_DISK = """
mount -t tmpfs -o size=64k tmpfs "$1" && chmod 700 "$1"
head -c "$2" /dev/zero > "$1/ballast"
exec "$3" -W error -c "$4" "$1"
"""


@pytest.mark.skipif(sys.platform == "win32", reason="files have no limit here")
def test_a_full_disk_costs_results_and_one_warning(tmp_path: Path):
    # Python would cut bytecode off, too, for all that import that module later: -B.
    command = [sys.executable, "-B", "-W", "error", "-c", FULL + NO_LARGE_FILES]
    subprocess.run([*command, str(tmp_path)], check=True, cwd=ROOT, timeout=200)


@pytest.mark.stress
@pytest.mark.parametrize("pages", [16, 15, 14])  # with 13 all results fit
def test_a_disk_that_is_full_but_for_some_pages(tmp_path: Path, pages: int):
    given = [str(tmp_path), str(4096 * pages), sys.executable, FULL + NO_ROOM]
    command = [*unsharing(), "/bin/sh", "-c", FULL_DISK, "sh", *given]
    subprocess.run(command, check=True, cwd=ROOT, timeout=200)


def runs_after_flips(folder: Path, step: int) -> int:
    """Flip a bit of a table, run on it, and so on; return how many lost results.

    Args:
        folder: A folder.
        step: 1 for all bits of bytes that are used, else every so manieth of them.
    """
    lost = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowerRunWarning)
        expected, _ = made(TEXT, folder / "whole")
        whole = (folder / "whole/objects.sqlite").read_bytes()
        bits = [bit for bit in range(8 * len(whole)) if whole[bit // 8]]
        for at, bit in enumerate(bits[::step]):
            content = bytearray(whole)
            content[bit // 8] ^= 1 << bit % 8
            (folder / "flipped").mkdir(mode=0o700)
            (folder / "flipped/objects.sqlite").write_bytes(content)
            (folder / "flipped/objects.sqlite").chmod(0o600)
            if at % 2:
                text, recalled = made(TEXT, lower=[folder / "flipped"])
            else:
                text, recalled = made(TEXT, folder / "flipped")
            assert text == expected, bit
            lost += recalled < 3
            shutil.rmtree(folder / "flipped")
    return lost


@pytest.mark.slow
def test_a_flipped_bit_costs_results_and_gives_no_other_ones(tmp_path: Path):
    assert runs_after_flips(tmp_path, 1009)


@pytest.mark.stress
@pytest.mark.timeout(3600)
def test_no_flipped_bit_gives_another_program(tmp_path: Path):
    assert runs_after_flips(tmp_path, 13)


def test_what_is_used_after_a_clock_was_set_back_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    clock = types.SimpleNamespace(**vars(object_store.time))
    monkeypatch.setattr(object_store, "time", clock)
    clock.time = lambda: 4e9  # in the year 2096
    made(TEXT, tmp_path)
    most = ObjectStore(tmp_path).state().size.nbytes + 10
    now = TEXT.replace("negative", "exp").replace("add", "subtract")
    for seconds in range(3):
        clock.time = lambda seconds=seconds: 1e9 + seconds
        text, recalled = made(now, tmp_path, max_bytes=most)
        assert text == made(now)[0]
        assert recalled == (3 if seconds else 1)  # the middle function is as before
    assert ObjectStore(tmp_path).state().size.nbytes <= most


def test_a_table_that_is_pruned_while_it_is_used_gives_what_there_is(tmp_path: Path):
    found: list[list[str]] = []
    with process(tmp_path, 10) as running, warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowerRunWarning)  # it is in use
        assert running.stdout is not None
        for line in running.stdout:
            found.append(line.split())
            store = ObjectStore(tmp_path)
            store.put({f"ballast {at}": os.urandom(20_000) for at in range(50)})
            store.drop_old(200_000)
    assert running.returncode == 0
    assert len(found) == 10
    assert len({text for _, text in found}) == 1
    assert ObjectStore(tmp_path).drop_old(200_000)
    assert ObjectStore(tmp_path).state().size <= StoreSize(50, 200_000)
    assert (tmp_path / "objects.sqlite").stat().st_size < 1_000_000
