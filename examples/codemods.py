"""Codemods of LibCST's over the files of a package, on every core.

Files are the functions of a module, codemods are function passes: an IR of one's own in
a few lines. What is changed is shown, and written if asked for.

    python examples/codemods.py path/to/package --write
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import libcst
from libcst.codemod import Codemod, CodemodContext
from libcst.codemod.commands.convert_format_to_fstring import ConvertFormatStringCommand
from libcst.codemod.commands.convert_percent_format_to_fstring import (
    ConvertPercentFormatStringCommand,
)

import parpass
from parpass.transform import (
    FunctionPass,
    ModuleAdapter,
    PassContext,
    PassInfo,
    register_adapter,
)

CODEMODS = [ConvertFormatStringCommand, ConvertPercentFormatStringCommand]


@dataclass(frozen=True)
class Package:
    """A module: the text of each file, by its path."""

    files: Mapping[str, str]


class PackageAdapter(ModuleAdapter):
    """What parpass asks of a package."""

    def functions(self, mod: Package) -> Mapping[str, str]:
        """Return the files."""
        return mod.files

    def with_functions(self, mod: Package, functions: Mapping[str, Any]) -> Package:
        """Return a package of these files."""
        return replace(mod, files=functions)

    def is_module(self, value: Any) -> bool:
        """Return whether this is a package."""
        return isinstance(value, Package)

    def is_function(self, value: Any) -> bool:
        """Return whether this is a file's text."""
        return isinstance(value, str)

    def size(self, function: str, limit: int) -> int:
        """Return the length of a file."""
        return min(len(function), limit)


register_adapter(Package, PackageAdapter())


class CodemodPass(FunctionPass):
    """Runs a codemod on each file."""

    def __init__(self, codemod: type[Codemod]) -> None:
        self.pass_info = PassInfo(0, codemod.__name__)
        self.codemod = codemod

    def transform_function(self, func: str, mod: Package, ctx: PassContext) -> str:
        """Return the file as the codemod leaves it, formatted as it was."""
        tree = libcst.parse_module(func)
        return self.codemod(CodemodContext()).transform_module(tree).code


def main() -> None:
    """Read the files, run the codemods, tell what they changed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("package", type=Path)
    parser.add_argument("--write", action="store_true", help="change the files")
    arguments = parser.parse_args()
    paths = sorted(arguments.package.rglob("*.py"))
    if not paths:
        parser.error(f"there are no Python files in '{arguments.package}'")
    before = Package({str(path): path.read_text() for path in paths})
    reports: list[Any] = []
    passes = [CodemodPass(one) for one in CODEMODS]
    after = parpass.run_pipeline_sync(before, passes, report=reports.append)
    for path, text in after.files.items():
        if text != before.files[path]:
            print("changed:", path)
            if arguments.write:
                Path(path).write_text(text)
    print(*reports)


if __name__ == "__main__":
    main()
