"""Files of other users, and what a process may not write."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

ANOTHER = 12345  # the number of a user


def given_to_another_user(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a path belong to another user than this process has.

    Only the superuser can give files away; for others this process seems to have got
    another user.
    """
    if os.geteuid() == 0:
        os.chown(path, ANOTHER, -1, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: ANOTHER)


def may_write_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process seem to have no permission to write, as the superuser has."""

    def access(_: Path, mode: int, **__: bool) -> bool:
        return not mode & os.W_OK

    monkeypatch.setattr(os, "access", access)


def may_do_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process seem to have no permission at all."""

    def access(_: Path, __: int, **___: bool) -> bool:
        return False

    monkeypatch.setattr(os, "access", access)


def permit_by_list(path: Path, permissions: int) -> None:
    """Give another user permissions by an access control list, and the group none.

    The test is skipped where the file system, or the system, has no such lists.

    Args:
        path: A file or folder.
        permissions: Bits, as of `chmod` for one class of users: 7 for all.
    """
    user, named_user, group, mask, others = 0x01, 0x02, 0x04, 0x10, 0x20
    nobody = 0xFFFFFFFF
    entries = [
        (user, 7, nobody),
        (named_user, permissions, ANOTHER),
        (group, 0, nobody),
        (mask, permissions, nobody),
        (others, 0, nobody),
    ]
    version = struct.pack("<I", 2)
    packed = version + b"".join(struct.pack("<HHI", *one) for one in entries)
    if not hasattr(os, "setxattr"):
        pytest.skip("this system has no access control lists of POSIX")
    try:
        os.setxattr(path, "system.posix_acl_access", packed)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        pytest.skip("this file system has no access control lists")


def own_private_group(monkeypatch: pytest.MonkeyPatch, *members: str) -> None:
    """Have this process's group seem to be its user's own, with some members."""
    import pwd  # exists on POSIX alone

    group_seems_to_be(monkeypatch, pwd.getpwuid(os.geteuid()).pw_name, *members)


def group_seems_to_be(
    monkeypatch: pytest.MonkeyPatch, name: str, *members: str
) -> None:
    """Have this process's group seem to have a name, and some members."""
    import grp  # exists on POSIX alone

    found = grp.struct_group((name, "x", os.getegid(), list(members)))

    def getgrgid(number: int) -> grp.struct_group:
        assert number == os.getegid()
        return found

    monkeypatch.setattr(grp, "getgrgid", getgrgid)


@contextmanager
def with_umask(umask: int) -> Generator[None]:
    """Have a umask in the block."""
    before = os.umask(umask)
    try:
        yield
    finally:
        os.umask(before)
