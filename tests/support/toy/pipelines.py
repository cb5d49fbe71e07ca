"""Pipelines on the toy IR, generated, and all that can be seen of running one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st

from parpass.diagnostic import (
    Diagnostic,
    DiagnosticContext,
    DiagnosticLevel,
    override_renderer,
)
from parpass.transform import Pass, PassContext, Sequential
from tests.support.toy.analyses import AddTwo, Ask, AskTotal, AskWhole
from tests.support.toy.box_ir import box_program, boxed
from tests.support.toy.ir import CheckedProgram, Fn, Program, program
from tests.support.toy.mutable_ir import (
    AdoptedProgram,
    OpenProgram,
    OwnedProgram,
    opened,
)
from tests.support.toy.passes import (
    Add,
    AddFrom,
    Duplicate,
    FailOn,
    FailWhole,
    Keep,
    ReturnWrong,
    Say,
    Write,
)

_functions = st.builds(
    Fn,
    st.lists(st.integers(-1, 4), max_size=2).map(tuple),
    skip=st.sampled_from([False, False, False, True]),
)


# Runs a test with programs of each toy IR, which `toy` makes of numbers.
on_both_toys = pytest.mark.parametrize(
    "toy", [program, box_program], ids=["values", "boxes"]
)


def programs() -> st.SearchStrategy[Program]:
    """Generate programs of all toy IRs, with a restoring pass or without."""
    return st.one_of(
        st.builds(Program, _named()),
        st.builds(CheckedProgram, _named()),
        _named().map(boxed),
        open_programs(),
    )


def open_programs() -> st.SearchStrategy[Program]:
    """Generate programs of functions that are changed in place; some know theirs."""
    kinds = st.sampled_from([OpenProgram, OwnedProgram, AdoptedProgram])
    return st.builds(opened, _named(), kinds)


def _named() -> st.SearchStrategy[dict[str, Fn]]:
    return st.lists(_functions, max_size=5).map(
        lambda fns: {f"f{at}": fn for at, fn in enumerate(fns)}
    )


def pipelines() -> st.SearchStrategy[Sequential]:
    """Generate pipelines of passes of all kinds, some of which fail; some nested."""
    harmless = st.one_of(
        st.builds(Add, st.integers(-1, 2)),
        st.builds(AddFrom, st.sampled_from(["f0", "f1"])),
        st.builds(Say, st.sampled_from([DiagnosticLevel.NOTE, DiagnosticLevel.BUG])),
        st.builds(Keep),
        st.builds(Duplicate),
        st.builds(Ask, st.booleans()),
        st.builds(AddTwo),
        st.builds(AskWhole),
    )
    failing = st.one_of(
        st.builds(
            FailOn,
            st.integers(2, 5),
            st.sampled_from([ValueError, KeyError, SystemExit]),
        ),
        st.builds(Say, st.just(DiagnosticLevel.ERROR)),
        st.builds(FailWhole),
        st.builds(AskTotal),
        st.builds(ReturnWrong),
        st.builds(Write),
    )
    one = st.one_of(harmless, harmless, harmless, failing)
    return st.recursive(
        st.builds(Sequential, st.lists(one, max_size=5)),
        lambda inner: st.builds(Sequential, st.lists(one | inner, max_size=4)),
        max_leaves=3,
    )


@dataclass(frozen=True)
class Seen:
    """All that can be seen of a run.

    Attributes:
        result: The new module; None if it failed.
        error: Type, text and notes of what it raised.
        said: The diagnostics of each rendering.
        statistics: The counters.
        rendered_on: The module of each rendering; with passes fused it is the one
            that the first of them began with, so it is compared by who knows.
    """

    result: Program | None
    error: tuple[type[BaseException], str, list[str]] | None
    said: list[list[Diagnostic]]
    statistics: dict[str, Counter[str]]
    rendered_on: list[str] = field(compare=False)


def see(
    root: Pass,
    mod: Program,
    *instruments: Any,
    run: Callable[[Pass, Program], Program] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Seen:
    """Run a pipeline, serially if not told otherwise, and return what is seen of it."""
    said: list[list[Diagnostic]] = []
    rendered_on: list[str] = []

    def render(diag_ctx: DiagnosticContext) -> None:
        said.append(list(diag_ctx.diagnostics))
        rendered_on.append(str(diag_ctx.module))

    override_renderer(render)
    result, error = None, None
    context = PassContext(instruments=instruments, **(settings or {}))
    try:
        with context:
            result = root(mod) if run is None else run(root, mod)
    except (Exception, SystemExit) as raised:  # noqa: BLE001 -- it is compared
        notes: list[str] = getattr(raised, "__notes__", [])
        error = (type(raised), str(raised), notes)
    finally:
        override_renderer(None)
    return Seen(result, error, said, context.statistics, rendered_on)
