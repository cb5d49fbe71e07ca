"""What is wrong with a text, told by lark's tokens."""

from __future__ import annotations

import re

from lark import Token

from parpass.diagnostic import Span
from parpass.ir.text.error_list import ErrorList

_COMMENT = re.compile(r"//[^\n]*")


class TokenProblems(ErrorList):
    """Collects the errors of one text.

    Args:
        source_name: The name of the text.
        text: The text.
    """

    def __init__(self, source_name: str, text: str) -> None:
        super().__init__(source_name, text)
        self._lines = text.split("\n")

    def span(self, first: Token, last: Token | None = None) -> Span:
        """Return the stretch of text from one token to another one."""
        last = first if last is None else last
        return Span(
            self.source_name,
            first.line or 1,
            last.end_line or 1,
            first.column or 1,
            last.end_column or 1,
        )

    def is_blank(self, first: Token, last: Token) -> bool:
        """Return whether nothing but comments stands between two tokens."""
        lines = self._lines[(first.end_line or 1) - 1 : last.line]
        lines[-1] = lines[-1][: (last.column or 1) - 1]
        lines[0] = lines[0][(first.end_column or 1) - 1 :]
        return not _COMMENT.sub("", "\n".join(lines)).strip()

    def report_at(self, where: Token, message: str) -> None:
        """Add an error at a token."""
        self.report(self.span(where), message)

    def report_unknown_at(self, where: Token, what: str) -> None:
        """Add the error that a token names nothing."""
        self.report_at(where, f"no {what} '{where}'")
