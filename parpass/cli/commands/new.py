"""`parpass new`: create a small working compiler to start from."""

from __future__ import annotations

import keyword
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path

import click

from parpass import __version__
from parpass.cli.options.structs import argument, command, option_struct, running
from parpass.cli.output.failure import InputError
from parpass.entry_points import SHARED_SUFFIXES, known_irs

_NAME = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")
_SUFFIX = re.compile(r"\.[a-z0-9_]+")
_USUAL_SUFFIXES = SHARED_SUFFIXES | {".npy", ".npz", ".py"}  # which the command reads
_TEMPLATE = ".in"  # ends the names of the files that a project is made from


@option_struct
class NewOptions:
    name: str = argument()
    suffix: str | None = running(
        "--suffix",
        metavar=".SUFFIX",
        help="Suffix of the language's programs.  [default: the name without "
        "underscores]",
    )
    into: Path | None = running(
        "--into",
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder to create.  [default: the name, in the current folder]",
    )


@command(
    NewOptions,
    epilog="Exit codes: 0 ok, 2 the name or the folder cannot be used, 130 "
    "interrupted.",
)
def new(given: NewOptions) -> None:
    """Create a small working compiler to start from.

    The project has an IR of dataclasses, a text format, an adapter, a function pass, a
    module pass, a command, and tests that pass. All of it is yours to change.

    \b
    Example:
      parpass new my_compiler && cd my_compiler
      pip install -e '.[test]' && pytest
      parpass opt programs/first.mycompiler -p my_compiler --timing
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    name, into = given.name, given.into
    package = _checked_name(name)
    suffix = _checked_suffix(given.suffix or f".{package.replace('_', '')}")
    folder = Path(name) if into is None else into
    words = {
        "my_compiler": package,
        "my-compiler": package.replace("_", "-"),
        ".mylang": suffix,
        "@VERSION@": __version__,
    }
    _write(folder, words)
    click.echo(f"{folder} is a compiler for programs that end in '{suffix}'. Next:")
    click.echo(f"  cd {folder}")
    click.echo("  pip install -e '.[test]' && pytest")
    click.echo(f"  parpass opt programs/first{suffix} -p {package} --timing")


def _checked_name(name: str) -> str:
    package = name.replace("-", "_")
    if not _NAME.fullmatch(name):
        raise InputError(
            f"expected a name of small letters, digits and underscores, such as "
            f"'my_compiler', got '{name}'"
        )
    owner = _owner(package)
    if owner is not None:
        raise InputError(
            f"'{name}' is already the name of {owner}; choose another, such as "
            f"'{package}_compiler'"
        )
    return package


def _owner(package: str) -> str | None:
    """Return the owner of a name, in words; None if it is free."""
    if keyword.iskeyword(package) or package in sys.stdlib_module_names:
        return "Python"
    if package in ("parpass", *(ir.name for ir in known_irs())):
        return "parpass, or of an IR that is installed"
    if package in _required() or find_spec(package) is not None:
        return "a package that parpass needs, or that is installed here"
    return "a folder of the project" if package in ("programs", "tests") else None


def _required() -> set[str]:
    """Return the names of the packages that parpass and its extras require."""
    try:
        lines = metadata.requires("parpass") or ()
    except metadata.PackageNotFoundError:  # a source tree
        return set()
    found = (re.match(r"[\w.-]+", line) for line in lines)
    return {one[0].lower().replace("-", "_") for one in found if one is not None}


def _checked_suffix(suffix: str) -> str:
    if not _SUFFIX.fullmatch(suffix):
        raise InputError(
            "expected a suffix of small letters, digits and underscores for --suffix, "
            f"such as '.toy', got '{suffix}'"
        )
    owners = {one: f"IR '{ir.name}'" for ir in known_irs() for one in ir.suffixes}
    owners |= dict.fromkeys(_USUAL_SUFFIXES, "files of other kinds")
    if suffix in owners:
        raise InputError(
            f"expected a suffix of its own, such as '.toy', got '{suffix}', which is "
            f"that of {owners[suffix]}; give another by --suffix"
        )
    return suffix


def _write(folder: Path, words: Mapping[str, str]) -> None:
    """Create a project completely, or not at all."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            f"'{folder}' exists and is not empty; choose another by --into"
        )
    made = folder.absolute().with_name(f".{folder.name}-{os.getpid()}")
    try:
        made.mkdir(parents=True)
        try:
            for path, text in _files(files("parpass.cli") / "new_project"):
                target = made / _replaced(path, words)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(_replaced(text, words), encoding="utf-8")
            if folder.exists():  # and is empty
                folder.rmdir()
            made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise InputError(f"'{folder}' cannot be made: {error}") from error


def _files(folder: Traversable, path: str = "") -> Iterator[tuple[str, str]]:
    for one in sorted(folder.iterdir(), key=lambda one: one.name):
        if one.is_dir():
            yield from _files(one, f"{path}{one.name}/")
        elif one.name.endswith(_TEMPLATE):
            name = one.name.removesuffix(_TEMPLATE)
            yield path + name, one.read_text(encoding="utf-8")


def _replaced(text: str, words: Mapping[str, str]) -> str:
    return re.sub("|".join(map(re.escape, words)), lambda found: words[found[0]], text)
