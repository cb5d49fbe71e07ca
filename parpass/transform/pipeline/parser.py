"""From pipeline text to passes.

The text is MLIR's form of pipelines. Passes are separated by commas; a pass has options
in braces, separated by blanks; `sequential` holds passes in parentheses::

    InferType,
    sequential{name=simplify opt_level=2}(
      SimplifyInference,
      DeadCodeElimination{inline_once=true}
    )

Blanks and newlines may be anywhere. An option is `name=value`, or `name` alone for
true; names may have `-` for `_`. A value is a word, a number, `true`, `false`, `null`,
a quoted string, or a list `a,b` or `[a,b]`. There are no anchors such as MLIR's
`func.func(...)`: a pass knows by itself whether it works on functions or on modules.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, cast

from parpass.errors import ArgumentError, ParpassError
from parpass.errors.core import did_you_mean, quoted
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.adapter_registry import (
    accepts_passes_of,
    foreign_pass_message,
    unknown_pass_error,
)
from parpass.transform.pass_registry import make_pass, pass_factory
from parpass.transform.passes import Pass, Sequential
from parpass.transform.pipeline.grammar import (
    MAX_FAULTS,
    Fault,
    Item,
    read_items,
    syntax_error,
)
from parpass.transform.pipeline.options import OptionSpec, from_text, options_of

NESTING = "sequential"
_MAX_MESSAGE_CHARS = 1_000  # characters of a message


def as_pass(
    pipeline: Pass | Sequence[Pass] | str, *, adapter: ModuleAdapter | None = None
) -> Pass:
    """Return a pipeline as one pass: itself, a Sequential, or the parsed text.

    Args:
        pipeline: The pipeline.
        adapter: The adapter, as for `parse_pipeline`.

    Raises:
        PipelineSyntaxError: The text is invalid; see `parse_pipeline`.
        ArgumentError: The pipeline is of another type.
    """
    if isinstance(pipeline, Pass):
        return pipeline
    if isinstance(pipeline, str):
        return parse_pipeline(pipeline, adapter=adapter)
    if isinstance(cast("object", pipeline), list | tuple):
        return Sequential(pipeline)
    raise ArgumentError(
        f"expected a pass, a list of passes or pipeline text, got {pipeline!r}"
    )


def parse_pipeline(text: str, *, adapter: ModuleAdapter | None = None) -> Sequential:
    """Return the Sequential that pipeline text describes.

    If the text is a single `sequential(...)`, the result is that one; otherwise it is a
    Sequential of the listed passes. `print_pipeline` is the inverse.

    Args:
        text: The text.
        adapter: The adapter of the target IR, so that errors suggest only its passes;
            None if unknown.

    Raises:
        PipelineSyntaxError: The text is malformed, names unknown passes or options, or
            has values that a pass does not accept. The message shows each place and the
            nearest names.
    """
    builder = _Builder(adapter)
    passes = builder.passes(read_items(text))
    if builder.faults:
        raise syntax_error(text, builder.faults)
    [only] = passes if len(passes) == 1 else [None]
    return only if isinstance(only, Sequential) else Sequential(passes)


class _Builder:
    """Creates passes, and collects the errors of all of them."""

    def __init__(self, adapter: ModuleAdapter | None) -> None:
        self.faults: list[Fault] = []
        self._adapter = adapter

    def passes(self, items: Sequence[Item]) -> list[Pass]:
        made: list[Pass] = []
        for item in items:
            if self._is_enough:
                break
            one = self._pass(item)
            if one is not None:
                made.append(one)
        return made

    @property
    def _is_enough(self) -> bool:
        return len(self.faults) >= MAX_FAULTS

    def _pass(self, item: Item) -> Pass | None:
        if item.name == NESTING:
            return self._sequential(item)
        # What is registered as `relay._transform.Name` goes by `Name` too.
        adapter = self._adapter
        factory = pass_factory(
            item.name,
            None if adapter is None else functools.partial(accepts_passes_of, adapter),
        )
        if item.children is not None:
            self._fault(item.at, _holds_no_passes(item.name, factory is not None))
            self.passes(item.children)  # to say what is wrong with them
            return None
        if factory is None:
            unknown = unknown_pass_error(item.name, self._adapter, also=[NESTING])
            self._fault(item.at, str(unknown))
            return None
        if adapter is not None:
            wrong = foreign_pass_message(item.name, factory, adapter)
            if wrong is not None:
                self._fault(item.at, wrong)
                return None
        options = self._options(item, factory)
        return self._made(item, lambda: make_pass(item.name, factory, options))

    def _sequential(self, item: Item) -> Pass | None:
        if item.children is None:
            self._fault(item.at, f"expected passes in parentheses after '{NESTING}'")
            return None
        options = self._options(item, Sequential)
        children = self.passes(item.children)
        return self._made(item, lambda: Sequential(children, **options))

    def _options(self, item: Item, factory: Callable[..., Any]) -> dict[str, Any]:
        specs, takes_any = options_of(factory)
        found: dict[str, Any] = {}
        for option in item.options:
            if self._is_enough:
                break
            if option.name in found:
                self._fault(option.at, f"option '{option.name}' is given twice")
            spec = specs.get(option.name, OptionSpec(option.name, Any, None))
            if option.name not in specs and not takes_any:
                hint = did_you_mean(option.name, specs)
                has = f"; it has {quoted(specs) or 'none'}"
                self._fault(
                    option.at,
                    f"pass '{item.name}' has no option '{option.name}'{hint or has}",
                )
                continue
            try:
                found[option.name] = from_text(option.value, spec)
            except ValueError as error:
                what = f"option '{option.name}' of pass '{item.name}'"
                self._fault(option.at, f"{what}: {error}")
        given = {option.name for option in item.options}
        for name, spec in specs.items():
            if spec.is_needed and name not in given:
                self._fault(item.at, f"pass '{item.name}' needs option '{name}'")
        return found

    def _made(self, item: Item, make: Callable[[], Pass]) -> Pass | None:
        if self.faults and self.faults[-1].at >= item.at:
            return None  # something in it is wrong
        try:
            return make()
        except (ParpassError, TypeError, ValueError) as error:
            self._fault(item.at, str(error))
            return None

    def _fault(self, at: int, message: str) -> None:
        if len(message) > _MAX_MESSAGE_CHARS:  # of what it quotes
            half = _MAX_MESSAGE_CHARS // 2
            message = f"{message[:half]}...{message[-half:]}"
        self.faults.append(Fault(at, message))


def _holds_no_passes(name: str, is_registered: bool) -> str:
    if is_registered:
        return f"pass '{name}' holds no other passes, only '{NESTING}' does"
    return (
        f"no pass named '{name}' that holds other passes; passes find functions and "
        f"modules themselves; write '{NESTING}(...)'"
    )
