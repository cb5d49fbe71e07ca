"""From passes to pipeline text."""

from __future__ import annotations

from collections.abc import Mapping

from parpass.errors import UnprintablePassError
from parpass.transform.passes import Pass, Sequential
from parpass.transform.pipeline.options import changed_options, options_of, to_text
from parpass.transform.pipeline.parser import NESTING
from parpass.transform.registry import registered_passes


def print_pipeline(pipeline: Pass, *, indent: int | None = None) -> str:
    """Return a pipeline as text from which `parse_pipeline` makes it again.

    Options at their defaults are left out. The outermost Sequential is written as the
    passes in it, unless it has settings of its own; so a pass by itself is written as
    the pipeline of that pass.

    Args:
        pipeline: A pass.
        indent: How many blanks to indent passes in passes, each on a line of its own;
            None for all on one line.

    Raises:
        UnprintablePassError: A pass is not registered, or an option cannot be written.
    """
    if type(pipeline) is Sequential and not _settings(pipeline):
        passes = pipeline.passes
        if passes and not (len(passes) == 1 and isinstance(passes[0], Sequential)):
            return _listed(pipeline, indent, 0)
    return _text(pipeline, indent, 0)


def _listed(sequential: Sequential, indent: int | None, depth: int) -> str:
    separator = "," if indent is None else ",\n" + " " * (indent * depth)
    return separator.join(
        _text(_defined(child, sequential), indent, depth) for child in sequential.passes
    )


def _text(pass_: Pass, indent: int | None, depth: int) -> str:
    if type(pass_) is not Sequential:
        name, options = _registered_name(pass_), _options(pass_)
        return name + _braces(options)
    inside = _listed(pass_, indent, depth + 1) if pass_.passes else ""
    if indent is not None and inside:
        outer = "\n" + " " * (indent * depth)
        inside = f"{outer}{' ' * indent}{inside}{outer}"
    return f"{NESTING}{_braces(_settings(pass_))}({inside})"


def _braces(options: Mapping[str, str]) -> str:
    listed = " ".join(f"{name}={text}" for name, text in options.items())
    return f"{{{listed}}}" if listed else ""


def _settings(sequential: Sequential) -> dict[str, str]:
    """Return the settings of a Sequential that are not at their defaults."""
    info, default = sequential.info, Sequential().info
    fields = ("name", "opt_level", "required")
    return {
        field: to_text(getattr(info, field))
        for field in fields
        if getattr(info, field) != getattr(default, field)
    }


def _options(pass_: Pass) -> dict[str, str]:
    specs, _ = options_of(type(pass_))
    try:
        return dict(changed_options(pass_, specs))
    except ValueError as error:
        raise _unprintable(pass_, str(error)) from None


def _registered_name(pass_: Pass) -> str:
    for name, factory in registered_passes().items():
        if factory is type(pass_):
            return name
    raise _unprintable(
        pass_,
        f"its class, {type(pass_).__name__}, is not registered; see register_pass",
    )


def _defined(child: Pass | None, parent: Sequential) -> Pass:
    if child is None:
        raise _unprintable(parent, "it holds None for a pass")
    return child


def _unprintable(pass_: Pass, why: str) -> UnprintablePassError:
    name = pass_.info.name
    message = f"pass '{name}' cannot be written as pipeline text: {why}"
    return UnprintablePassError(message, pass_name=name)
