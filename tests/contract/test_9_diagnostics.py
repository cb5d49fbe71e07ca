"""Contract section 9: diagnostics."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import pytest

import parpass as tvm
from parpass import relay
from parpass.diagnostic import Span, format_diagnostic
from parpass.errors import DiagnosticError
from parpass.ir.diagnostics import (
    Diagnostic,
    DiagnosticContext,
    DiagnosticLevel,
    DiagnosticRenderer,
    get_renderer,
    override_renderer,
)
from parpass.ir.module import IRModule
from parpass.relay.expr import Function
from parpass.transform import FunctionPass, ModulePass, PassContext, PassInfo
from tests.contract.marking import MarkAll, Run, identity, module

LEVELS = ["BUG", "ERROR", "WARNING", "NOTE", "HELP"]


class Say(FunctionPass):
    """Says something about each function that has a name of two letters."""

    def __init__(self, levels: Sequence[str], name: str = "Say") -> None:
        self.levels = levels
        self.pass_info = PassInfo(0, name)

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        assert ctx.diag_ctx is not None
        for level in self.levels:
            message = f"{self.info.name} {level} {ctx.function_name}"
            ctx.diag_ctx.emit(Diagnostic(DiagnosticLevel[level], None, message))
        return func


class SayAll(ModulePass):
    """Says something about the module, and then raises if it is told to."""

    pass_info = PassInfo(0, "SayAll")

    def __init__(self, level: str, error: Exception | None = None) -> None:
        self.level = level
        self.error = error

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        assert ctx.diag_ctx is not None
        assert ctx.diag_ctx.module is mod
        assert not ctx.diag_ctx.diagnostics
        ctx.diag_ctx.emit(Diagnostic(DiagnosticLevel[self.level], None, "said"))
        if self.error is not None:
            raise self.error
        return mod


@pytest.fixture
def rendered() -> Generator[list[list[str]]]:
    """Collect the messages of each rendering."""
    seen: list[list[str]] = []
    override_renderer(lambda ctx: seen.append([d.message for d in ctx.diagnostics]))
    yield seen
    override_renderer(None)


def messages(context: PassContext) -> list[str]:
    assert context.diag_ctx is not None
    return [diagnostic.message for diagnostic in context.diag_ctx.diagnostics]


def test_9_1_each_body_has_a_diagnostic_context_of_its_own(
    run: Run, rendered: list[list[str]]
):
    class Outer(ModulePass):
        pass_info = PassInfo(0, "Outer")

        def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
            assert ctx.diag_ctx is not None
            mine = ctx.diag_ctx
            mine.emit(Diagnostic.note(None, "outer"))
            SayAll("NOTE")(mod)
            assert ctx.diag_ctx is mine
            return mod

    run(Outer(), module())
    assert rendered == [["said"], ["outer"]]


def test_9_2_after_a_pass_the_context_has_what_the_last_one_said(run: Run):
    with PassContext() as context:
        run(Say(["NOTE"], "A"), module())
        assert messages(context) == ["A NOTE main"]
        run(SayAll("NOTE"), module())
        assert messages(context) == ["said"]


@pytest.mark.usefixtures("rendered")
def test_9_3_a_failing_pass_leaves_nothing_swapped(run: Run):
    with PassContext() as context:
        with pytest.raises(ValueError, match="bad"):
            run(SayAll("NOTE", ValueError("bad")), module())
        assert messages(context) == ["said"]
        run(Say(["HELP"]), module())
        assert messages(context) == ["Say HELP main"]


@pytest.mark.parametrize("level", LEVELS)
def test_9_4_errors_alone_end_the_pass(run: Run, rendered: list[list[str]], level: str):
    mod = module("a", "b")
    if level == "ERROR":
        with pytest.raises(DiagnosticError) as caught:
            run(Say([level]), mod)
        found = [diagnostic.message for diagnostic in caught.value.diagnostics]
        assert found == ["Say ERROR a", "Say ERROR b"]
    else:
        run(Say([level]), mod)
    assert rendered[0] == [f"Say {level} a", f"Say {level} b"]


def test_9_4_the_renderer_is_called_even_if_nothing_was_said(
    run: Run, rendered: list[list[str]]
):
    run(MarkAll(), module())
    assert rendered == [[]]


def test_9_4_the_order_is_that_of_the_module_and_of_speaking(
    run: Run, rendered: list[list[str]]
):
    names = [f"f{at}" for at in range(9)]
    with pytest.raises(DiagnosticError):
        run(Say(["NOTE", "ERROR", "HELP"]), module(*names))
    levels = ("NOTE", "ERROR", "HELP")
    expected = [f"Say {level} {name}" for name in names for level in levels]
    assert rendered == [expected]


def test_9_5_after_raising_the_diagnostics_are_kept_and_render_again():
    seen: list[int] = []
    context = DiagnosticContext(module(), lambda ctx: seen.append(len(ctx.diagnostics)))
    context.emit(Diagnostic.error(None, "bad"))
    for _ in range(2):
        with pytest.raises(DiagnosticError, match="bad"):
            context.render()
    assert seen == [1, 1]


def test_9_6_the_names_are_there():
    values = [int(DiagnosticLevel[level]) for level in LEVELS]
    assert values == [10, 20, 30, 40, 50]
    span = Span("file", 1, 1, 1, 2)
    diagnostic = Diagnostic(DiagnosticLevel.NOTE, span, "text")
    assert (diagnostic.level, diagnostic.span, diagnostic.message) == (40, span, "text")
    seen: list[DiagnosticContext] = []
    mod = module()
    context = DiagnosticContext(mod, DiagnosticRenderer(seen.append))
    context.emit(diagnostic)
    context.render()
    assert seen == [context]
    assert (context.module, context.diagnostics) == (mod, [diagnostic])
    assert isinstance(get_renderer(), DiagnosticRenderer)
    assert tvm.ir.diagnostics.Diagnostic is Diagnostic


def test_9_7_the_renderer_is_overridden_for_contexts_made_later(
    run: Run, capsys: pytest.CaptureFixture[str]
):
    seen: list[DiagnosticContext] = []
    override_renderer(seen.append)
    try:
        run(Say(["NOTE"]), module())
    finally:
        override_renderer(None)
    assert len(seen) == 2  # Say and InferType
    assert capsys.readouterr() == ("", "")
    run(Say(["NOTE"]), module())
    assert capsys.readouterr() == ("", "note: Say NOTE main\n")


def test_9_8_it_is_rendered_with_place_source_line_and_carets(
    run: Run, capsys: pytest.CaptureFixture[str]
):
    class Point(FunctionPass):
        pass_info = PassInfo(0, "Point")

        def transform_function(
            self, func: Function, mod: IRModule, ctx: PassContext
        ) -> Function:
            assert ctx.diag_ctx is not None
            for source in ("model.relay", "other"):
                span = Span(source, 2, 2, 5, 8)
                ctx.diag_ctx.emit(Diagnostic.warning(span, "an odd name"))
            ctx.diag_ctx.emit(Diagnostic.note(None, "nowhere"))
            return func

    mod = IRModule({"main": identity()}, sources={"model.relay": "one\nlet odd = 1\n"})
    run(Point(), mod)
    assert capsys.readouterr().err == (
        "warning: an odd name\n --> model.relay:2:5\n  |\n"
        "2 | let odd = 1\n  |     ^^^\n"
        "warning: an odd name\n --> other:2:5\n"
        "note: nowhere\n"
    )
    bold = format_diagnostic(Diagnostic.error(None, "bad"), None, coloured=True)
    assert bold == "\x1b[1;31merror\x1b[0m: bad"


def test_9_9_infer_type_finds_the_errors_of_all_functions(
    run: Run, rendered: list[list[str]]
):
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(3,))
    ill = Function((x, y), relay.add(x, y))
    with pytest.raises(DiagnosticError):
        run(
            relay.transform.InferType(),
            IRModule({"b": ill, "ok": identity(), "a": ill}),
        )
    [said] = rendered
    assert [message[:13] for message in said] == ["function 'b':", "function 'a':"]


def test_9_10_builders_and_fatal_diagnostics(run: Run, rendered: list[list[str]]):
    for level in LEVELS:
        made: Any = getattr(Diagnostic, level.lower())(None, "text")
        assert made == Diagnostic(DiagnosticLevel[level], None, "text")

    class Fatal(FunctionPass):
        pass_info = PassInfo(0, "Fatal")

        def transform_function(
            self, func: Function, mod: IRModule, ctx: PassContext
        ) -> Function:
            assert ctx.diag_ctx is not None
            ctx.diag_ctx.emit_fatal(Diagnostic.note(None, f"at {ctx.function_name}"))
            ctx.diag_ctx.emit_fatal(Diagnostic.error(None, "bad"))
            raise AssertionError

    with pytest.raises(DiagnosticError, match="bad"):
        run(Fatal(), module("a", "b"))
    assert rendered == [["at a", "bad"]]
