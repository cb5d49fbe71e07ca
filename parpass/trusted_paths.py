"""Ownership and permission checks of files that are executed, linked or unpickled.

One rule for all of them: a file or folder is trusted if it belongs to this user or to
root, as system files do, and no other user may write to it or to a folder above it, in
which it could be replaced. A folder above may be writable by all if it is sticky, as
`/tmp` is: only the owner of an entry can replace it there. Links are resolved first, so
that the checked path is the one that is used. Windows has no such permissions; there
only paths of the wrong kind are refused.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

_ROOT = 0
_ACL = "system.posix_acl_access"


class UntrustedPathError(Exception):
    """A file or folder is not trusted.

    `reason` is the rest of a sentence that begins with the path; `remedy` is what the
    user can do, as a part of a sentence.
    """

    def __init__(self, path: str | Path, reason: str, remedy: str = "") -> None:
        super().__init__(f"'{path}' {reason}")
        self.remedy = remedy


def trusted_folder(path: Path) -> Path:
    """Return the path of a folder with links resolved; the folder need not exist.

    Raises:
        UntrustedPathError: It, or a folder above it, is not trusted, or is no folder.
        OSError: Its status cannot be read.
    """
    given = path.absolute()
    for link in (given, *given.parents):
        if link.is_symlink():
            _check_owner(link, link.lstat(), _owners_above())
    real = Path(os.path.realpath(given))
    check_above(real)
    with contextlib.suppress(FileNotFoundError):
        found = _stat_folder(real)
        _check_owner(real, found, _owners())
        _check_mode(real, found)
    return real


def check_above(path: Path) -> None:
    """Check those folders above a path that exist.

    Raises:
        UntrustedPathError: One is not trusted, or is no folder.
        OSError: The status of one cannot be read.
    """
    with contextlib.suppress(FileNotFoundError):
        for folder in reversed(Path(os.path.realpath(path)).parents):
            found = _stat_folder(folder)
            _check_owner(folder, found, _owners_above())
            if not found.st_mode & stat.S_ISVTX:
                _check_mode(folder, found)


def _stat_folder(path: Path) -> os.stat_result:
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise UntrustedPathError(path, "is no folder", "move it away")
    return found


def make_private_folder(path: Path) -> None:
    """Create a folder, and missing ones above it, accessible to this user alone."""
    missing = [one for one in (path, *path.parents) if not one.exists()]
    for one in reversed(missing):
        try:
            one.mkdir(mode=0o700)
        except FileExistsError:  # another process has created it
            continue
        one.chmod(0o700)  # whatever the umask


def make_private_file(path: Path) -> None:
    """Create a file for this user alone, whatever the umask, unless it exists."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    try:
        file = os.open(path, flags, 0o600)
    except FileExistsError:
        return
    try:
        if hasattr(os, "fchmod"):
            os.fchmod(file, 0o600)
    finally:
        os.close(file)


def has_trusted_file(path: Path) -> bool:
    """Return whether a file exists in a folder that is trusted.

    Raises:
        UntrustedPathError: The file is not trusted, or is not regular (a link, say).
        OSError: Its status cannot be read.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(found.st_mode):
        kind = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "no regular file"
        raise UntrustedPathError(path, f"is {kind}", "remove it")
    _check_owner(path, found, _owners())
    _check_mode(path, found)
    return True


def is_private_folder(path: str) -> bool:
    """Return whether a path is a folder of this user that no other user can access."""
    found = os.lstat(path)
    is_ours = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    return stat.S_ISDIR(found.st_mode) and is_ours and not found.st_mode & 0o077


def _owners() -> set[int]:
    return {_ROOT, os.geteuid()} if hasattr(os, "geteuid") else set()


def _owners_above() -> set[int]:
    owners = _owners()
    # In a user namespace, root outside of it has another number.
    return owners and owners | {os.stat("/").st_uid}


def _check_owner(path: Path, found: os.stat_result, owners: set[int]) -> None:
    if owners and found.st_uid not in owners:
        owner = f"belongs to another user ({_user_name(found.st_uid)})"
        raise UntrustedPathError(path, f"{owner}, so it is not trusted")


def _check_mode(path: Path, found: os.stat_result) -> None:
    if not hasattr(os, "geteuid"):
        return
    group_may_write = bool(found.st_mode & stat.S_IWGRP)
    has_list = group_may_write and _has_acl(path)
    group_is_others = group_may_write and not _is_private_group(found)
    if has_list or group_is_others or found.st_mode & stat.S_IWOTH:
        mode = f"mode {stat.S_IMODE(found.st_mode):04o}"
        if has_list:
            mode += " and an access control list"
        remedy = f"'chmod go-w {path}' changes that"
        if not stat.S_ISDIR(found.st_mode):
            remedy = "remove it"
        reason = f"can be written to by others ({mode}), so it is not trusted"
        raise UntrustedPathError(path, reason, remedy)


def _has_acl(path: Path) -> bool:
    """Return whether a path has an access control list.

    What its entries permit at most is shown, and limited, by the group's permissions.
    """
    if not hasattr(os, "listxattr"):
        return False
    try:
        return _ACL in os.listxattr(path)
    except OSError as error:
        if error.errno == errno.ENOTSUP:  # the file system has none
            return False
        raise


def _is_private_group(found: os.stat_result) -> bool:
    """Return whether a file's group has no member but the file's owner.

    Many systems give each user such a group, and make new files writable by it.
    """
    import grp  # exists on POSIX alone

    try:
        group = grp.getgrgid(found.st_gid)
    except KeyError:
        return False
    owner = _user_name(found.st_uid)
    return group.gr_name == owner and {*group.gr_mem} <= {owner}


def _user_name(number: int) -> str:
    import pwd  # exists on POSIX alone

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
