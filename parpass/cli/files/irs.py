"""The IRs whose programs the command reads: Relay, and those that adapters register."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from importlib import import_module
from typing import Any

import click

from parpass.adapters.xdsl.worker_modules import IR_NAME, SUFFIX
from parpass.cli.showing.failure import InputError
from parpass.errors import ParseError, did_you_mean
from parpass.transform import Textual, registered_programs


def known_irs() -> Mapping[str, Textual]:
    """Return what knows the texts of IRs, by their names."""
    import_module("parpass.relay")  # registers its own
    return registered_programs()


# Adapters that come with parpass: the IR, the suffix of its files, the module that
# registers it, and the extra that installs what it is for.
_SHIPPED = {IR_NAME: (SUFFIX, "parpass.adapters.xdsl.mlir_programs", "xdsl")}


def load_irs(ir: str | None, suffixes: Iterable[str]) -> None:
    """Load the shipped adapters of the IR that is asked for, or of files.

    That makes their passes known, so it comes before a pipeline is read.

    Raises:
        click.BadParameter: There is no such IR.
        InputError: What an adapter is for is not installed.
    """
    _load_shipped({ir, *suffixes})
    if ir is not None:
        check_ir(ir)


def check_ir(name: str) -> None:
    """Check the name that `--ir` gives.

    Raises:
        click.BadParameter: There is no such IR.
    """
    if ir_named(name) is None:
        raise click.BadParameter(no_such_ir(name), param_hint="'--ir'")


def _load_shipped(asked: Collection[str | None]) -> None:
    for ir, (suffix, module, extra) in _SHIPPED.items():
        if ir not in asked and suffix not in asked:
            continue
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            raise InputError(
                f"programs of IR '{ir}' need {error.name}: install 'parpass[{extra}]'"
            ) from None


def ir_named(name: str) -> Textual | None:
    """Return what knows the text of an IR, if there is one of that name."""
    _load_shipped([name])
    return registered_programs().get(name) or known_irs().get(name)


def no_such_ir(name: str) -> str:
    """Return the message for a name that no IR has."""
    known = {*known_irs(), *_SHIPPED}
    if not name:
        return (
            "its IR has no name, so nobody knows how to read it: the adapter wants "
            "'ir_name', and 'parse'"
        )
    return (
        f"no IR named '{name}'{did_you_mean(name, known)}; there are "
        f"{', '.join(sorted(known))}. An adapter names its IR by 'ir_name', and --load "
        "makes it known"
    )


def ir_of_suffix(suffix: str) -> Textual | None:
    """Return what knows the text of the IR whose files have a suffix, with its dot."""
    _load_shipped([suffix])
    for known in (registered_programs, known_irs):
        found = [one for one in known().values() if suffix in one.suffixes]
        if found:
            return found[-1]
    return None


def suffix_of(programs: Textual) -> str:
    """Return what the name of a file ends in that has a program of an IR."""
    return next(iter(programs.suffixes), ".txt")


def parsed(programs: Textual, text: str, source_name: str) -> Any:
    """Return the module of which this is the text.

    Raises:
        ParseError: It cannot be read, whatever was raised.
    """
    try:
        return programs.parse(text, source_name)
    except ParseError:
        raise
    except Exception as error:  # an IR may raise anything
        what = f"{type(error).__name__}: {error}"
        raise ParseError(f"'{source_name}' cannot be read: {what}") from error
