"""Folders of runs on machines that do not see the coordinator's.

A worker that uses one asks for each large value that it has not made itself, as no file
of another process need be there, or be complete.
"""

from __future__ import annotations

from parpass.runner.travel.folder import Folder

_BROUGHT = "brought"  # the name of a file that says so


def have_values_be_brought(folder: Folder) -> None:
    """Have workers that use a folder ask for all large values."""
    folder.publish(_BROUGHT, b"")


def are_values_brought(folder: Folder) -> bool:
    """Return whether they do."""
    return folder.has(_BROUGHT)
