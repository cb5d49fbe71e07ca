"""The serial driver, and with it `apply`: what calling a pass does."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from parpass.diagnostic import (
    Diagnostic,
    DiagnosticContext,
    DiagnosticLevel,
    override_renderer,
)
from parpass.errors import DiagnosticError, RuntimeUseError
from parpass.transform import (
    FunctionPass,
    ModulePass,
    PassContext,
    PassInfo,
    Sequential,
    module_pass,
)
from parpass.transform.capture.recorder import inside_function_pass
from parpass.transform.instrument_hooks import now, replayed_time
from tests.support.toy.ir import Fn, Program, program
from tests.support.toy.passes import Add, Duplicate, FailOn, Keep, Say
from tests.support.toy.pipelines import pipelines, programs, see
from tests.support.watching import Blind, Log, vetoing


@pytest.fixture
def rendered() -> Iterator[list[list[str]]]:
    """Yield the messages of each rendering, in order."""
    seen: list[list[str]] = []

    def render(context: DiagnosticContext) -> None:
        seen.append([diagnostic.message for diagnostic in context.diagnostics])

    override_renderer(render)
    yield seen
    override_renderer(None)


def test_diagnostics_come_in_module_order(rendered: list[list[str]]):
    Say()(program(3, 1, 2))
    assert rendered == [["saw 3", "saw 1", "saw 2"]]


def test_the_renderer_is_called_for_each_pass_even_without_diagnostics(
    rendered: list[list[str]],
):  # 9.4
    Sequential([Say(), Keep()])(program(1))
    assert rendered == [["saw 1"], []]


def test_only_errors_end_the_pass_and_all_functions_are_visited(
    rendered: list[list[str]],
):  # 9.4
    mod = program(1, 2)
    with pytest.raises(DiagnosticError) as caught:
        Sequential([Say(DiagnosticLevel.ERROR), Add()])(mod)
    assert [d.message for d in caught.value.diagnostics] == ["saw 1", "saw 2"]
    assert "source:1:1: error: saw 1\n" in str(caught.value)
    assert rendered == [["saw 1", "saw 2"]]
    assert mod == program(1, 2)


@pytest.mark.parametrize("level", [DiagnosticLevel.BUG, DiagnosticLevel.WARNING])
def test_other_levels_do_not(level: DiagnosticLevel, rendered: list[list[str]]):
    assert Say(level)(program(1)) == program(2)
    assert rendered == [["saw 1"]]


class SayThenFail(FunctionPass):
    """Says what it sees, and fails on 2."""

    pass_info = PassInfo(0, "SayThenFail")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        assert ctx.diag_ctx is not None
        message = f"saw {func.values[0]}"
        ctx.diag_ctx.emit(Diagnostic(DiagnosticLevel.NOTE, None, message))
        return FailOn(2).transform_function(func, mod, ctx)


def test_what_was_said_up_to_a_failure_is_rendered(rendered: list[list[str]]):
    with pytest.raises(ValueError, match="met 2"):
        SayThenFail()(program(1, 2, 3))
    assert rendered == [["saw 1", "saw 2"]]


def test_the_diagnostics_of_the_last_pass_stay_on_the_context(
    rendered: list[list[str]],
):  # 9.2
    with PassContext() as context:
        Say()(program(1))
        assert context.diag_ctx is not None
        assert [d.message for d in context.diag_ctx.diagnostics] == ["saw 1"]
    assert len(rendered) == 1


def test_diagnostics_show_the_source_of_the_module(
    capsys: pytest.CaptureFixture[str],
):
    Say()(Program({"f": Fn((5,))}, sources={"source": "five"}))
    assert capsys.readouterr().err == (
        "warning: saw 5\n --> source:1:1\n  |\n1 | five\n  | ^\n"
    )


def test_counters_are_merged_over_functions_and_runs():
    with PassContext() as context:
        Sequential([Add(), Duplicate(), Add()])(program(1, 2))
    assert context.statistics == {
        "Add": Counter(added=6),
        "Duplicate": Counter(added=2),
    }


class Names(FunctionPass):
    """Says under which name the infrastructure knows each function."""

    pass_info = PassInfo(0, "Names")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        ctx.count(str(ctx.function_name))
        return func


def test_the_context_knows_the_name_of_the_function_at_hand():
    with PassContext() as context:
        Names()(Program({"first": Fn((1,)), "second": Fn((2,))}))
        assert context.function_name is None
    assert context.statistics["Names"] == Counter(first=1, second=1)


class CallsInside(FunctionPass):
    """Runs another pass from within a function pass."""

    pass_info = PassInfo(0, "CallsInside")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        assert inside_function_pass()
        ctx.count("called")
        return Add()(Program({"it": func}))["it"]


def test_passes_inside_function_passes_are_not_shown_to_instruments():  # Part I, 4.22
    log = Log()
    with PassContext(instruments=[log]):
        assert CallsInside()(program(1)) == program(2)
    assert [call for call in log.log if "Add" in call] == []
    assert not inside_function_pass()


async def later(mod: Program, ctx: PassContext) -> Program:
    return mod


def test_an_async_module_pass_says_how_to_run_it():
    mod = program(1)
    with pytest.raises(RuntimeUseError) as caught:
        module_pass(later, opt_level=0)(mod)
    assert str(caught.value) == (
        "module pass 'later' is async, and nothing here can wait for it; use "
        "'await parpass.run_pipeline(mod, ...)' or "
        "'parpass.run_pipeline_sync(mod, ...)'"
    )
    assert caught.value.__notes__ == ["in pass 'later'"]


class Observing(Blind):
    """Logs the same as Blind, but each pass is a stage of its own."""

    observes_ir = True


@pytest.mark.slow
@given(pipelines(), programs())
def test_fused_passes_give_what_single_ones_give(pipeline: Sequential, mod: Program):
    blind, observing = Blind(), Observing()
    functions = dict(mod.functions)
    fused = see(pipeline, mod, blind)
    assert fused == see(pipeline, mod, observing)
    assert fused == see(pipeline, mod)
    assert blind.log == observing.log
    assert set(blind.modules) <= {None}
    assert mod.functions == functions


@pytest.mark.slow
@given(pipelines(), programs())
def test_each_pass_that_begins_ends_once(pipeline: Sequential, mod: Program):
    blind = Blind()
    see(pipeline, mod, blind)
    opened: list[str] = []
    for call in blind.log:
        event, _, name = call.partition(" ")
        if event == "before":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert opened == []


def test_a_pass_that_raises_system_exit_ends_as_a_failed_one():
    blind = Blind()
    seen = see(Sequential([FailOn(2, SystemExit)]), program(1, 2), blind)
    assert seen.error is not None
    assert seen.error[0] is SystemExit
    ends = [call.partition(" ")[0] for call in blind.log]
    assert ends.count("before") == ends.count("failed") == 2


def test_an_instrument_that_comes_in_during_a_stage_cannot_veto_what_was_run():
    class Override(Blind):
        def run_after_pass(self, mod: Any, info: PassInfo) -> None:
            if info.name == "Add":
                PassContext.current().override_instruments([vetoes])

    vetoes = Log(at=vetoing("Say"))
    with PassContext(instruments=[Override()]):
        result = Sequential([Add(1), Say(DiagnosticLevel.NOTE), Keep(), Add(2)])(
            program(1)
        )
    assert result == program(5)
    assert "after Say" in vetoes.log
    with PassContext(instruments=[vetoes]):
        assert Sequential([Add(1), Say()])(program(1)) == program(2)


def test_hooks_within_a_fused_stage_read_a_clock_that_goes_on():
    moments: list[float] = []

    class Read(Blind):
        def run_before_pass(self, mod: Any, info: PassInfo) -> None:
            moments.append(now())

        def run_after_pass(self, mod: Any, info: PassInfo) -> None:
            moments.append(now())

    with PassContext(instruments=[Read()]):
        Sequential([Add(), Add(), Add()])(program(1))
    assert moments == sorted(moments)
    assert len(moments) == 8
    assert replayed_time.get() is None


def test_a_module_pass_may_be_called_within_another_under_a_context_of_its_own():
    class Nest(ModulePass):
        pass_info = PassInfo(0, "Nest")

        def transform_module(self, mod: Program, ctx: PassContext) -> Program:
            with PassContext(opt_level=0) as inner:
                result = Add()(mod)
                assert inner.statistics == {"Add": Counter(added=1)}
            return result

    with PassContext() as outer:
        assert Nest()(program(1)) == program(2)
    assert outer.statistics == {}
