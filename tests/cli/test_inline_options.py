"""The options that the pages name within sentences are there."""

from __future__ import annotations

import re
from pathlib import Path

import click

from parpass.cli.group import SHIPPED, main
from parpass.cli.options.syntax import Command
from parpass.cli.options.written import ALIASES

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`]+)`")
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")

# Options of other commands, by pages that name them alone, and by their beginnings.
_OF_OTHERS = {
    "executors.md": ("--rows",),
    "frozen-programs.md": (  # of PyInstaller, cx_Freeze and Nuitka
        "--exclude-module",
        "--hidden-import",
        "--onefile",
        "--packages",
        "--python-option",
        "--standalone",
    ),
    "incremental.md": ("--cached", "--disable_http_ac_validation"),
    "performance.md": ("--rows", "--shm-size"),
    "with-dsl-compilers.md": ("--offsets", "--rows", "--skip"),
    "xdsl.md": (  # xdsl-opt; of mlir-opt, which reads its arguments itself
        "--disable-verify",
        "--no-implicit-module",
        "--print-between-passes",
        "--rows",
        "--threshold",
        "--time-passes",
        "--workers",
    ),
}


def _options(command: click.Command) -> set[str]:
    ctx = click.Context(command)
    others = ALIASES if isinstance(command, Command) else ()
    return {
        *others,
        *(
            name
            for param in command.get_params(ctx)
            for name in (*param.opts, *param.secondary_opts)
        ),
    }


def _known() -> dict[str, set[str]]:
    ctx = click.Context(main)
    known = {"": _options(main)}
    for name in SHIPPED:
        command = main.get_command(ctx, name)
        assert command is not None
        known[name] = _options(command)
    return known


def test_the_options_that_pages_name_are_options_of_the_command():
    known = _known()
    of_any = set[str]().union(*known.values())
    wrong: list[str] = []
    docs = ROOT / "docs"
    made = set((docs / "generated").rglob("*.md"))  # copies, where the site was built
    pages = [ROOT / "README.md", *(set(docs.rglob("*.md")) - made)]
    for page in pages:
        text = _FENCE.sub("", page.read_text(encoding="utf-8"))
        for code in _CODE.findall(text):
            options = set(_OPTION.findall(code))
            words = code.split()
            if not options:
                continue
            if words[0] == "parpass":
                named = words[1] if words[1:2] and words[1] in known else ""
                is_known = known[named] if named else of_any
            elif words[0] in known:
                is_known = known[words[0]]
            elif words[0].startswith("-"):
                is_known = of_any
            else:  # of another command
                continue
            wrong += [
                f"{page.name}: {one} in `{code}`"
                for one in options - is_known
                if not one.startswith(_OF_OTHERS.get(page.name, ("-- ",)))
            ]
    assert not wrong, "\n".join(wrong)
