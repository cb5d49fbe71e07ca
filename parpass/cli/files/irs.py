"""Loading of modules that register passes, IRs or operators, and the known IRs.

The command reads programs of the IRs that entry points declare, and of those that a
module of `--load` registers.
"""

from __future__ import annotations

import atexit
import gc
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import click

from parpass import entry_points
from parpass.cli.output.failure import InputError, is_user_file
from parpass.entry_points import IR
from parpass.errors import EntryPointError, ParseError, ReproducerError
from parpass.errors.core import did_you_mean
from parpass.transform import ModuleAdapter, ProgramFormat, registered_programs
from parpass.transform.debug.locate import load_module


def load_plugin(name: str) -> None:
    """Import a module, or run a file, that registers passes.

    Raises:
        ReproducerError: There is none, or it failed, whatever it raised.
    """
    atexit.unregister(gc.freeze)  # what it leaves open is closed when it is freed
    try:
        load_module(name)
    except ReproducerError:
        raise
    except (Exception, SystemExit) as error:
        what = "".join(traceback.format_exception_only(error)).strip()
        raise ReproducerError(
            f"'{name}' cannot be loaded: {what}{_location(error)}"
        ) from error


def _location(error: BaseException) -> str:
    """Return the innermost line of user code, unless the message shows it."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) or not frames:
        return ""
    own = (one for one in reversed(frames) if is_user_file(one.filename))
    frame = next(own, frames[-1])
    return f"\n  at {frame.filename}:{frame.lineno}"


def known_irs() -> list[str]:
    """Return the names of the IRs whose programs can be read, sorted."""
    declared = {ir.name for ir in entry_points.known_irs() if ir.suffixes}
    return sorted(declared | {*registered_programs()})


def load_irs(ir: str | None, suffixes: Iterable[str]) -> ModuleAdapter | None:
    """Load the adapter of an IR, and of the IRs of files with these suffixes.

    It registers their passes, so call it before a pipeline is read.

    Returns:
        The adapter of the programs; None if they are of several IRs, or their IR shares
        its modules with others.
    """
    if ir is not None:
        check_ir(ir)
    found = {ir_of_suffix(suffix) for suffix in suffixes}
    if ir is not None:
        found = {ir_named(ir)}
    [only] = found if len(found) == 1 else [None]
    return only if isinstance(only, ModuleAdapter) else None


def load_installed_irs() -> None:
    """Load the adapters that other distributions declare; a failure is a note."""
    for ir in entry_points.known_irs():
        if ir.name not in entry_points.SHIPPED[entry_points.IRS]:
            try:
                ir.load_adapter()
            except EntryPointError as error:
                click.echo(f"Note: {error}", err=True)


def check_ir(name: str) -> None:
    if ir_named(name) is None:
        raise click.BadParameter(unknown_ir_message(name), param_hint="'--ir'")


def ir_named(name: str) -> ProgramFormat | None:
    """Return the program format of an IR, if there is one of that name."""
    found = registered_programs().get(name)
    return found or _loaded(entry_points.ir_named, name)


def unknown_ir_message(name: str) -> str:
    known = known_irs()
    if not name:
        return (
            "its IR has no name, so it cannot be read back; the adapter needs "
            "'ir_name' and 'parse'"
        )
    if entry_points.ir_named(name) is not None:
        return (
            f"the adapter of IR '{name}' has no program format, so it cannot read text"
        )
    return (
        f"no IR named '{name}'{did_you_mean(name, known)}; there are "
        f"{', '.join(known)}. An adapter names its IR by 'ir_name'; load it by "
        f"--load, or by an entry point of '{entry_points.IRS}'"
    )


def ir_of_suffix(suffix: str) -> ProgramFormat | None:
    """Return the program format of files with a suffix, which begins with a dot."""
    found = [one for one in registered_programs().values() if suffix in one.suffixes]
    return found[-1] if found else _loaded(entry_points.ir_with_suffix, suffix)


def _loaded(find: Callable[[str], IR | None], key: str) -> ProgramFormat | None:
    """Return the program format of the IR that `find` returns, if any."""
    try:
        ir = find(key)
        if ir is None:
            return None
        ir.load_adapter()
    except EntryPointError as error:
        raise InputError(str(error)) from None
    return registered_programs().get(ir.name)


def default_suffix(programs: ProgramFormat) -> str:
    return next(iter(programs.suffixes), ".txt")


def parse_program(programs: ProgramFormat, text: str, source_name: str) -> Any:
    """Return the module of a text.

    Raises:
        ParseError: It cannot be parsed, whatever exception the IR raised.
    """
    try:
        return programs.parse(text, source_name)
    except ParseError:
        raise
    except Exception as error:  # an IR may raise anything
        what = f"{type(error).__name__}: {error}"
        raise ParseError(f"'{source_name}' cannot be read: {what}") from error
