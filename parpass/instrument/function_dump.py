"""DumpFunctions: what passes made of each function, in numbered files by function."""

from __future__ import annotations

import contextlib
import hashlib
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

import msgspec

from parpass.errors import ArgumentError, ParpassError
from parpass.instrument.ir_printing import warn_on_stderr
from parpass.instrument.protocol import PassInstrument
from parpass.transform import PassContext, PassInfo, adapter_of
from parpass.transform.capture.change import FunctionChange, Origin
from parpass.transform.pass_info import checked_names
from parpass.transform.program_format import registered_programs

DEFAULT_LIMIT = 10**9

# Of what a name of a file shows of another name.
_MAX_NAME = 100
_DEFAULT_LEVEL = 2  # of the command

# Names that Windows gives to devices, with any suffix.
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
_PLAIN = re.compile(rf"[a-z0-9_][a-z0-9_.-]{{0,{_MAX_NAME - 1}}}")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_.-]")


class DumpFunctions(PassInstrument):
    """Writes each version of each function to a file, in one folder per function.

    `DIR/FUNCTION/000_before.relay` is the text before the first pass that changed the
    function, `001_PASS.relay` the text after that pass, and so on. The first line after
    a pass is a comment with the command that runs the pass on the previous file, from
    within that folder. If that text cannot run by itself, the comment says why: it
    refers to other functions, for example, or omits large constants. If something that
    is not dumped changed a function in between, another `NNN_before` comes first.

    The files do not depend on the number of workers, and dumping adds no barrier. A
    folder is named after its function. In names that are longer than 100 characters or
    contain others than `a-z0-9_.-`, such characters become `_`, and `~` and a digest of
    the name follow; upper case is kept, with the digest.

    If a file cannot be written, dumping ends with one warning on standard error; the
    run continues.

    Args:
        directory: An empty directory; created if necessary.
        passes: Globs of the passes; by default all.
        functions: Globs of the functions; by default all.
        limit: The maximum number of bytes to write. Dumping ends, with a warning,
            before the first version that would exceed it.
        arguments: Further arguments of the commands, such as `--load` and a file.

    Raises:
        ArgumentError: The directory cannot be created, is not empty, or is not
            writable; or the globs are not a list of names; or the limit is negative.
    """

    observes_ir = False

    def __init__(
        self,
        directory: str | Path,
        passes: Iterable[str] = ("*",),
        functions: Iterable[str] = ("*",),
        *,
        limit: int = DEFAULT_LIMIT,
        arguments: Iterable[str] = (),
    ) -> None:
        self.watched_passes = checked_names(passes, "passes")
        self.watched_functions = checked_names(functions, "functions")
        self._arguments = checked_names(arguments, "arguments")
        if limit < 0:
            raise ArgumentError(f"expected a limit of 0 bytes or more, got {limit}")
        self._limit = self._left = limit
        self._directory = Path(directory)
        _check_directory(self._directory)
        self._versions: dict[str, _Version] = {}
        self._has_ended = False

    def on_function_changed(self, info: PassInfo, change: FunctionChange) -> None:
        """Write the new version of the function, and the previous one if necessary."""
        if self._has_ended:
            return
        suffix = ".txt" if change.origin is None else change.origin.suffix
        last = self._versions.get(change.function) or _Version()
        folder = self._directory / _folder_name(change.function)
        try:
            if change.before is not None and last.text != _digest(change.deflated[0]):
                last = last.next("before", _digest(change.deflated[0]), suffix)
                self._write(folder / last.file, change.before)
            made = last.next(_shown(info.name), _digest(change.deflated[1]), suffix)
            self._write(folder / made.file, self._after(info, change, last.file))
        except _LimitError:
            self._end(
                f"{self._limit:,} bytes are the limit; what {info.name} made of "
                f"'{change.function}', and all after it, is left out"
            )
        except OSError as error:
            path = error.filename or str(folder)
            self._end(f"cannot write '{path}': {error.strerror}; what is left is lost")
        else:
            self._versions[change.function] = made

    def _after(self, info: PassInfo, change: FunctionChange, before: str) -> str:
        """Return the text that a pass made, with how to run it again."""
        origin = change.origin
        comment = "//" if origin is None else origin.line_comment
        name = _on_a_line(info.name)
        if change.before is None:
            how = f"{name} added this function"
        elif origin is None or origin.pipeline is None:
            how = f"{name} made this of {before}; it has no text for -p to run it again"
        elif not origin.ir_name:
            how = f"{name} made this of {before}; programs of this IR cannot be read"
        else:
            how = self._rerun(info, origin, before, change)
        gone = "" if change.after is not None else f"\n{comment} {name} removed it"
        return f"{comment} {how}{gone}\n{change.after or ''}"

    def _rerun(
        self, info: PassInfo, origin: Origin, before: str, change: FunctionChange
    ) -> str:
        text = change.before or ""
        try:
            is_whole = _shows_all(text, change.function, origin.ir_name)
        except Exception as error:  # noqa: BLE001 -- an IR's parser may raise anything
            return (
                f"{_on_a_line(info.name)} made this of {before}, which cannot be run "
                f"by itself: {_reason(error)}"
            )
        pipeline = origin.pipeline or ""
        if not is_whole and origin.restoring is not None:
            pipeline = f"{origin.restoring},{pipeline}"
        ir = [] if origin.suffix != ".txt" else ["--ir", origin.ir_name]
        words = ["parpass", "opt", before, *ir, *self._arguments, "-p", pipeline]
        types = ["--print-types"] if origin.is_annotated else []
        line = shlex.join([*words, *_settings(info), *types])
        if not line.isprintable():
            return f"{_on_a_line(info.name)} made this; its command takes several lines"
        return line

    def _write(self, path: Path, text: str) -> None:
        content = (text.rstrip("\n") + "\n").encode(errors="backslashreplace")
        if len(content) > self._left:
            raise _LimitError
        path.parent.mkdir(exist_ok=True)
        try:
            path.write_bytes(content)
        except OSError:
            with contextlib.suppress(OSError):
                path.unlink()  # half of it would be taken for all
            raise
        self._left -= len(content)

    def _end(self, why: str) -> None:
        self._has_ended = True
        warn_on_stderr("DumpFunctions", why)


class _LimitError(Exception):
    """The limit does not allow for another file."""


class _OtherNameError(Exception):
    """The text of a function has another name for it."""


class _Version(msgspec.Struct, frozen=True):
    """The version of a function that was written last: a digest, and its file."""

    number: int = -1
    text: bytes = b""
    file: str = ""

    def next(self, made_by: str, text: bytes, suffix: str) -> _Version:
        number = self.number + 1
        return _Version(number, text, f"{number:03}_{made_by}{suffix}")


def _check_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        found = next(directory.iterdir(), None)
        probe = directory / "probe"
        if found is None:
            probe.mkdir()
            probe.rmdir()
    except OSError as error:
        reason = f"'{directory}' is no directory to write to: {error.strerror}"
        raise ArgumentError(reason) from None
    if found is not None:
        raise ArgumentError(
            f"expected an empty directory, and '{directory}' has '{found.name}'; give "
            "another, or empty it"
        )


def _folder_name(function: str) -> str:
    is_plain = _PLAIN.fullmatch(function) and not function.endswith(".")
    if is_plain and not _DEVICE.fullmatch(function):
        return function
    digest = hashlib.sha256(function.encode(errors="surrogatepass")).hexdigest()
    shown = re.sub(r"^[.-]", "_", _shown(function))
    return f"{shown}~{digest[:16]}"


def _shown(name: str) -> str:
    return _NOT_PLAIN.sub("_", name)[:_MAX_NAME]


def _digest(deflated: bytes | None) -> bytes:
    return b"" if deflated is None else hashlib.sha256(deflated).digest()


def _shows_all(text: str, function: str, ir_name: str) -> bool:
    """Return whether the text of a function shows all of it; raise if not parsed."""
    mod = registered_programs()[ir_name].parse(text, function)
    adapter = adapter_of(mod, "DumpFunctions")
    functions = adapter.functions(mod)
    if function not in functions:
        raise _OtherNameError(", ".join(functions))
    return adapter.function_text(function, functions[function], mod) == text


def _reason(error: Exception) -> str:
    """Return what is missing in a text, in one line."""
    if isinstance(error, _OtherNameError):
        return f"the text calls it {_on_a_line(str(error))}"
    diagnostics = getattr(error, "diagnostics", ())
    if isinstance(error, ParpassError) and diagnostics:
        missing, _, _ = diagnostics[0].message.partition("; did you mean")
        return f"the text refers to what is not in it: {_on_a_line(missing)}"
    return _on_a_line(f"{type(error).__name__}: {error}")


def _settings(info: PassInfo) -> list[str]:
    """Return the settings of the run that passes may read, as arguments."""
    context = PassContext.current()
    level = max(context.opt_level, info.opt_level)
    found = [] if level == _DEFAULT_LEVEL else [f"-O{level}"]
    for key, value in context.config.items():
        if not key.startswith("parpass."):
            shown = value if isinstance(value, str) else _as_json(value)
            found += ["--config", f"{key}={shown}"]
    return found


def _as_json(value: object) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()


def _on_a_line(text: str) -> str:
    return "".join(one if one.isprintable() else " " for one in text)[:500]
