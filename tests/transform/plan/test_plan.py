"""The plan by itself: its commands, driven by hand."""

from collections import Counter
from typing import Any

import pytest

from parpass.diagnostic import Diagnostic, DiagnosticLevel
from parpass.errors import DiagnosticError
from parpass.instrument import PassInstrument
from parpass.transform import Pass, PassContext, PassInfo, Sequential, adapter_of
from parpass.transform.capture.recorder import function_pass_body
from parpass.transform.plan.commands import (
    Call,
    CallHook,
    Command,
    Render,
    RunModulePass,
    RunStage,
    StageResult,
    StepRecord,
)
from parpass.transform.plan.plan import plan
from tests.support.toy.ir import checked_program, program
from tests.support.toy.passes import Add, AddFrom, FailOn, Keep
from tests.support.watching import Blind, Log, vetoing


class Drive:
    """Carries out a plan with made-up outcomes; each stage takes a second a pass.

    Modules are just names here: the input `m0`, then `m1`, `m2`, ...; the plan must
    not look at them.
    """

    def __init__(
        self, root: Pass, *instruments: Any, checked: bool = False, **settings: Any
    ) -> None:
        self.context = PassContext(instruments=instruments, **settings)
        mod = checked_program() if checked else program()
        adapter = adapter_of(mod, "test")
        self.plan = plan(root, "m0", self.context, adapter)
        self.commands: list[Command] = []
        self.records: dict[str, StepRecord] = {}
        self.made = 0

    def run(self) -> Any:
        try:
            command = next(self.plan)
            while True:
                self.commands.append(command)
                try:
                    answer = self._answer(command)
                except Exception as error:  # noqa: BLE001 -- the plan raises it
                    command = self.plan.throw(error)
                else:
                    command = self.plan.send(answer)
        except StopIteration as end:
            return end.value

    def _answer(self, command: Command) -> Any:
        if isinstance(command, RunStage):
            return self._outcome(command.steps)
        if isinstance(command, RunModulePass):
            return self._outcome([command.pass_])
        assert isinstance(command, Call)
        return command.call(command.mod)

    def _outcome(self, passes: Any) -> StageResult:
        self.made += 1
        records: list[StepRecord] = []
        for a_pass in passes:
            name = a_pass.info.name
            records.append(self.records.get(name, StepRecord(name, seconds=1.0)))
            if records[-1].failure is not None:
                break
        return StageResult(f"m{self.made}", records, 100.0, 100.0 + len(records) / 2)

    def text(self) -> list[str]:
        return [_text(command) for command in self.commands]


def _text(command: Command) -> str:
    match command:
        case RunStage():
            names = "+".join(a_pass.info.name for a_pass in command.steps)
            return f"stage {names} on {command.mod}"
        case RunModulePass():
            return f"module pass {command.pass_.info.name} on {command.mod}"
        case CallHook():
            hook = command.hook_name.removesuffix("_pass")
            return f"{hook} {command.args[0].name} on {command.mod}"
        case Render():
            return f"render {command.record.pass_name} on {command.mod}"
        case _:
            raise AssertionError(f"these plans ask for no {type(command).__name__}")


class Vetoer(PassInstrument):
    """Decides on passes without looking at the IR."""

    observes_ir = False

    def should_run(self, mod: Any, info: PassInfo) -> bool:
        return True


def test_an_unwatched_pipeline_is_stages_between_module_passes():
    drive = Drive(Sequential([Add(), AddFrom("f"), Keep(), Add()]))
    assert drive.run() == "m3"
    assert drive.text() == [
        "stage Add+AddFrom on m0",
        "module pass Keep on m1",
        "stage Add on m2",
    ]


def test_restoring_passes_and_nested_pipelines_are_part_of_a_stage():
    drive = Drive(Sequential([Add(), Sequential([Add()]), Add()]), checked=True)
    assert drive.run() == "m1"
    assert drive.text() == ["stage Add+Check+Add+Check+Add+Check on m0"]


def test_an_instrument_that_observes_the_ir_makes_each_pass_a_stage():
    drive = Drive(Sequential([Add(), AddFrom("f")], name="s"), Log())
    assert drive.run() == "m2"
    assert drive.text() == [
        "should_run s on m0",
        "run_before s on m0",
        "should_run Add on m0",
        "run_before Add on m0",
        "stage Add on m0",
        "run_after Add on m1",
        "should_run AddFrom on m1",
        "run_before AddFrom on m1",
        "stage AddFrom on m1",
        "run_after AddFrom on m2",
        "run_after s on m2",
    ]


def test_one_that_does_not_is_called_in_serial_order_around_a_fused_stage():
    drive = Drive(Sequential([Add(), AddFrom("f")], name="s"), Blind())
    assert drive.run() == "m1"
    assert drive.text() == [
        "run_before s on None",
        "run_before Add on None",
        "stage Add+AddFrom on m0",
        "run_after Add on None",
        "run_before AddFrom on None",
        "run_after AddFrom on None",
        "run_after s on None",
    ]


def test_the_clock_shares_the_time_of_a_fused_stage_among_its_passes():
    # Of half a second in all, Add takes three of four worker seconds.
    drive = Drive(Sequential([Add(), AddFrom("f")], name="s"), Blind())
    drive.records["Add"] = StepRecord("Add", seconds=3.0)
    drive.run()
    hooks = [command for command in drive.commands if isinstance(command, CallHook)]
    assert [(hook.args[0].name, hook.hook_time) for hook in hooks] == [
        ("s", None),
        ("Add", None),
        ("Add", 100.75),
        ("AddFrom", 100.75),
        ("AddFrom", None),
        ("s", None),
    ]


def test_a_vetoed_pass_is_left_out_with_what_follows_it():
    drive = Drive(
        Sequential([Add(), Keep()], name="s"), Log(at=vetoing("Add")), checked=True
    )
    assert drive.run() == "m1"
    assert [text for text in drive.text() if "Add" in text or "Check" in text] == [
        "should_run Add on m0"
    ]


@pytest.mark.parametrize(
    ("instruments", "wanted"),
    [
        ([], [True, True]),  # by Keep, and by the caller
        ([Blind()], [True, True]),
        ([Log()], [True, True, True]),
        ([Vetoer()], [False, True, True]),
    ],
)
def test_a_stage_tells_whether_somebody_will_look_at_its_module(
    instruments: list[Any], wanted: list[bool]
):
    drive = Drive(Sequential([Add(), AddFrom("f"), Keep(), Add()]), *instruments)
    drive.run()
    stages = [command for command in drive.commands if isinstance(command, RunStage)]
    assert [stage.wanted for stage in stages] == wanted


def test_a_failing_step_ends_a_fused_stage_where_serial_would():
    drive = Drive(Sequential([Add(), FailOn(1), AddFrom("f")], name="s"), Blind())
    error = ValueError("bad")
    drive.records["FailOn"] = StepRecord("FailOn", seconds=1.0, failure=error)
    with pytest.raises(ValueError, match="bad") as caught:
        drive.run()
    assert caught.value is error
    assert drive.text()[2:] == [
        "stage Add+FailOn+AddFrom on m0",
        "run_after Add on None",
        "run_before FailOn on None",
        "run_after_failed FailOn on None",
        "run_after_failed s on None",
    ]


def test_an_error_of_a_driver_unwinds_too():
    log = Log()
    drive = Drive(Sequential([Keep()], name="s"), log)
    while not isinstance(drive.commands[-1] if drive.commands else None, RunModulePass):
        last = drive.commands[-1] if drive.commands else None
        answer = last.call(last.mod) if isinstance(last, CallHook) else None
        drive.commands.append(drive.plan.send(answer))
    command = drive.plan.throw(OSError("the pool is gone"))
    assert isinstance(command, CallHook)
    assert (command.hook_name, command.args[0].name) == (
        "run_after_failed_pass",
        "Keep",
    )
    drive.plan.send(None)
    with pytest.raises(OSError, match="the pool is gone"):
        drive.plan.send(None)


def test_what_a_pass_said_is_rendered_before_its_end_is_told(
    capsys: pytest.CaptureFixture[str],
):
    note = Diagnostic(DiagnosticLevel.NOTE, None, "hello")
    drive = Drive(Sequential([Add(), AddFrom("f")], name="s"), Blind())
    drive.records["Add"] = StepRecord("Add", [note], seconds=1.0)
    drive.run()
    assert drive.text()[2:5] == [
        "stage Add+AddFrom on m0",
        "render Add on m0",
        "run_after Add on None",
    ]
    assert capsys.readouterr().err == "note: hello\n"


def test_what_a_failed_pass_said_is_rendered_before_its_error_is_raised(
    capsys: pytest.CaptureFixture[str],
):
    said = Diagnostic(DiagnosticLevel.ERROR, None, "first this")
    drive = Drive(FailOn(1))
    drive.records["FailOn"] = StepRecord("FailOn", [said], failure=ValueError("bad"))
    with pytest.raises(ValueError, match="bad"):
        drive.run()
    assert capsys.readouterr().err == "error: first this\n"


def test_errors_said_end_the_pass_and_are_named_with_it(
    capsys: pytest.CaptureFixture[str],
):
    said = Diagnostic(DiagnosticLevel.ERROR, None, "wrong")
    drive = Drive(Sequential([Add(), Keep()]), Blind())
    drive.records["Add"] = StepRecord("Add", [said])
    with pytest.raises(DiagnosticError, match="error: wrong") as caught:
        drive.run()
    assert caught.value.diagnostics == (said,)
    assert caught.value.__notes__ == ["in pass 'Add'"]
    assert drive.text()[-2] == "run_after_failed Add on None"
    assert capsys.readouterr().err == "error: wrong\n"


def test_counters_add_up_by_pass_in_the_context():
    drive = Drive(Sequential([Add(), Keep(), Add()]))
    drive.records["Add"] = StepRecord("Add", counters=Counter(added=2))
    drive.run()
    assert drive.context.statistics == {"Add": Counter(added=4)}


def test_a_plan_in_a_function_pass_calls_no_hooks():
    context = PassContext(instruments=[Log()])
    commands = plan(Keep(), "m0", context, adapter_of(program(), "test"))
    with function_pass_body():
        assert isinstance(next(commands), RunModulePass)
