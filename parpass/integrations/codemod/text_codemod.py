"""Codemods that are functions from text to text."""

from __future__ import annotations

import codecs
import io
import tokenize
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from parpass.integrations.codemod.source_file import SourceFile


class Made(NamedTuple):
    """The result of a codemod on a file.

    Attributes:
        data: The new bytes.
        warnings: What it warned of.
        skipped: Why it left the file alone; empty if it did not say so.
    """

    data: bytes
    warnings: tuple[str, ...] = ()
    skipped: str = ""


class TextCodemod:
    """Calls a function with the text of each file.

    The text has Python's newlines; encoding, byte order mark and newlines of the file
    are kept. Where a file has several kinds of newlines the text has them as they are.

    Args:
        function: Returns the new text.
        arguments: Keyword arguments for it.
    """

    def __init__(
        self, function: Callable[..., str], arguments: Mapping[str, Any]
    ) -> None:
        self.function = function
        self.arguments = dict(arguments)

    def __call__(self, file: SourceFile) -> Made:
        """Return what the function makes of a file.

        Raises:
            Exception: Of the function; or the file, or what it made, has characters
                that its encoding has not.
        """
        encoding, _ = tokenize.detect_encoding(io.BytesIO(file.data).readline)
        text = file.data.decode(encoding)
        newline = _only_newline(text)
        given = text if newline is None else text.replace(newline, "\n")
        made = self.function(given, **self.arguments)
        if not isinstance(made, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- it is the user's
            raise TypeError(f"expected the new text, got {type(made).__name__}")
        if made == given:
            return Made(file.data)
        if newline is not None:
            made = made.replace("\n", newline)
        data = made.encode(encoding)
        if encoding == "utf-8-sig" and not made:
            data = codecs.BOM_UTF8
        return Made(data)


def _only_newline(text: str) -> str | None:
    """Return what ends the lines of a text; None if they end in several ways."""
    pairs = text.count("\r\n")
    feeds, returns = text.count("\n") - pairs, text.count("\r") - pairs
    kinds = [one for one, n in (("\r\n", pairs), ("\n", feeds), ("\r", returns)) if n]
    if len(kinds) > 1:
        return None
    return kinds[0] if kinds else "\n"
