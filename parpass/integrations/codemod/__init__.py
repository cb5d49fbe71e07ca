"""Codemods over many Python files, on every core.

The files of a project are the functions of a module, and a codemod is a function pass:
each file goes to one worker. `run_codemod` reads files, runs a codemod of LibCST or a
function from text to text, and writes the changed files; `parpass codemod` is the same
as a command. Use `CodemodPass` and `Sources` to combine codemods with your own passes
in a pipeline. Install `parpass[codemod]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.spi import attach_lazy

if TYPE_CHECKING:
    from parpass.integrations.codemod.codemod_names import (
        CodemodNameError,
        find_codemod,
    )
    from parpass.integrations.codemod.codemod_pass import CodemodPass
    from parpass.integrations.codemod.file_result import CodemodResult, FileResult
    from parpass.integrations.codemod.run import run_codemod
    from parpass.integrations.codemod.source_file import (
        CodemodFailure,
        SourceFile,
        Sources,
    )

__all__ = [
    "CodemodFailure",
    "CodemodNameError",
    "CodemodPass",
    "CodemodResult",
    "FileResult",
    "SourceFile",
    "Sources",
    "find_codemod",
    "run_codemod",
]

_ROOM = "parpass.integrations.codemod"

__getattr__, __dir__ = attach_lazy(
    _ROOM,
    {
        "CodemodFailure": f"{_ROOM}.source_file",
        "CodemodNameError": f"{_ROOM}.codemod_names",
        "CodemodPass": f"{_ROOM}.codemod_pass",
        "CodemodResult": f"{_ROOM}.file_result",
        "FileResult": f"{_ROOM}.file_result",
        "SourceFile": f"{_ROOM}.source_file",
        "Sources": f"{_ROOM}.source_file",
        "find_codemod": f"{_ROOM}.codemod_names",
        "run_codemod": f"{_ROOM}.run",
    },
)
