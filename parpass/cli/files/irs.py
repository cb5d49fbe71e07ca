"""The IRs whose programs the command reads: Relay, and those that adapters register."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

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


def load_irs(names: Iterable[str]) -> None:
    """Load the shipped adapters of IRs, by their names or the suffixes of files.

    That makes their passes known, so it comes before a pipeline is read.

    Raises:
        InputError: What an adapter is for is not installed.
    """
    asked = set(names)
    for ir, (suffix, module, extra) in _SHIPPED.items():
        if not asked & {ir, suffix}:
            continue
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            raise InputError(
                f"programs of IR '{ir}' need {error.name}: install 'parpass[{extra}]'"
            ) from None


def ir_named(name: str) -> Textual | None:
    """Return what knows the text of an IR, if there is one of that name."""
    load_irs([name])
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
    load_irs([suffix])
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
