"""From passes to pipeline text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from parpass.errors import UnprintablePassError
from parpass.transform.pass_registry import name_of_factory
from parpass.transform.passes import Pass, Sequential
from parpass.transform.pipeline.options import changed_options, options_of, to_text
from parpass.transform.pipeline.parser import NESTING


def print_pipeline(
    pipeline: Pass,
    *,
    indent: int | None = None,
    name_of: Callable[[Pass], str] | None = None,
) -> str:
    """Return a pipeline as text that `parse_pipeline` turns back into it.

    Options at their defaults are omitted. The outermost Sequential is written as the
    list of its passes, unless it has settings of its own; so a single pass is written
    as a pipeline of one pass.

    Args:
        pipeline: A pass.
        indent: Write each nested pass on its own line, indented by this many spaces;
            None for a single line.
        name_of: Returns the name of a pass that is not a Sequential; by default its
            registered name.

    Raises:
        UnprintablePassError: A pass is not registered, or an option cannot be written.
    """
    writer = _Writer(indent, name_of or registered_name)
    if type(pipeline) is Sequential and not _settings(pipeline):
        passes = pipeline.passes
        if passes and not (len(passes) == 1 and isinstance(passes[0], Sequential)):
            return writer.listed(pipeline, 0)
    return writer.text(pipeline, 0)


class _Writer:
    def __init__(self, indent: int | None, name_of: Callable[[Pass], str]) -> None:
        self._indent = indent
        self._name_of = name_of

    def listed(self, sequential: Sequential, depth: int) -> str:
        indent = self._indent
        separator = "," if indent is None else ",\n" + " " * (indent * depth)
        return separator.join(
            self.text(_defined(child, sequential), depth) for child in sequential.passes
        )

    def text(self, pass_: Pass, depth: int) -> str:
        if type(pass_) is not Sequential:
            return self._name_of(pass_) + _braces(_options(pass_))
        inside = self.listed(pass_, depth + 1) if pass_.passes else ""
        if self._indent is not None and inside:
            outer = "\n" + " " * (self._indent * depth)
            inside = f"{outer}{' ' * self._indent}{inside}{outer}"
        return f"{NESTING}{_braces(_settings(pass_))}({inside})"


def _braces(options: Mapping[str, str]) -> str:
    listed = " ".join(f"{name}={text}" for name, text in options.items())
    return f"{{{listed}}}" if listed else ""


def _settings(sequential: Sequential) -> dict[str, str]:
    info, default = sequential.info, Sequential().info
    fields = ("name", "opt_level", "required")
    return {
        field: to_text(getattr(info, field))
        for field in fields
        if getattr(info, field) != getattr(default, field)
    }


def _options(pass_: Pass) -> dict[str, str]:
    if hasattr(pass_, "pass_func"):  # made by a decorator from a plain function
        return {}
    specs, _ = options_of(_made_by(pass_))
    try:
        return dict(changed_options(pass_, specs))
    except ValueError as error:
        raise _unprintable(pass_, str(error)) from None


def _made_by(pass_: Pass) -> Callable[..., Any]:
    return pass_.factory or type(pass_)


def registered_name(pass_: Pass) -> str:
    """Return the name that a pass, or its class, is registered by.

    Raises:
        UnprintablePassError: There is none.
    """

    def makes_it(factory: Callable[..., Any]) -> bool:
        return factory is _made_by(pass_) or getattr(factory, "made", None) is pass_

    name = name_of_factory(makes_it)
    if name is None:
        kind = type(pass_).__name__
        why = f"its class, {kind}, is not registered; see register_pass"
        raise _unprintable(pass_, why)
    return name


def _defined(child: Pass | None, parent: Sequential) -> Pass:
    if child is None:
        raise _unprintable(parent, "it holds None for a pass")
    return child


def _unprintable(pass_: Pass, why: str) -> UnprintablePassError:
    name = pass_.info.name
    message = f"pass '{name}' cannot be written as pipeline text: {why}"
    return UnprintablePassError(message, pass_name=name)
