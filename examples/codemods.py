"""LibCST's codemods over the files of a package, on every core.

What is changed is shown, and written if asked for.

    python examples/codemods.py path/to/package --write
"""

from __future__ import annotations

import argparse

from libcst.codemod.commands.convert_format_to_fstring import ConvertFormatStringCommand
from libcst.codemod.commands.convert_percent_format_to_fstring import (
    ConvertPercentFormatStringCommand,
)

from parpass.integrations.codemod import run_codemod

CODEMODS = [ConvertFormatStringCommand, ConvertPercentFormatStringCommand]


def main() -> None:
    """Run the codemods, and tell what they changed, and what failed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("package")
    parser.add_argument("--write", action="store_true", help="change the files")
    arguments = parser.parse_args()
    for codemod in CODEMODS:
        result = run_codemod(
            codemod, [arguments.package], dry_run=not arguments.write, report=print
        )
        for file in result.changed:
            print(f"{codemod.__name__} changed: {file.path}")
        for file in result.failed:
            print(file.failure_text())


if __name__ == "__main__":
    main()
