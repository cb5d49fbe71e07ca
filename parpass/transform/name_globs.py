"""Globs over names of passes and functions, as options and instruments take them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase


def matches_pass(pattern: str, name: str) -> bool:
    """Return whether a glob matches a pass's name; `UnrollLoop` does `tir.UnrollLoop`.

    Upper and lower case differ.
    """
    return fnmatchcase(name, pattern) or fnmatchcase(name.rpartition(".")[2], pattern)


def matches_any_pass(patterns: Iterable[str], name: str) -> bool:
    return any(matches_pass(one, name) for one in patterns)


def matches_any_function(patterns: Collection[str], name: str) -> bool:
    return "*" in patterns or any(fnmatchcase(name, one) for one in patterns)
