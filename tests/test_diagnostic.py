import io
import pickle
import sys

import pytest

from parpass.diagnostic import (
    Diagnostic,
    DiagnosticContext,
    DiagnosticLevel,
    Span,
    format_diagnostic,
    get_renderer,
    headline,
    override_renderer,
)
from parpass.errors import DiagnosticError
from tests.support.cpu_time import cpu_limit
from tests.support.toy.ir import Program

SPAN = Span("model.relay", 2, 2, 5, 8)
WARNING = Diagnostic(DiagnosticLevel.WARNING, SPAN, "an odd name")
ERROR = Diagnostic(DiagnosticLevel.ERROR, None, "no such thing")


def test_a_headline_is_place_level_and_message():
    assert headline(WARNING) == "model.relay:2:5: warning: an odd name"
    assert headline(ERROR) == "error: no such thing"


@pytest.mark.parametrize(
    ("span", "carets"),
    [
        (SPAN, "    ^^^"),
        (Span("model.relay", 2, 2, 5, 5), "    ^"),
        (Span("model.relay", 2, 3, 9, 2), "        ^^^"),
    ],
)
def test_the_source_line_is_underlined(span: Span, carets: str):  # 9.8
    diagnostic = Diagnostic(DiagnosticLevel.NOTE, span, "here")
    assert format_diagnostic(diagnostic, "first\nlet odd = 1\n") == (
        f"note: here\n --> {span}\n  |\n2 | let odd = 1\n  | {carets}"
    )


@pytest.mark.parametrize(
    ("column", "start", "caret"),
    [(3, "1 | " + "x" * 200 + "...", 6), (5_000, "1 | ..." + "x" * 200 + "...", 107)],
)
def test_of_a_long_line_a_part_is_shown(column: int, start: str, caret: int):
    span = Span("model.relay", 1, 1, column, 9_000)
    shown = format_diagnostic(Diagnostic.error(span, "odd"), "x" * 10_000).split("\n")
    assert shown[3] == start
    assert shown[4].index("^") == caret
    assert len(shown[4]) <= len(shown[3])


@pytest.mark.slow
def test_many_diagnostics_of_a_long_text_take_no_longer_together(
    capsys: pytest.CaptureFixture[str],
):
    source = f"{'x' * 200_000}\n" + "let %odd = 1;\n" * 20_000
    module = Program(sources={"model.relay": source})
    spans = [Span("model.relay", at, at, 1, 2) for at in (1, 20_001)]
    context = DiagnosticContext(module)
    with cpu_limit(20):
        for span in spans * 10_000:
            context.emit(Diagnostic.warning(span, "odd"))
        context.render()
    assert len(capsys.readouterr().err) < 10_000_000


@pytest.mark.parametrize("source", [None, "", "one line"])
def test_without_the_source_line_the_place_is_named(source: str | None):
    assert format_diagnostic(WARNING, source) == (
        "warning: an odd name\n --> model.relay:2:5"
    )
    assert format_diagnostic(ERROR, source) == "error: no such thing"


def test_on_a_terminal_the_level_is_bold_and_coloured():  # 9.8
    assert format_diagnostic(ERROR, None, coloured=True) == (
        "\x1b[1;31merror\x1b[0m: no such thing"
    )


class Terminal(io.StringIO):
    """A terminal that remembers what was written."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("surroundings", "is_coloured"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
    ],
)
def test_there_is_no_colour_where_it_is_not_wanted(
    surroundings: dict[str, str], is_coloured: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in surroundings.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    context = DiagnosticContext(None)
    context.emit_fatal(WARNING)
    assert ("\x1b[" in terminal.getvalue()) == is_coloured


def test_rendering_calls_the_renderer_once_and_errors_raise():  # 9.4
    seen: list[DiagnosticContext] = []
    context = DiagnosticContext(None, seen.append)
    context.render()
    context.emit(WARNING)
    context.render()
    context.emit(ERROR)
    with pytest.raises(DiagnosticError, match=r"^error: no such thing$") as caught:
        context.render()
    assert caught.value.diagnostics == (WARNING, ERROR)
    assert seen == [context] * 3


def test_the_renderer_can_be_replaced_for_contexts_made_later():  # 9.7
    early = DiagnosticContext(None)
    seen: list[DiagnosticContext] = []
    override_renderer(seen.append)
    try:
        late = DiagnosticContext(None)
    finally:
        override_renderer(None)
    late.render()
    assert seen == [late]
    assert early.renderer is get_renderer()
    assert late.renderer is not get_renderer()


def test_the_default_renderer_writes_to_standard_error(
    capsys: pytest.CaptureFixture[str],
):
    context = DiagnosticContext(None)
    context.emit(WARNING)
    context.render()
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"{format_diagnostic(WARNING, None)}\n")


def test_diagnostics_survive_pickling():
    stream = io.BytesIO(pickle.dumps(WARNING))
    assert pickle.load(stream) == WARNING
