"""Remarks as text: LLVM's YAML, JSON Lines, and lines to read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from parpass.remark import Remark

# Of a remark that is about a module; LLVM's format wants a function.
_WHOLE_MODULE = "<module>"
# What YAML does not allow as it is between double quotes.
_SPECIAL = re.compile(
    r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]'
)
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Words that YAML 1.1 takes for other values than strings.
_NO_PLAIN_KEYS = frozenset(
    {"y", "n", "yes", "no", "true", "false", "on", "off", "null"}
)


def to_yaml(remarks: Iterable[Remark]) -> str:
    """Return remarks as a stream of YAML in the format of LLVM's optimisation records.

    That is what `clang -fsave-optimization-record` writes, and opt-viewer reads.
    Strings in `Args` join to the message, with the values in brackets. A value is a
    string there, under its name.
    """
    return "".join(map(_yaml_document, remarks))


def to_json_lines(remarks: Iterable[Remark]) -> str:
    """Return remarks as JSON, an object in each line.

    Its keys are `kind`, `pass`, `name`, `function`, `message`, `span` and `values`; a
    span has the fields of `Span`.
    """
    return "".join(f"{json.dumps(_json_object(one))}\n" for one in remarks)


def to_lines(remarks: Iterable[Remark]) -> str:
    return "".join(map(_line, remarks))


def _line(remark: Remark) -> str:
    place = f"{remark.span}: " if remark.span is not None else ""
    by = remark.pass_name
    if remark.function is not None:
        by += f" on '{remark.function}'"
    text = f"{place}{remark.kind.value}: {remark.text} [{by}]"
    return text.replace("\n", "\\n") + "\n"


def _json_object(remark: Remark) -> dict[str, Any]:
    span = remark.span
    return {
        "kind": remark.kind.value,
        "pass": remark.pass_name,
        "name": remark.name,
        "function": remark.function,
        "message": remark.message,
        "span": None if span is None else msgspec.structs.asdict(span),
        "values": dict(remark.values),
    }


def _yaml_document(remark: Remark) -> str:
    function = _WHOLE_MODULE if remark.function is None else remark.function
    lines = [
        f"--- !{remark.kind.value.capitalize()}",
        f"Pass:            {_quoted(remark.pass_name)}",
        f"Name:            {_quoted(remark.name)}",
    ]
    span = remark.span
    if span is not None:
        place = f"Line: {span.line}, Column: {span.column}"
        lines.append(
            f"DebugLoc:        {{ File: {_quoted(span.source_name)}, {place} }}"
        )
    lines += [f"Function:        {_quoted(function)}", "Args:"]
    lines += [f"  - {key}: {_quoted(text)}" for key, text in _arguments(remark)]
    return "\n".join([*lines, "...", ""])


def _arguments(remark: Remark) -> Iterator[tuple[str, str]]:
    """Yield the parts of a remark's text, values under their names."""
    yield "String", remark.message
    before = " ("
    for name, value in remark.values.items():
        yield "String", f"{before}{name}="
        yield _yaml_key(name), str(value)
        before = ", "
    if remark.values:
        yield "String", ")"


def _yaml_key(name: str) -> str:
    # `DebugLoc` is LLVM's, for the place of a value.
    name = f"{name}_" if name == "DebugLoc" else name
    is_plain = _KEY.fullmatch(name) and name.lower() not in _NO_PLAIN_KEYS
    return name if is_plain else _quoted(name)


def _quoted(text: str) -> str:
    return f'"{_SPECIAL.sub(_escaped, text)}"'


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    if char in '"\\':
        return f"\\{char}"
    if "\ud800" <= char <= "\udfff":  # half of a character, which no parser takes
        return "\ufffd"
    return "\\n" if char == "\n" else f"\\u{ord(char):04x}"
