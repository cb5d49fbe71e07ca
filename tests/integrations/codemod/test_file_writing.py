"""Files are replaced whole, and keep what is not their content."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from parpass.integrations.codemod.file_writing import FileChangedError, replace_file


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
