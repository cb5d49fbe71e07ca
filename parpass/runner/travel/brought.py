"""Folders of runs to which what the coordinator's has is brought.

A worker that uses one asks for each large value that it has not made itself, as no file
of another process need be there, or be complete. It may be on another machine, where
other files are in other places.
"""

from __future__ import annotations

from parpass.runner.travel.folder import Folder

_BROUGHT = "brought"  # the name of a file that says so, and what machine this is
_HERE, _ELSEWHERE = b"here", b"elsewhere"


def have_values_be_brought(folder: Folder, *, elsewhere: bool) -> None:
    """Have workers that use a folder ask for all large values.

    Args:
        folder: The folder.
        elsewhere: Whether it is on a machine that does not see the coordinator's files.
    """
    folder.publish(_BROUGHT, _ELSEWHERE if elsewhere else _HERE)


def are_values_brought(folder: Folder) -> bool:
    """Return whether they do."""
    return folder.has(_BROUGHT)


def is_elsewhere(folder: Folder) -> bool:
    """Return whether a folder is on a machine of which files are in other places."""
    return folder.read(_BROUGHT) == _ELSEWHERE
