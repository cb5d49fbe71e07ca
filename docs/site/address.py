"""The address of the repository: in `pyproject.toml`, and where that is repeated.

    python -m docs.site.address URL

A release runs it with its address. Then links of the package and of the site have it,
and the command that clones the repository.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
FILES = ("pyproject.toml", "README.md", "CITATION.cff")


def address(root: Path = _ROOT) -> str:
    """Return the address of the repository that a project states."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return settings["project"]["urls"]["Repository"]


def moved(url: str, root: Path = _ROOT) -> Iterator[tuple[Path, str]]:
    """Yield the files that state the address, each with its text for a new one."""
    old = address(root)
    for name in FILES:
        path = root / name
        yield path, path.read_text(encoding="utf-8").replace(old, url.rstrip("/"))


if __name__ == "__main__":
    [new] = sys.argv[1:]
    for file, text in list(moved(new)):
        file.write_text(text, encoding="utf-8")
