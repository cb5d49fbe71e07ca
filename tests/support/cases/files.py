"""Case files: tests of passes as text, a program before and what becomes of it.

A file has the cases of a pass, one after the other::

    // What the file is of. Fields that stand before the first case are those of all
    // cases that do not have them.
    pipeline: SimplifyExpr
    values: same

    === a reshape of a reshape is one
    opt-level: 3
    --- before
    def @main(%x: Tensor[(2, 6), float32]) {
      %0 = reshape(%x, newshape=[1, -1]);
      reshape(%0, newshape=[3, 4])
    }
    --- after
    def @main(%x: Tensor[(2, 6), float32]) -> Tensor[(3, 4), float32] {
      reshape(%x, newshape=[3, 4])
    }

`before` is followed by what is expected: `after`, the program as it is printed; or
`unchanged`, which has no text, for the same object; or `error`, the class and the
message of what the pipeline raises. `diagnostics` are those that it reports, one a
line, and must be there if there are any; `statistics` are what passes counted, and may
be there. `FIELDS` has the fields. A value goes on in lines that are indented. Lines
that begin with `//` are comments, but in sections, where they belong to the program.

`read_cases` gives the cases of a file, `with_expectations` its text with others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

FIELDS: Mapping[str, str] = {
    "pipeline": "the passes, as `parse_pipeline` reads them",
    "opt-level": "of the context; 4 by default, at which every pass runs",
    "config": "of the context: a KEY=VALUE for each line, values as JSON",
    "with": "settings of `tests/support/cases/settings.py`, one a line",
    "disabled": "passes that do not run, separated by commas",
    "types": "`inferred`, before and behind the pipeline; or `as written`",
    "values": "`same`, to the bit; `within RTOL ATOL`; by default `not compared`",
    "documented": "a pass whose docstring shows the programs before and after",
}
EXPECTATIONS = ("after", "unchanged", "error", "diagnostics", "statistics")
RESULTS = EXPECTATIONS[:3]  # of which a case has one
_FIELD = re.compile(r"([a-z][a-z-]*):(?: +|$)(.*)")


class CaseFileError(Exception):
    """A case file is not of the format; the message has the file and the line."""

    def __init__(self, path: Path, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")


@dataclass
class Field:
    """The value of a field, and the line that it begins in."""

    value: str
    line: int


@dataclass
class Section:
    """A part of a case.

    Attributes:
        kind: `before`, or one of `EXPECTATIONS`.
        line: The number of the line of its heading.
        end: The number of the line behind its text, without blank lines at its end.
        text: The lines between, each with its newline.
    """

    kind: str
    line: int
    end: int
    text: str


@dataclass
class Case:
    """A test of a pass.

    Attributes:
        path: The file.
        name: What the case claims.
        line: The number of the line of its name.
        fields: Its own fields, and those of the file that it does not have.
        before: The program before.
        expected: What is expected, by kind.
    """

    path: Path
    name: str
    line: int
    before: Section
    fields: dict[str, Field] = field(default_factory=dict[str, Field])
    expected: dict[str, Section] = field(default_factory=dict[str, Section])

    def value(self, name: str, default: str = "") -> str:
        """Return the value of a field."""
        found = self.fields.get(name)
        return default if found is None else found.value

    @property
    def texts(self) -> dict[str, str]:
        """What is expected, as text by kind."""
        return {kind: section.text for kind, section in self.expected.items()}

    def fault(self, message: str, name: str = "") -> CaseFileError:
        """Return the error that says what is wrong with the case, or with a field."""
        line = self.fields[name].line if name in self.fields else self.line
        return CaseFileError(self.path, line, message)


def read_cases(path: Path) -> list[Case]:
    """Return the cases of a file.

    Raises:
        CaseFileError: The file is not of the format.
    """
    return _Reader(path, _lines(_text_of(path))).cases()


def with_expectations(path: Path, changes: Mapping[str, Mapping[str, str]]) -> str:
    """Return the text of a file in which some cases expect something else.

    All that does not differ is byte for byte as it was.

    Args:
        path: The file.
        changes: What each case expects, by its name: texts by kind.

    Raises:
        CaseFileError: The file is not of the format.
    """
    text = _text_of(path)
    newline = "\r\n" if "\r\n" in text else "\n"
    raw = text.split("\n")
    for case in reversed(read_cases(path)):
        wanted = changes.get(case.name)
        if wanted is None or wanted == case.texts:
            continue
        sections = [*case.expected.values()]
        begin = sections[0].line if sections else case.before.end
        end = sections[-1].end if sections else case.before.end
        new = "".join(f"--- {kind}\n{wanted[kind]}" for kind in ordered(wanted))
        if len(raw) < end:  # no newline at the end of the file
            raw[-1] += newline.removesuffix("\n")
            raw.append("")
        raw[begin - 1 : end - 1] = [
            line + newline.removesuffix("\n") for line in _lines(new)
        ]
    return "\n".join(raw)


def ordered(kinds: Iterable[str]) -> list[str]:
    """Return kinds of expectations in the order in which a file has them."""
    return sorted(kinds, key=EXPECTATIONS.index)


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise CaseFileError(path, 1, f"expected UTF-8, got {error}") from None


def _lines(text: str) -> list[str]:
    """Return the lines of a text, without what ends them."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]


class _Reader:
    """Goes through the lines of a file."""

    def __init__(self, path: Path, lines: list[str]) -> None:
        self.path = path
        self.lines = lines
        self.at = 0

    def cases(self) -> list[Case]:
        shared = self.fields()
        if "documented" in shared:
            line = shared["documented"].line
            raise self.fault("expected 'documented' in a case, got it for all", line)
        found: dict[str, Case] = {}
        while self.at < len(self.lines):
            case = self.case(shared)
            if case.name in found:
                first = found[case.name].line
                message = f"expected another name, got that of the case of line {first}"
                raise case.fault(f"{message}: '{case.name}'")
            found[case.name] = case
        if not found:
            raise self.fault("expected a case, '=== NAME', got the end of the file")
        return [*found.values()]

    def case(self, shared: Mapping[str, Field]) -> Case:
        line = self.at + 1
        name = self.heading("===", "a case")
        fields = {**shared, **self.fields()}
        sections = [*self.sections()]
        if not sections or sections[0].kind != "before":
            got = f"'--- {sections[0].kind}'" if sections else "none"
            raise self.fault(f"expected section '--- before' first, got {got}", line)
        expected = {section.kind: section for section in sections[1:]}
        case = Case(self.path, name, line, sections[0], fields, expected)
        if not case.value("pipeline"):
            raise case.fault("expected field 'pipeline', got none")
        self.check(case, sections)
        return case

    def check(self, case: Case, sections: list[Section]) -> None:
        kinds = [section.kind for section in sections[1:]]
        for section in sections:
            if kinds.count(section.kind) > 1:
                message = f"expected '--- {section.kind}' once, got it again"
                raise self.fault(message, case.expected[section.kind].line)
            if bool(section.text) == (section.kind == "unchanged"):
                wanted = "nothing" if section.text else "text"
                got = "some" if section.text else "none"
                message = f"expected {wanted} in section '--- {section.kind}'"
                raise self.fault(f"{message}, got {got}", section.line)
        results = [kind for kind in kinds if kind in RESULTS]
        if len(results) > 1:
            got = " and ".join(f"'{kind}'" for kind in results)
            line = case.expected[results[1]].line
            raise self.fault(f"expected one result, got {got}", line)
        if kinds != ordered(kinds):
            wanted = ", ".join(f"'{kind}'" for kind in ordered(kinds))
            raise self.fault(f"expected {wanted} in this order", sections[1].line)

    def heading(self, mark: str, what: str) -> str:
        line = self.lines[self.at]
        if not line.startswith(f"{mark} ") or not line[4:].strip():
            raise self.fault(f"expected {what}, '{mark} NAME', got '{line}'")
        self.at += 1
        return line[4:].strip()

    def fields(self) -> dict[str, Field]:
        """Read fields, to the next heading."""
        found: dict[str, Field] = {}
        last = ""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.startswith(("===", "---")):
                break
            if line.startswith("  ") and last and line.strip():
                found[last].value = f"{found[last].value}\n{line.strip()}".strip()
            elif not line.strip() or line.startswith("//"):
                last = ""
            else:
                last = self.field(line, found)
            self.at += 1
        return found

    def field(self, line: str, found: dict[str, Field]) -> str:
        match = _FIELD.fullmatch(line)
        if match is None or match[1] not in FIELDS:
            names = ", ".join(f"'{name}'" for name in FIELDS)
            got = f"expected a field or a heading, got '{line}'"
            raise self.fault(f"{got}; fields are {names}")
        if match[1] in found:
            raise self.fault(f"expected field '{match[1]}' once, got it again")
        found[match[1]] = Field(match[2].strip(), self.at + 1)
        return match[1]

    def sections(self) -> Iterable[Section]:
        """Read sections, to the next case."""
        while self.at < len(self.lines) and not self.lines[self.at].startswith("==="):
            line = self.at + 1
            kind = self.heading("---", "a section")
            if kind not in ("before", *EXPECTATIONS):
                names = ", ".join(f"'{name}'" for name in ("before", *EXPECTATIONS))
                raise self.fault(f"expected one of {names}, got '{kind}'", line)
            begin = end = self.at
            while self.at < len(self.lines):
                text = self.lines[self.at]
                if text.startswith(("===", "---")):
                    break
                self.at += 1
                end = self.at if text.strip() else end
            text = "".join(f"{one}\n" for one in self.lines[begin:end])
            yield Section(kind, line, end + 1, text)

    def fault(self, message: str, line: int = 0) -> CaseFileError:
        return CaseFileError(self.path, line or self.at + 1, message)
