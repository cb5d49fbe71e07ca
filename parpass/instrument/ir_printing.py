"""Instruments that print or write the module around passes, or what passes changed."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from parpass.diagnostic import takes_colour
from parpass.instrument.protocol import PassInstrument
from parpass.transform import PassInfo
from parpass.transform.capture.change import FunctionChange
from parpass.transform.pass_info import checked_names


class _Prints(PassInstrument):
    def __init__(self, *, stream: TextIO | None = None) -> None:
        self._stream = stream

    def _print(self, text: str) -> None:
        (sys.stdout if self._stream is None else self._stream).write(text)


class PrintBeforeAll(_Prints):
    """Prints the module before each pass.

    Args:
        stream: The stream; by default `sys.stdout` at the time of printing.
    """

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Print the module."""
        self._print(f"Before Running Pass: {info}\n{mod}\n")


class PrintAfterAll(_Prints):
    """Prints the module after each pass.

    Args:
        stream: The stream; by default `sys.stdout` at the time of printing.
    """

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Print the module."""
        self._print(f"After Running Pass: {info}\n{mod}\n")


class PassPrintingInstrument(_Prints):
    """Prints the module before some passes and after some.

    Args:
        print_before_pass_names: The passes before which to print.
        print_after_pass_names: The passes after which to print.
        stream: The stream; by default `sys.stdout` at the time of printing.

    Raises:
        ArgumentError: The names are not a list of names.
    """

    def __init__(
        self,
        print_before_pass_names: Iterable[str],
        print_after_pass_names: Iterable[str],
        *,
        stream: TextIO | None = None,
    ) -> None:
        super().__init__(stream=stream)
        self._before = checked_names(print_before_pass_names, "print_before_pass_names")
        self._after = checked_names(print_after_pass_names, "print_after_pass_names")

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Print the module if the pass is in the list."""
        if info.name in self._before:
            self._print(f"Print IR before: {info.name}\n{mod}\n\n\n")

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Print the module if the pass is in the list."""
        if info.name in self._after:
            self._print(f"Print IR after: {info.name}\n{mod}\n\n\n")


class PrintChanged(PassInstrument):
    """Prints the changes of passes: a diff for each changed function.

    It prints nothing for unchanged functions and adds no barrier: workers compare and
    print. The diffs are unified text after lines `// PASS changed FUNCTION`; see
    `FunctionChange.diff`.

    If the stream cannot be written to, printing ends with one warning on standard
    error; the run continues.

    Args:
        passes: Globs of the passes; by default all.
        functions: Globs of the functions; by default all.
        stream: The stream; by default `sys.stdout` at the time of printing.
        coloured: Whether to colour lines; by default on a terminal, unless `NO_COLOR`
            or `TERM` says otherwise.

    Raises:
        ArgumentError: The globs are not a list of names.
    """

    observes_ir = False

    def __init__(
        self,
        passes: Iterable[str] = ("*",),
        functions: Iterable[str] = ("*",),
        *,
        stream: TextIO | None = None,
        coloured: bool | None = None,
    ) -> None:
        self.watched_passes = checked_names(passes, "passes")
        self.watched_functions = checked_names(functions, "functions")
        self._stream = stream
        self._coloured = coloured
        self._has_ended = False

    def on_function_changed(self, info: PassInfo, change: FunctionChange) -> None:
        """Print the change."""
        if self._has_ended:
            return
        stream = sys.stdout if self._stream is None else self._stream
        title = f"// {info.name} {change.verb} {change.function}"
        lines = [title, *change.diff().split("\n")]
        try:
            if self._takes_colour(stream):
                lines = [coloured_diff_line(line) for line in lines]
            stream.write("\n".join([*lines, "", ""]))
        except (OSError, ValueError) as error:  # it is full, closed, or of few letters
            self._has_ended = True
            reason = getattr(error, "strerror", None) or error
            with contextlib.suppress(OSError, ValueError):  # the stream may be this one
                warn_on_stderr(
                    "PrintChanged",
                    f"cannot write a diff: {reason}; what is left is not printed",
                )

    def _takes_colour(self, stream: TextIO) -> bool:
        if self._coloured is None:
            return stream.isatty() and takes_colour()
        return self._coloured


_COLOURS = {"/": "1", "@": "36", "-": "31", "+": "32"}  # by the first character


def coloured_diff_line(line: str) -> str:
    colour = _COLOURS.get(line[:1])
    return line if colour is None else f"\x1b[{colour}m{line}\x1b[0m"


_FORBIDDEN_IN_FILE_NAMES = re.compile(r'[<>:"/\\|?*\x00-\x1f]')


class DumpIR(PassInstrument):
    r"""Writes the module after each successful pass to `DIR/NNN_NAME.txt`.

    NNN counts the files of this instrument from 000, in the order in which passes end:
    a nested pass comes before the pass around it. NAME is the name of the pass;
    characters that file names cannot contain (`<>:"/\|?*`, control characters) become
    `_`. The text is `str(mod)`. TVM's files end in `.py`, because TVMScript is Python;
    these hold the text of any IR, and end in `suffix`.

    A file that cannot be written causes a warning on standard error; the run continues.

    Args:
        dump_dir: The directory; created when needed.
        refresh: Whether to delete an existing directory. One that contains anything but
            dumps is left alone, with a warning.
        suffix: The suffix of file names.
    """

    def __init__(
        self, dump_dir: str | Path, refresh: bool = False, *, suffix: str = ".txt"
    ) -> None:
        self._directory = Path(dump_dir)
        self._suffix = suffix
        self._counter = 0
        if refresh:
            self._delete_old()

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Write the module."""
        name = _FORBIDDEN_IN_FILE_NAMES.sub("_", info.name)
        path = self._directory / f"{self._counter:03}_{name}{self._suffix}"
        self._counter += 1
        text = str(mod).rstrip("\n") + "\n"
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            warn_on_stderr("DumpIR", f"cannot write '{path}': {error.strerror}")

    def _delete_old(self) -> None:
        dumped = re.compile(rf"\d{{3,}}_.*{re.escape(self._suffix)}", re.DOTALL)
        try:
            if not self._directory.exists():
                return
            foreign = sorted(
                entry.name
                for entry in self._directory.iterdir()
                if not dumped.fullmatch(entry.name) or not entry.is_file()
            )
            if foreign:
                warn_on_stderr(
                    "DumpIR",
                    f"'{self._directory}' is not deleted, because it has other files "
                    f"than dumps, such as '{foreign[0]}'",
                )
            else:
                shutil.rmtree(self._directory)
        except OSError as error:
            why = f"cannot delete '{self._directory}': {error.strerror}"
            warn_on_stderr("DumpIR", why)


def warn_on_stderr(instrument: str, message: str) -> None:
    """Write that what an instrument was to write is not there; no run fails for it."""
    sys.stderr.write(f"WARNING: {instrument}: {message}\n")
