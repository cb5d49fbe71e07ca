"""What is read from disk, and run, can have been written by none but its user."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from parpass.trusted_paths import (
    UntrustedPathError,
    has_trusted_file,
    make_private_file,
    make_private_folder,
    trusted_folder,
)
from tests.support.permissions import (
    given_to_another_user,
    group_seems_to_be,
    own_private_group,
    permit_by_list,
    with_umask,
)

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="there are no such permissions"
)


@pytest.fixture
def shared() -> Iterator[Path]:
    """Give a folder that is right in the system's temporary one."""
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def test_ones_own_folder_is_trusted_before_and_after_it_is_made(shared: Path):
    real = Path(os.path.realpath(shared))  # in a folder that is everybody's
    assert trusted_folder(shared / "a/b") == real / "a/b"
    assert not [*shared.iterdir()]
    make_private_folder(shared / "a/b")
    assert trusted_folder(shared / "a/b") == real / "a/b"


@pytest.mark.parametrize("umask", [0, 0o022, 0o777])
def test_what_is_made_is_for_its_user_alone_whatever_the_umask(
    tmp_path: Path, umask: int
):
    with with_umask(umask):
        make_private_folder(tmp_path / "a/b")
        make_private_file(tmp_path / "a/b/file")
        make_private_file(tmp_path / "a/b/file")
    modes = [(tmp_path / one).stat().st_mode for one in ("a", "a/b", "a/b/file")]
    assert [mode & 0o777 for mode in modes] == [0o700, 0o700, 0o600]
    assert has_trusted_file(tmp_path / "a/b/file")


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path, mode: int):
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(mode)
    told = rf"a' can be written to by others \(mode {mode:04o}\)"
    with pytest.raises(UntrustedPathError, match=told) as caught:
        trusted_folder(tmp_path / "a")
    assert caught.value.remedy.startswith("'chmod go-w ")
    (tmp_path / "a").chmod(mode & ~0o022)
    assert trusted_folder(tmp_path / "a")


def test_a_folder_above_that_others_can_write_to_is_refused_unless_it_is_sticky(
    tmp_path: Path,
):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a").chmod(0o777)
    for below in ("b", "none/yet"):
        with pytest.raises(UntrustedPathError, match="a' can be written to by others"):
            trusted_folder(tmp_path / "a" / below)
    (tmp_path / "a").chmod(0o1777)
    assert trusted_folder(tmp_path / "a/b")


def test_a_group_is_of_others_unless_it_is_its_users_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import pwd

    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o770)
    user = pwd.getpwuid(os.geteuid()).pw_name
    for members in [(), (user,)]:
        group_seems_to_be(monkeypatch, user, *members)
        assert trusted_folder(tmp_path / "a")
    for name, members in [("staff", ()), (user, ("other",)), (user, (user, "other"))]:
        group_seems_to_be(monkeypatch, name, *members)
        with pytest.raises(UntrustedPathError, match=r"by others \(mode 0770\)"):
            trusted_folder(tmp_path / "a")


def test_an_access_control_list_that_lets_others_write_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    own_private_group(monkeypatch)
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/file").touch()
    told = r"a' can be written to by others \(mode 0770 and an access control list\)"
    for permissions in (7, 6, 2):
        permit_by_list(tmp_path / "a", permissions)
        for path in ("a", "a/b", "a/none/yet"):
            with pytest.raises(UntrustedPathError) as caught:
                trusted_folder(tmp_path / path)
            assert caught.value.remedy == f"'chmod go-w {tmp_path / 'a'}' changes that"
    permit_by_list(tmp_path / "a", 7)
    with pytest.raises(UntrustedPathError, match=told):
        trusted_folder(tmp_path / "a")
    permit_by_list(tmp_path / "a/file", 6)
    with pytest.raises(UntrustedPathError, match="file' can be written to by others"):
        has_trusted_file(tmp_path / "a/file")


def test_one_that_lets_them_read_alone_is_not_nor_one_that_was_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    own_private_group(monkeypatch)
    (tmp_path / "a").mkdir()
    for permissions in (5, 4, 0):
        permit_by_list(tmp_path / "a", permissions)
        assert trusted_folder(tmp_path / "a")
    permit_by_list(tmp_path / "a", 7)
    (tmp_path / "a").chmod(0o770 & ~0o022)  # as the remedy says
    assert trusted_folder(tmp_path / "a")


def test_where_the_file_system_has_no_lists_nobody_is_let_in_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def listxattr(_: Path) -> list[str]:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    own_private_group(monkeypatch)
    monkeypatch.setattr(os, "listxattr", listxattr, raising=False)
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o770)
    assert trusted_folder(tmp_path / "a")


@pytest.mark.parametrize("which", ["", "a", "a/b"])
def test_what_belongs_to_another_user_is_refused(
    tmp_path: Path, which: str, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "a/b").mkdir(parents=True)
    given_to_another_user(tmp_path / which, monkeypatch)
    with pytest.raises(UntrustedPathError, match=r"belongs to another user \("):
        trusted_folder(tmp_path / "a/b")


def test_a_file_of_another_user_or_for_others_to_write_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert not has_trusted_file(tmp_path / "file")
    (tmp_path / "file").touch()
    (tmp_path / "file").chmod(0o644)
    assert has_trusted_file(tmp_path / "file")
    (tmp_path / "file").chmod(0o646)
    with pytest.raises(UntrustedPathError, match="can be written to by others"):
        has_trusted_file(tmp_path / "file")
    (tmp_path / "file").chmod(0o600)
    given_to_another_user(tmp_path / "file", monkeypatch)
    with pytest.raises(UntrustedPathError, match="belongs to another user"):
        has_trusted_file(tmp_path / "file")


def test_a_link_is_followed_if_no_other_user_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a")
    assert trusted_folder(tmp_path / "link/b") == tmp_path.resolve() / "a/b"
    (tmp_path / "a").chmod(0o777)
    with pytest.raises(UntrustedPathError, match="a' can be written to by others"):
        trusted_folder(tmp_path / "link/b")
    (tmp_path / "a").chmod(0o755)
    given_to_another_user(tmp_path / "link", monkeypatch)
    with pytest.raises(UntrustedPathError, match="belongs to another user"):
        trusted_folder(tmp_path / "link/b")


def test_what_is_of_another_kind_is_refused(tmp_path: Path):
    for name, kind in [("link", "a symbolic link"), ("folder", "no regular file")]:
        if name == "link":
            (tmp_path / name).symlink_to("/dev/zero")
        else:
            (tmp_path / name).mkdir()
        with pytest.raises(UntrustedPathError, match=f"is {kind}"):
            has_trusted_file(tmp_path / name)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UntrustedPathError, match="no regular file"):
        has_trusted_file(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("fifo", "loop", "fifo/below"):
        with pytest.raises(UntrustedPathError, match="is no folder"):
            trusted_folder(tmp_path / name)
