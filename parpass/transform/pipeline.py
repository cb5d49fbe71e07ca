"""Pipelines as written: text, sequences, or passes.

The text is xDSL's flat form of MLIR's: names separated by commas, each with options in
braces, separated by blanks: `FoldConstant,DeadCodeElimination{inline-once=true}`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from parpass.errors import ArgumentError, PipelineSyntaxError
from parpass.transform.passes import Pass, Sequential
from parpass.transform.registry import create_pass

_ITEM = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*(?:\{([^{}]*)\})?\s*")
_OPTION = re.compile(r"\s*([A-Za-z_][\w-]*)(?:=(\"[^\"]*\"|[^\s\"]+))?(?:\s+|$)")


def as_pass(pipeline: Pass | Sequence[Pass] | str) -> Pass:
    """Return a pipeline as one pass: itself, a Sequential, or the parsed text.

    Raises:
        PipelineSyntaxError: Text that cannot be read.
        UnknownPassError: Text that names an unknown pass.
        ArgumentError: Something else.
    """
    if isinstance(pipeline, Pass):
        return pipeline
    if isinstance(pipeline, str):
        return parse_pipeline(pipeline)
    if isinstance(cast("object", pipeline), list | tuple):
        return Sequential(pipeline)
    raise ArgumentError(
        f"expected a pass, a list of passes or pipeline text, got {pipeline!r}"
    )


def parse_pipeline(text: str) -> Sequential:
    """Return the Sequential that pipeline text describes.

    Raises:
        PipelineSyntaxError: The text cannot be read; the message says where.
        UnknownPassError: A name is unknown; the message has the nearest.
        ArgumentError: A pass does not take an option that it is given.
    """
    passes: list[Pass] = []
    at = -1
    while at < len(text):
        at += 1  # past the comma before
        item = _ITEM.match(text, at)
        if item is None:
            raise PipelineSyntaxError(_complaint("a pass name", text, at))
        options = _parse_options(item[2] or "", text, item.start(2))
        passes.append(create_pass(item[1], options))
        at = item.end()
        if at < len(text) and text[at] != ",":
            raise PipelineSyntaxError(_complaint("',' or the end", text, at))
    return Sequential(passes)


def _parse_options(options: str, text: str, offset: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    at = 0
    while options[at:].strip():
        option = _OPTION.match(options, at)
        if option is None:
            raise PipelineSyntaxError(_complaint("NAME=VALUE", text, offset + at))
        value = option[2]
        found[option[1].replace("-", "_")] = True if value is None else _value(value)
        at = option.end()
    return found


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)  # true, false, numbers, quoted strings
    except msgspec.DecodeError:
        return text


def _complaint(expected: str, text: str, at: int) -> str:
    return f"expected {expected} at column {at + 1}:\n  {text}\n  {' ' * at}^"
