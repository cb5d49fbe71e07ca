"""Runs whose functions travel whole: large values go with them.

That is so where the processes of a run do not all see the same files.
"""

from __future__ import annotations

from parpass.runner.travel.folder import Folder
from parpass.runner.travel.large_values import NoLargeValues
from parpass.transform import LargeValue

_WHOLE = "whole"  # the name of a file that says so


def have_all_travel(folder: Folder) -> None:
    """Have workers that use a folder send large values with the functions."""
    folder.publish(_WHOLE, b"")


def all_travels(folder: Folder) -> bool:
    """Return whether they do."""
    return folder.has(_WHOLE)


class AllTravels(NoLargeValues):
    """In place of large values, where none is too large to go with its function."""

    def put(self, value: LargeValue) -> None:
        """Have a value go with its function."""

    def close(self) -> None:
        """Close nothing."""
