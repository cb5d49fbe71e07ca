"""Files are replaced whole, and keep what is not their content."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from parpass.integrations.codemod.file_writing import FileChangedError, replace_file

_WRITES = """\
import itertools, sys
from parpass.integrations.codemod.file_writing import replace_file
print("ready", flush=True)
before, after = b"a" * 300_000, b"b" * 300_000
for _ in itertools.count():
    replace_file(sys.argv[1], before, after)
    before, after = after, before
"""


@pytest.mark.slow
def test_killed_at_any_moment_it_leaves_a_whole_file(tmp_path: Path):
    path = tmp_path / "file.py"
    path.write_bytes(b"a" * 300_000)
    for _ in range(4):
        path.write_bytes(b"a" * 300_000)
        process = subprocess.Popen(
            [sys.executable, "-c", _WRITES, path], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        identity = path.stat().st_ino
        while path.stat().st_ino == identity:  # until it is in the midst of it
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        assert set(path.read_bytes()) in ({ord("a")}, {ord("b")})
        assert path.stat().st_size == 300_000
        left = [one for one in os.listdir(tmp_path) if one != "file.py"]
        assert all(one.startswith(".parpass-") for one in left)


def test_permissions_and_links_are_kept(tmp_path: Path):
    path, link = tmp_path / "file.py", tmp_path / "link.py"
    path.write_bytes(b"old")
    path.chmod(0o750)
    os.utime(path, (1, 1))
    link.symlink_to("file.py")
    replace_file(str(link), b"old", b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o7777 == 0o750
    assert path.stat().st_mtime > 1  # as it has new content
    assert sorted(os.listdir(tmp_path)) == ["file.py", "link.py"]


def test_what_somebody_else_wrote_stays(tmp_path: Path):
    path = tmp_path / "file.py"
    path.write_bytes(b"theirs")
    with pytest.raises(FileChangedError):
        replace_file(str(path), b"old", b"new")
    assert path.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["file.py"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path):
    path = tmp_path / "file.py"
    path.write_bytes(b"old")
    code = (
        "import resource, signal, sys\n"
        "from parpass.integrations.codemod.file_writing import replace_file\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: replace_file(sys.argv[1], b'old', b'n' * 5000)\n"
        "except OSError: print('refused')\n"
    )
    told = subprocess.check_output([sys.executable, "-c", code, path], text=True)
    assert told == "refused\n"
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file.py"]
