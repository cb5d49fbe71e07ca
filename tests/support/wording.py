"""Checks that docstrings, error messages and pages use the words of the field.

`python -m tests.support.wording [FILE ...]` prints each place where they do not.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

_VERBS = (
    "add be become begin call come do end fail find follow get give go hear keep learn "
    "load look make print return run see send start stay take tell wait work write"
).replace(" ", "|")
_OBJECTS = (
    "a all an another any each every functions it its jobs more no one others passes "
    "processes something that the them these this those workers you"
).replace(" ", "|")
_PERSONS = (
    "author|authors|caller|callers|newcomer|people|person|reader|readers|user|users"
)
_PERSON = "".join(f"(?<!{person} )" for person in _PERSONS.split("|"))


class Rule(NamedTuple):
    """A pattern of the house's idiom.

    Attributes:
        name: What it is, and the key of its example in the tests.
        pattern: Matches it, in text whose white space is single spaces.
        advice: The words to use in its place.
    """

    name: str
    pattern: re.Pattern[str]
    advice: str


def _rule(name: str, pattern: str, advice: str) -> Rule:
    return Rule(name, re.compile(pattern, re.IGNORECASE), advice)


RULES = (
    _rule("Have", r"(?:^|[.;:!?] )Have (?!to\b)", "the verb: start, call, make"),
    _rule(
        "have X do",
        rf"\b(?:have|has|had|having) (?:{_OBJECTS})\b"
        r"(?: (?!(?:to|that|and|are|which|may|with|is|or|in|no)\b)[\w']+){0,3}?"
        rf" (?<!to )(?:{_VERBS})\b(?! to\b|')",
        "the effect, in the active: 'workers run ...', 'starts ...'",
    ),
    _rule("somebody", r"\b(?:some|no|any|every)body\b|\bwhoever\b", "the actor"),
    _rule("who", rf"{_PERSON}(?<!, )(?<!\()\bwho\b", "the actor: caller, thread"),
    _rule("told", r"\b(?:am|are|be|been|being|is|was|were|not) told\b", "get, receive"),
    _rule("hear of", r"\bhear(?:s|d|ing)? (?:it|of|from)\b|\bheard\b", "receive"),
    _rule("see to", r"\b(?:see|sees|seen|seeing|saw) to\b", "ensure, handle"),
    _rule(
        "look out",
        r"\blook(?:s|ed|ing)? (?:out|after|on)\b(?! of)",
        "spin, poll, check, maintain",
    ),
    _rule(
        "take down",
        r"\b(?:takes?|taken|taking|took|writes?|written|wrote|writing|puts?)"
        r"(?: \w+){0,2} down\b",
        "record, append, write",
    ),
    _rule(
        "what it is given",
        r"\bwhat (?:(?!that\b)\w+ ){1,3}(?:are|is|was|were) (?:asked|at|given|told)\b",
        "argument, input, activity",
    ),
    _rule("is no more", r"\b(?:is|are|was|were) no more\b(?! than\b)", "has ended"),
    _rule("on its way", r"\bon (?:its|their|the) way\b|\bwhereabouts\b", "in flight"),
    _rule("under way", r"\bunder way\b", "running, in progress, in flight"),
    _rule(
        "same as the argument",
        r"\bsame as the argument\b|: As the argument\b",
        "what it is, as for the argument",
    ),
    _rule("let go", r"\blet(?:s|ting)? go\b", "release, drop, close"),
    _rule("come on", r"\b(?:come|comes|coming|came) on\b", "progress"),
    _rule("another one", r"\bthe other one\b|\banother one\b|\bthat which\b", "a noun"),
    _rule("of theirs", r"\bof (?:hers|his|its|ours|theirs|yours)(?=[.,;:)]|$)", "own"),
    _rule("of X's", r"\bof (?:the |an? )?[\w`.]+'s(?=[.,;:)]|$)", "of X"),
    _rule("as above", r"\b(?:as|see) above\b", "a name to look up, or the rule"),
    _rule("lest", r"\blest\b", "so that ... not"),
    _rule(
        "metaphor",
        r"\b(?:crew|errand|homeward|inquest|journey|overseer|shipment)s?\b",
        "the term of docs/glossary.md",
    ),
)
QUESTION = _rule(
    "question",
    r"^(?:What|Which|Who|Whose|Where|How|Why)\b(?! many\b| much\b)",
    "a noun or a verb: 'The name ...', 'Return the ...'",
)
RIDDLE = _rule(
    "riddle", r"^(?:Whether|If|When)\b", "what the module or class is or owns"
)


class Finding(NamedTuple):
    """A place that breaks a rule."""

    path: str
    line: int
    rule: Rule
    text: str

    def __str__(self) -> str:
        return (
            f"{self.path}:{self.line}: '{self.text}' ({self.rule.name}); "
            f"use: {self.rule.advice}"
        )


def findings(path: Path) -> Iterator[Finding]:
    """Yield the places in a file: a page, or a module with docstrings and errors."""
    shown = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
    text = path.read_text(encoding="utf-8")
    pieces = _paragraphs(text) if path.suffix == ".md" else _strings(text)
    for line, piece, rules in pieces:
        plain = " ".join(piece.split())
        for rule in rules:
            for found in rule.pattern.finditer(plain):
                yield Finding(shown, line, rule, found.group().strip())


def project_files() -> list[Path]:
    """Return the modules and pages of the project that are checked."""
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "SECURITY.md"]
    return sorted([*(ROOT / "parpass").rglob("*.py"), *pages])


_Piece = tuple[int, str, Iterable[Rule]]


def _paragraphs(text: str) -> Iterator[_Piece]:
    """Yield the paragraphs of a page, without its blocks of code."""
    prose = re.sub(
        r"^( *)```.*?^\1```$",
        lambda m: "\n" * m.group().count("\n"),
        text,
        flags=re.DOTALL | re.MULTILINE,
    )
    line = 1
    for part in re.split(r"(\n\s*\n)", prose):
        if part.strip():
            yield line, part, RULES
        line += part.count("\n")


def _strings(source: str) -> Iterator[_Piece]:
    """Yield the docstrings of a module, and the text of the errors that it raises."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef):
            yield from _docstring(node, (*RULES, QUESTION, RIDDLE))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _docstring(node, (*RULES, QUESTION))
        elif isinstance(node, ast.Raise) and node.exc is not None:
            for part in ast.walk(node.exc):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value, RULES


def _docstring(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef,
    rules: Iterable[Rule],
) -> Iterator[_Piece]:
    if ast.get_docstring(node) is not None:
        string = node.body[0]
        yield string.lineno, ast.get_docstring(node) or "", rules


def main(paths: list[str]) -> int:
    """Write the findings in files, by default of the project; return how many."""
    files = [Path(path).resolve() for path in paths] or project_files()
    count = 0
    for file in files:
        for found in findings(file):
            sys.stdout.write(f"{found}\n")
            count += 1
    return count


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
