"""The files that a codemod is run on: found below folders, and read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePath

from parpass.errors import ArgumentError


def find_files(
    paths: Sequence[str | os.PathLike[str]],
    include: Sequence[str] = ("*.py",),
    exclude: Sequence[str] = (),
) -> list[str]:
    """Return files, each once, sorted by their paths.

    A file that is named is taken, whatever it is called; a link that is named stands
    for its file. Below a folder links are passed over, and so are folders whose names
    begin with a dot, `__pycache__`, and virtual environments.

    Args:
        paths: Files and folders.
        include: Globs, one of which a file below a folder matches by its name, or by
            its path from that folder.
        exclude: Globs of files and folders to leave out, likewise; of named ones, too.

    Raises:
        ArgumentError: There is no such file, or none at all.
    """
    found: dict[str, str] = {}
    for path in paths:
        one = os.fspath(path)
        if os.path.isdir(one):
            files = _below(one, include, exclude)
        elif os.path.isfile(one):
            files = iter([] if _matches(PurePath(one), exclude) else [one])
        else:
            raise ArgumentError(f"there is no file or folder '{one}'")
        for file in files:
            found.setdefault(os.path.realpath(file), file)
    if not found:
        places = ", ".join(f"'{os.fspath(one)}'" for one in paths)
        raise ArgumentError(
            f"there is no file that matches {' or '.join(include)} in {places}"
            + (f", but for what matches {' or '.join(exclude)}" if exclude else "")
        )
    return sorted(found.values(), key=lambda path: Path(path).parts)


def _below(
    folder: str, include: Sequence[str], exclude: Sequence[str]
) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        inside = PurePath(os.path.relpath(place, folder))
        folders[:] = [
            name
            for name in folders
            if not (
                name.startswith(".")
                or name == "__pycache__"
                or os.path.exists(os.path.join(place, name, "pyvenv.cfg"))
                or _matches(inside / name, exclude)
            )
        ]
        for name in files:
            path = os.path.join(place, name)
            if (
                _matches(inside / name, include)
                and not _matches(inside / name, exclude)
                and os.path.isfile(path)
                and not os.path.islink(path)
            ):
                yield os.path.normpath(path)


def _matches(path: PurePath, globs: Sequence[str]) -> bool:
    """Return whether one of the globs matches the name, or the path."""
    text = path.as_posix()
    return any(
        fnmatchcase(path.name, one) or fnmatchcase(text, one.rstrip("/"))
        for one in globs
    )
