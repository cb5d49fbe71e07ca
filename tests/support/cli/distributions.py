"""Distributions in a folder, as an installer leaves them there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def install(
    folder: Path,
    name: str,
    *,
    modules: Mapping[str, str],
    entry_points: Mapping[str, Mapping[str, str]],
) -> Path:
    """Install a distribution in a folder, and return the folder, for `sys.path`.

    Args:
        folder: Where; it is made if it is not there.
        name: The name of the distribution.
        modules: The text of each of its modules.
        entry_points: By their groups, the objects of entry points by their names.
    """
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    (info / "METADATA").write_text(metadata)
    lines: list[str] = []
    for group, named in entry_points.items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in named.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    return folder


# The adapter of another distribution: programs of lines, and a pass that tells where
# it ran. It is made of public names alone.
WORDS = {
    "words_entry": """\
from parpass.spi import IR

def modules(text):
    return ["words_ir"]

WORDS = IR(
    "words",
    "words_ir",
    suffixes=(".words",),
    requirement="words-ir",
    preload=modules,
    preload_bytes=1000,
)
""",
    "words_ir": """\
import os
from dataclasses import dataclass

from parpass.transform import (
    FunctionPass,
    ModuleAdapter,
    PassInfo,
    register_adapter,
    register_pass,
)


@dataclass(frozen=True)
class Words:
    functions: dict

    def __str__(self):
        return "\\n".join(f"{name} {text}" for name, text in self.functions.items())


class WordsAdapter(ModuleAdapter):
    module_type = Words
    function_type = str
    mutability = None
    ir_name = "words"
    suffixes = (".words",)

    def size(self, function, limit):
        return min(len(function), limit)

    def parse(self, text, source_name):
        lines = [line.split(maxsplit=1) for line in text.splitlines() if line]
        return Words({name: rest for name, rest in lines})


register_adapter(Words, WordsAdapter(), passes_in=["words_ir"])


@register_pass("words.Shout")
class Shout(FunctionPass):
    pass_info = PassInfo(0, "Shout")
    cacheable = True

    def transform_function(self, func, mod, ctx):
        return func.upper()


@register_pass("words.Sign")
class Sign(FunctionPass):
    pass_info = PassInfo(0, "Sign")

    def transform_function(self, func, mod, ctx):
        return f"{func} {os.getppid()}"


@register_pass("words.Refuse")
class Refuse(FunctionPass):
    pass_info = PassInfo(0, "Refuse")

    def transform_function(self, func, mod, ctx):
        if "no" in func:
            raise ValueError("no")
        return func
""",
}


def install_words(folder: Path) -> Path:
    """Install the IR of words to a folder, and return it."""
    declared = {"parpass.irs": {"words": "words_entry:WORDS"}}
    return install(folder, "words_ir", modules=WORDS, entry_points=declared)
