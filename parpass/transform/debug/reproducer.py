"""Reproducers: a failure of a pass as one text file, to be run again elsewhere.

The file is the module in the IR's own text, cut down to what the failing function needs
and as it stood when the failing pass began, below a header of comments::

    // parpass reproducer; replay it by: parpass replay FILE
    // error: "ValueError: it cannot be"
    // pipeline: "FoldConstant"

Each line of the header is a key and a JSON value. Nothing in it is code.
"""

from __future__ import annotations

import json
import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from parpass.errors import (
    ContractError,
    FunctionFailure,
    ReproducerError,
    UnprintablePassError,
    UnreadFunctionError,
    WorkerError,
)
from parpass.errors.core import add_note, safe_getattr
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.budget import budgets_of
from parpass.transform.checked_adapter import unchecked
from parpass.transform.config import (
    CHECK_CONTRACT,
    register_config_option,
)
from parpass.transform.context import PassContext
from parpass.transform.debug.locate import PassLocator
from parpass.transform.pass_info import is_restoring
from parpass.transform.passes import Pass, Sequential
from parpass.transform.pipeline import print_pipeline

REPRODUCER = register_config_option(
    "parpass.reproducer",
    str,
    "when a pass fails, write a reproducer to this file, or in this folder",
).key

_TITLE = "// parpass reproducer; replay it by: parpass replay FILE"
_LINE = re.compile(r"// (\w+): (.*)")
_NOTE = "reproducer: "

# These options concern the run that failed, not its replay.
_ELIDED = re.compile(
    r"parpass\.(reproducer|opt_bisect.*|check_contract|on_failure|"
    r"asking_workers_seconds)"
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A pass that failed.

    Attributes:
        pass_: The pass to run again: the one that failed, or the one before a restoring
            pass that failed.
        pass_name: The name of the pass that failed.
        instrument: The instrument that raised the error, if the pass did not.
    """

    pass_: Pass
    pass_name: str
    function: str | None
    error: Exception
    instrument: Any = None


class Reproducer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a reproducer file: how a pass failed, and how to run it again.

    Attributes:
        error: The type of the error and its message.
        function: The function on which it failed, None for a module pass.
        ir: The name of the module's IR; empty if it has none.
        pipeline: The passes to run, as text; empty if they cannot be printed.
        unprintable: Why they cannot be printed.
        instrument: The class of the instrument that raised the error, as `module:name`;
            empty if the pass raised it.
        load: The modules, or script files, that register the passes of the pipeline,
            and the IR.
        passes: Passes that are not registered: `module:name` by name.
        versions: The versions of parpass and Python, and the platform.
        text: The module.
    """

    error: str
    pass_name: str
    function: str | None
    ir: str = ""
    pipeline: str = ""
    unprintable: str = ""
    instrument: str = ""
    load: list[str] = []
    passes: dict[str, str] = {}
    opt_level: int = 2
    required: list[str] = []
    disabled: list[str] = []
    config: dict[str, Any] = {}
    versions: dict[str, str] = {}
    text: str = ""

    @property
    def error_type(self) -> str:
        return self.error.partition(":")[0]

    def to_text(self) -> str:
        return f"{self._header()}\n{self.text}"

    def program(self) -> str:
        """Return the module, after as many empty lines as precede it in the file.

        So errors in it have the line numbers of the file.
        """
        return "\n" * (self._header().count("\n") + 1) + self.text

    def _header(self) -> str:
        fields = msgspec.to_builtins(self)
        del fields["text"]
        lines = [f"// {k}: {json.dumps(v)}" for k, v in fields.items() if v != ""]
        return "\n".join([_TITLE, *lines])

    @staticmethod
    def is_in(text: str) -> bool:
        return text.startswith(_TITLE)

    @classmethod
    def from_text(cls, text: str) -> Reproducer:
        """Return the reproducer that a text represents.

        Raises:
            ReproducerError: It is no reproducer, or was damaged.
        """
        title, _, rest = text.partition("\n")
        if title != _TITLE:
            raise ReproducerError(
                f"expected '{_TITLE}' in the first line of a reproducer, got "
                f"'{title:.60}'"
            )
        fields: dict[str, Any] = {}
        while found := _LINE.match(rest):
            try:
                fields[found[1]] = json.loads(found[2])
            except ValueError as error:
                raise ReproducerError(
                    f"expected JSON for '{found[1]}' in the header of a reproducer: "
                    f"{error}"
                ) from None
            rest = rest[found.end() :].removeprefix("\n")
        try:
            return msgspec.convert({**fields, "text": rest}, cls)
        except msgspec.ValidationError as error:
            raise ReproducerError(f"the header of a reproducer: {error}") from None

    def context(self) -> PassContext:
        """Return the context to run the pipeline under.

        Raises:
            ConfigError: An option is unknown here.
        """
        return PassContext(
            self.opt_level, self.required, self.disabled, config=self.config
        )


def wants_reproducer(context: PassContext, error: Exception) -> bool:
    """Return whether to write a reproducer for a failure: once, for the inner pass."""
    notes: list[str] = safe_getattr(error, "__notes__", [])
    is_asked_for = bool(context.config.get(REPRODUCER))
    is_asked_for = is_asked_for and not isinstance(error, UnreadFunctionError)
    return is_asked_for and not any(note.startswith(_NOTE) for note in notes)


def write_reproducer(
    failure: Failure, mod: Any, context: PassContext, adapter: ModuleAdapter
) -> None:
    """Write a reproducer and note its path on the error, or why there is none."""
    error = failure.error
    try:
        made = _reproducer(failure, mod, context, adapter)
        path = _write(made, Path(context.config[REPRODUCER]))
    except Exception as problem:  # noqa: BLE001 -- the pass's own error is raised
        add_note(error, f"{_NOTE}none, {type(problem).__name__}: {problem}")
        return
    add_note(error, f"{_NOTE}{path}")
    if isinstance(error, FunctionFailure):
        error.reproducer = str(path)


def _reproducer(
    failure: Failure, mod: Any, context: PassContext, adapter: ModuleAdapter
) -> Reproducer:
    function = failure.function
    if failure.instrument is not None and not (
        failure.pass_.is_functionwise and function in adapter.functions(mod)
    ):
        function = None  # it is about the function that the pass made
    excerpt = adapter.program_slice(mod, function)
    passes: list[Pass | None] = [failure.pass_]
    restoring = adapter.restoring_pass(failure.pass_.function_kind)
    if excerpt.is_restored and restoring is not None:
        if is_restoring(failure.pass_, restoring):
            passes = []
        passes.insert(0, restoring)
    origins = PassLocator()
    programs = adapter.programs(mod)
    origins.add_module(type(unchecked(programs)).__module__)
    pipeline, unprintable, instrument = "", "", ""
    try:
        if failure.instrument is not None:
            instrument = origins.place_of(failure.instrument)
        pipeline = print_pipeline(Sequential(passes), name_of=origins.name_of)
    except UnprintablePassError as error:
        unprintable = str(error)
    return Reproducer(
        error=_headline(failure.error),
        pass_name=failure.pass_name,
        function=function,
        ir=programs.ir_name,
        pipeline=pipeline,
        unprintable=unprintable,
        instrument=instrument,
        load=list(origins.modules),
        passes=origins.unregistered,
        opt_level=context.opt_level,
        required=list(context.required_pass),
        disabled=list(context.disabled_pass),
        config=msgspec.to_builtins(_config(failure, context)),
        versions=_versions(),
        text=excerpt.text,
    )


def _headline(error: Exception) -> str:
    if isinstance(error, WorkerError):  # in one process it comes as what it is
        kind, colon, message = error.original.partition(":")
        return kind.rpartition(".")[2] + colon + message
    return f"{type(error).__name__}: {error}"


def _config(failure: Failure, context: PassContext) -> dict[str, Any]:
    """Return the options that the pass ran under, its budget wherever that was set."""
    config = {k: v for k, v in context.config.items() if not _ELIDED.fullmatch(k)}
    if isinstance(failure.error, ContractError):
        config[CHECK_CONTRACT] = True
    if failure.pass_.is_functionwise:
        (budget,) = budgets_of([failure.pass_], context.config)
        config |= {limit.option: value for limit, value in budget.items()}
    return config


def _versions() -> dict[str, str]:
    # It takes a sixth of the time in which `parpass.transform` loads.
    from importlib import metadata

    try:
        own = metadata.version("parpass")
    except metadata.PackageNotFoundError:
        own = "not installed"  # run from its sources
    return {"parpass": own, "python": sys.version, "platform": platform.platform()}


def _write(reproducer: Reproducer, path: Path) -> Path:
    if not path.is_dir():
        path.write_text(reproducer.to_text(), encoding="utf-8")
        return path
    named = f"{reproducer.pass_name}-{reproducer.function or 'module'}"
    stem = re.sub(r"[^\w.-]", "_", named)[:100]
    number = 1
    while True:
        suffix = f"-{number}" if number > 1 else ""
        try:
            with open(path / f"{stem}{suffix}.txt", "x", encoding="utf-8") as file:
                file.write(reproducer.to_text())
                return Path(file.name)
        except FileExistsError:
            number += 1
