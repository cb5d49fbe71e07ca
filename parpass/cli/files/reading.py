"""Reading of the command's inputs: ONNX, JSON, or an IR as text.

A text file may hold several programs, divided by marker lines, each below the header
of a reproducer.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from parpass.cli.output.failure import PHRASES, InputError, command_line, unreadable
from parpass.errors import Hint, render_hints

if TYPE_CHECKING:
    from parpass.errors import FrontendError
    from parpass.transform import ProgramFormat

SPLIT = "// -----"


class Program(NamedTuple):
    """The text of a program, which is not parsed yet.

    The text begins with as many empty lines as there are lines above it in its file.
    `ir` is the program format.
    """

    name: str
    text: str
    ir: ProgramFormat

    def parsed(self) -> Any:
        from parpass.cli.files.irs import parse_program

        return parse_program(self.ir, self.text, self.name)


def split_programs(text: str, name: str, kind: str, split: str) -> list[Program]:
    """Return the programs of a text, which may be a reproducer.

    `kind` is the IR, unless a header names it. Lines that begin with `split` separate
    programs.
    """
    from parpass.cli.files.irs import ir_named, unknown_ir_message

    text, kind = _strip_header(text, name, kind)
    ir = ir_named(kind)
    if ir is None:
        raise InputError(f"{name}: {unknown_ir_message(kind)}")
    return [Program(name, part, ir) for part in _split_text(text, split)]


def parse_all(programs: Sequence[Program]) -> list[Any]:
    """Return the modules of all programs.

    Raises:
        InputError: Some cannot be read; all errors are in it.
    """
    from parpass.errors import ParseError

    modules: list[Any] = []
    errors: list[str] = []
    for program in programs:
        try:
            modules.append(program.parsed())
        except ParseError as error:
            errors.append(str(error))
            if "meta[" in program.text and "#[metadata]" not in program.text:
                errors.append(
                    "the text lacks the values of its constants; write it again with "
                    "--print-metadata, or to a file by 'parpass opt -o'"
                )
    if errors:
        raise parse_failure(*errors)
    return modules


def parse_failure(*errors: str) -> InputError:
    return InputError("\n".join(["the program cannot be read", *errors]))


def _strip_header(text: str, name: str, kind: str) -> tuple[str, str]:
    """Return a program and its IR, without the header of a reproducer."""
    from parpass.errors import ReproducerError
    from parpass.transform.debug.reproducer import Reproducer

    if not Reproducer.is_in(text):
        return text, kind
    try:
        found = Reproducer.from_text(text)
    except ReproducerError as error:
        raise InputError(f"{name}: {error}") from None
    return found.program(), found.ir


def _split_text(text: str, line: str) -> list[str]:
    """Return the programs between separator lines, each with its line numbers."""
    parting = re.compile(rf"^{re.escape(line)}[ \t\r]*\n?", re.MULTILINE)
    starts = [0, *(found.end() for found in parting.finditer(text))]
    ends = [*(found.start() for found in parting.finditer(text)), len(text)]
    return [
        "\n" * text.count("\n", 0, start) + text[start:end]
        for start, end in zip(starts, ends, strict=True)
    ]


_STDIN = "<stdin>"
_JSON = re.compile(rb'\s*\{\s*"parpass"')
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")  # what protobuf begins with is here
_SNIFFED = 4096  # bytes


class ModelOptions(NamedTuple):
    """The settings for the inputs of ONNX models.

    Attributes:
        shapes: Shapes by name.
        dims: Lengths by the names of dimensions.
        constants: The values of inputs that are fixed, by name.
        given: The shapes of values that inputs are given when the model runs, by name.
        needs_shapes: Whether the shapes of all other inputs have to be known.
    """

    shapes: Mapping[str, Sequence[Any]] = {}
    dims: Mapping[str, int] = {}
    constants: Mapping[str, Any] = {}
    given: Mapping[str, Sequence[int]] = {}
    needs_shapes: bool = False

    def check_unused(self, *, shapes: bool = True) -> None:
        """Refuse these settings, because the input is no ONNX model."""
        for option, given in (
            ("--shape", self.shapes if shapes else ()),
            ("--dim", self.dims),
            ("--const", self.constants),
        ):
            if given:
                raise InputError(f"{option} is for the inputs of ONNX models")


class _Input(NamedTuple):
    """A file, and what is in it: `onnx`, `json`, or the name of an IR."""

    path: Path
    kind: str
    content: bytes | None = None  # None where the importer reads it itself

    @property
    def name(self) -> str:
        return _STDIN if str(self.path) == "-" else str(self.path)


def read_modules(
    inputs: Sequence[Path],
    *,
    ir: str | None = None,
    model: ModelOptions | None = None,
    takes_shapes: bool = False,
    split: str = SPLIT,
) -> list[Any]:
    """Return the modules of the inputs: one of all ONNX files, or one of each program.

    The path `-` is standard input. Without `ir`, the suffix or the content of a file
    determines its IR. Lines that begin with `split` separate programs.
    """
    found, model = _inputs(inputs, ir), model or ModelOptions()
    if found[0].kind == "onnx":
        return [_read_onnx(found, model)]
    model.check_unused(shapes=not takes_shapes)
    if found[0].kind == "json":
        return [_read_json(one) for one in found]
    return parse_all(_programs(found, split))


def read_module(
    path: Path,
    *,
    ir: str | None = None,
    model: ModelOptions | None = None,
    takes_shapes: bool = False,
) -> Any:
    """Return the one module of an input; see `read_modules`."""
    modules = read_modules([path], ir=ir, model=model, takes_shapes=takes_shapes)
    if len(modules) != 1:
        raise InputError(f"expected one program, got {len(modules)} in '{path}'")
    return modules[0]


def read_programs(
    inputs: Sequence[Path], *, ir: str | None = None, split: str = SPLIT
) -> list[Program]:
    """Return the programs of inputs that are IR as text."""
    found = _inputs(inputs, ir)
    if found[0].kind in ("onnx", "json"):
        raise InputError(f"expected IR as text, got {found[0].kind.upper()}")
    return _programs(found, split)


def _inputs(paths: Sequence[Path], ir: str | None) -> list[_Input]:
    found = [_input(path, ir) for path in paths]
    is_model = {one.kind == "onnx" for one in found}
    if len(is_model) > 1:
        raise InputError("ONNX files and IR as text cannot be read together")
    if len({one.kind for one in found}) > 1 and "json" in {one.kind for one in found}:
        raise InputError("JSON and IR as text cannot be read together")
    return found


def _input(path: Path, ir: str | None) -> _Input:
    from parpass.cli.files.irs import check_ir, ir_of_suffix

    if ir is not None:
        check_ir(ir)
        return _Input(path, ir, _read(path))
    suffix = path.suffix.lower()
    if suffix == ".onnx":
        return _Input(path, "onnx")
    if suffix == ".json":
        return _Input(path, "json", _read(path))
    known = ir_of_suffix(suffix) if suffix else None
    content = _read(path)
    if known is not None:
        return _Input(path, known.ir_name, content)
    return _Input(path, _kind_of(content), content)


def _kind_of(content: bytes) -> str:
    if _NO_TEXT.search(content, 0, _SNIFFED):
        return "onnx"
    return "json" if _JSON.match(content) else "relay"


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, or of standard input for `-`."""
    try:
        with click.open_file(str(path), "rb") as file:
            return file.read()
    except OSError as error:
        raise unreadable(path, error) from None
    except RuntimeError:  # click's word for a stream that is not there
        raise InputError("cannot read: standard input is closed") from None


def _read(path: Path) -> bytes:
    content = read_bytes(path)
    if str(path) == "-" and not content.strip():
        raise InputError("expected a program on standard input, got nothing")
    return content


def _read_onnx(inputs: Sequence[_Input], model: ModelOptions) -> Any:
    from parpass.errors import FrontendError

    try:
        from parpass.relay.frontend.onnx.importer import import_models
        from parpass.relay.frontend.onnx.parameters import InputSettings

        models: Any = [one.path for one in inputs]
        if any(one.content is not None for one in inputs):
            models = _loaded_models(inputs)
        settings = InputSettings(**model._asdict())
        return import_models(models, settings, freeze_params=True)[0]
    except FrontendError as error:
        if click.get_current_context().params.get("traceback"):
            click.echo("".join(traceback.format_exception(error)), err=True)
        raise InputError(_with_command(error)) from None
    except (OSError, ImportError) as error:
        raise InputError(error) from None


def _with_command(error: FrontendError) -> str:
    """Return an error's message, with advised options in a complete command line."""
    command = command_line().replace("{", "{{").replace("}", "}}")
    advice = PHRASES[Hint.OPEN_SHAPES].replace(" {1}", f"\n  {command} {{1}}")
    return render_hints(error, {**PHRASES, Hint.OPEN_SHAPES: advice})


def _loaded_models(inputs: Sequence[_Input]) -> dict[str, Any]:
    """Return models by the names of their functions; some are not in files."""
    from parpass.relay.frontend.onnx.model import model_in

    return {
        "main" if len(inputs) == 1 else one.path.stem.replace("-", "stdin"): (
            one.path if one.content is None else model_in(one.content, one.name)
        )
        for one in inputs
    }


def _read_json(given: _Input) -> Any:
    from parpass.errors import MalformedJSONError
    from parpass.ir.module import IRModule
    from parpass.ir.serialization import load_json

    try:
        made = load_json(_text(given))
    except MalformedJSONError as error:
        raise InputError(f"{given.name}: {error}") from None
    if not isinstance(made, IRModule):
        raise InputError(
            f"{given.name}: expected a module, got a {type(made).__name__}"
        )
    return made


def _text(given: _Input) -> str:
    try:
        return (given.content or b"").decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"'{given.name}' is neither an .onnx file nor text") from None


def _programs(inputs: Sequence[_Input], split: str) -> list[Program]:
    return [
        program
        for one in inputs
        for program in split_programs(_text(one), one.name, one.kind, split)
    ]
