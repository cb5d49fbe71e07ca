"""CodemodPass: a codemod as a function pass; FormatterPass: a command as one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from parpass.errors import ArgumentError
from parpass.integrations.codemod.failure_position import failure_of
from parpass.integrations.codemod.source_file import (
    CodemodFailure,
    SourceFile,
    Sources,
)
from parpass.integrations.codemod.text_codemod import Made, TextCodemod
from parpass.transform import FunctionPass, PassContext, PassInfo


def is_codemod(value: object) -> bool:
    """Return whether a value is a class of LibCST's for codemods, with a body."""
    if not isinstance(value, type) or getattr(value, "__abstractmethods__", None):
        return False
    loaded = [sys.modules.get(name) for name in ("libcst", "libcst.codemod")]
    bases = [
        getattr(module, name)
        for module, name in zip(loaded, ("CSTTransformer", "Codemod"), strict=True)
        if module is not None
    ]
    return issubclass(value, tuple(bases))


def _is_cacheable(codemod: Any) -> bool | str:
    """Return what a codemod declares as passes do; LibCST's own read nothing else."""
    if isinstance(codemod, type) and codemod.__module__.startswith("libcst."):
        return True
    return getattr(codemod, "__dict__", {}).get("cacheable", False)


class CodemodPass(FunctionPass):
    """Runs a codemod on each file.

    A function cache keeps its results if the codemod declares `cacheable`, as a pass
    does, or is one of LibCST's own.

    An error of the codemod or of a parser does not end the run: it becomes the
    `failure` of the file, whose content stays unchanged.

    Args:
        codemod: A subclass of `libcst.codemod.Codemod` or of `libcst.CSTTransformer`,
            or a function that takes a file's text and returns the new text.
        arguments: Keyword arguments for it.
        python_version: The version that LibCST parses files as; None for the running
            version.

    Raises:
        ArgumentError: The argument is not a codemod, or the codemod needs metadata of
            the whole project.
    """

    def __init__(
        self,
        codemod: type[Any] | Callable[..., str],
        arguments: Mapping[str, Any] | None = None,
        *,
        python_version: str | None = None,
    ) -> None:
        name = getattr(codemod, "__name__", type(codemod).__name__)
        self.pass_info = PassInfo(0, name)
        self.cacheable = _is_cacheable(codemod)
        self.body: Callable[[SourceFile], Made]
        if is_codemod(codemod):
            from parpass.integrations.codemod.libcst_codemod import LibCSTCodemod

            kind: Any = codemod
            self.body = LibCSTCodemod(kind, arguments or {}, python_version)
        elif callable(codemod) and not isinstance(codemod, type):
            self.body = TextCodemod(codemod, arguments or {})
        else:
            raise ArgumentError(not_a_codemod(name, codemod))

    def transform_function(
        self, func: SourceFile, mod: Sources, ctx: PassContext
    ) -> SourceFile:
        """Return the file after the codemod."""
        del mod, ctx
        if func.failure is not None:
            return func
        try:
            made = self.body(func)
        except MemoryError:  # a limit, which the runner knows of
            raise
        except Exception as error:  # noqa: BLE001 -- a codemod may raise anything
            return replace(func, failure=failure_of(error, func.data))
        if made.data == func.data and not (made.warnings or made.skipped):
            return func
        return replace(
            func,
            data=made.data,
            warnings=(*func.warnings, *made.warnings),
            skipped=made.skipped,
        )


def not_a_codemod(name: str, value: object) -> str:
    """Return the message for a value that is no codemod."""
    what = "a class" if isinstance(value, type) else f"of type {type(value).__name__}"
    if isinstance(value, type) and getattr(value, "__abstractmethods__", None):
        what = "a class without 'transform_module_impl'"
    return (
        f"'{name}' is {what}, no codemod: expected a subclass of "
        "libcst.codemod.Codemod or libcst.CSTTransformer, or a function that takes a "
        "file's text and returns the new one"
    )


class FormatterPass(FunctionPass):
    """Has a command format each file: it reads one, and writes it formatted.

    A command that fails is the `failure` of the file.

    Args:
        command: The command with its arguments, such as `["black", "-q", "-"]`.
    """

    pass_info = PassInfo(0, "format")

    def __init__(self, command: Sequence[str]) -> None:
        self.command = list(command)

    def transform_function(
        self, func: SourceFile, mod: Sources, ctx: PassContext
    ) -> SourceFile:
        """Return the file as the command formats it."""
        del mod, ctx
        try:
            told = subprocess.run(
                self.command, input=func.data, capture_output=True, check=False
            )
        except OSError as error:
            return replace(func, failure=failure_of(error, b""))
        if told.returncode:
            said = told.stderr.decode(errors="backslashreplace").strip()
            what = f"formatter '{self.command[0]}' ended with {told.returncode}"
            failure = CodemodFailure(f"{what}: {said}" if said else what)
            return replace(func, failure=failure)
        same = told.stdout == func.data
        return func if same else replace(func, data=told.stdout)
