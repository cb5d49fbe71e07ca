"""Codemods, good and bad, and files for them."""

from __future__ import annotations

import ast
import os
import signal
import time
from argparse import ArgumentParser
from pathlib import Path

import libcst as cst
from libcst.codemod import (
    CodemodContext,
    SkipFile,
    VisitorBasedCodemodCommand,
)
from libcst.metadata import FullyQualifiedNameProvider, PositionProvider


class Rename(VisitorBasedCodemodCommand):
    """Renames names, warns of some, breaks on some, and skips files with others."""

    DESCRIPTION = "Renames names."

    @staticmethod
    def add_args(arg_parser: ArgumentParser) -> None:
        arg_parser.add_argument("--old", required=True)
        arg_parser.add_argument("--new", default="new")

    def __init__(self, context: CodemodContext, old: str, new: str = "new") -> None:
        super().__init__(context)
        self.old, self.new = old, new

    def leave_Name(  # noqa: N802 -- LibCST's name
        self, original_node: cst.Name, updated_node: cst.Name
    ) -> cst.Name:
        match original_node.value:
            case "doubtful":
                self.warn(f"doubtful in {self.context.full_module_name}")
            case "broken":
                raise KeyError(original_node.value)
            case "private":
                raise SkipFile("it is private")
            case self.old:
                return updated_node.with_changes(value=self.new)
            case _:
                pass
        return updated_node


class Upper(cst.CSTTransformer):
    """A plain transformer."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def leave_Name(  # noqa: N802 -- LibCST's name
        self, original_node: cst.Name, updated_node: cst.Name
    ) -> cst.Name:
        assert self.get_metadata(PositionProvider, original_node)
        return updated_node.with_changes(value=updated_node.value.upper())


class WholeProject(cst.CSTTransformer):
    """Wants metadata of the whole project."""

    METADATA_DEPENDENCIES = (FullyQualifiedNameProvider,)


def upper(text: str) -> str:
    """Writes all in capital letters, if Python can read it."""
    ast.parse(text)
    return text.upper()


def end_process(text: str) -> str:
    """Is killed on one file."""
    if "victim" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    return text + "# seen\n"


def hang(text: str) -> str:
    """Does not end on one file."""
    while "victim" in text:
        time.sleep(0.1)
    return text + "# seen\n"


def write_files(folder: Path, **files: str | bytes) -> Path:
    """Write Python files, given by their paths without the suffix."""
    for name, content in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(data)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Return what is in the files of a folder, by their paths in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
