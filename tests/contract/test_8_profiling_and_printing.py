"""Contract section 8: the instruments that profile, print, dump and check."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import parpass.ir
from parpass import instrument, relay
from parpass.errors import WellFormedError
from parpass.instrument import (
    DumpIR,
    PassInstrument,
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    WellFormedInstrument,
)
from parpass.ir.module import IRModule
from parpass.relay.expr import Function
from parpass.transform import ModulePass, PassContext, PassInfo, Sequential
from parpass.transform.instrument_hooks import replayed_time
from tests.contract.marking import Mark, MarkAll, RaiseAll, Run, module

Lines = list[tuple[int, str]]


def lines(profile: str) -> Lines:
    """Return depth and name of each line of a rendered profile."""
    found = [
        re.fullmatch(r"(\t*)(\S+): \d+us .*", line) for line in profile.split("\n")
    ]
    return [(len(match[1]), match[2]) for match in found if match]


class Render(ModulePass):
    """Renders the profile from inside of a pass."""

    pass_info = PassInfo(0, "Render")

    def __init__(self, timing: PassTimingInstrument) -> None:
        self.timing = timing
        self.seen = ""

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        self.seen = self.timing.render()
        return mod


def test_8_1_a_profile_belongs_to_its_instrument(run: Run):
    timing, other = PassTimingInstrument(), PassTimingInstrument()
    with PassContext(instruments=[timing]):
        run(MarkAll("A"), module())
        assert lines(timing.render()) == [(0, "A")]
    assert other.render() == ""


def test_8_2_it_is_an_instrument_of_this_name():
    assert isinstance(PassTimingInstrument(), PassInstrument)
    assert PassTimingInstrument().name == "PassTimingInstrument"


def test_8_3_it_vetoes_nothing(run: Run):
    timing = PassTimingInstrument()
    assert timing.bound_hooks is not None
    assert timing.bound_hooks.should_run is None
    with PassContext(instruments=[timing]):
        run(Sequential([MarkAll("A")], name="s"), module())
    assert lines(timing.render()) == [(0, "s"), (1, "A")]


def test_8_4_it_is_readable_after_the_context_too(run: Run):
    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]) as context:
        run(MarkAll("A"), module())
        context.override_instruments([])
        assert lines(timing.render()) == [(0, "A")]
    assert lines(timing.render()) == [(0, "A")]


def timed() -> PassTimingInstrument:
    """Return an instrument that has seen S with A and B in it, and then C."""
    timing = PassTimingInstrument()
    infos = {name: PassInfo(0, name) for name in "SABC"}
    for hook, name, moment in (
        *(("before", "S", 1.0), ("before", "A", 1.1), ("after", "A", 1.4)),
        *(("before", "B", 1.4), ("after", "B", 1.5), ("after", "S", 1.6)),
        *(("before", "C", 2.0), ("after", "C", 2.2)),
    ):
        token = replayed_time.set(moment)
        getattr(timing, f"run_{hook}_pass")(None, infos[name])
        replayed_time.reset(token)
    return timing


def test_8_5_durations_are_in_microseconds():
    assert timed().render().startswith("S: 600000us ")


def test_8_6_it_is_rendered_line_by_line():
    assert timed().render() == (
        "S: 600000us [200000us] (75.00%; 75.00%)\n"
        "\tA: 300000us [300000us] (37.50%; 50.00%)\n"
        "\tB: 100000us [100000us] (12.50%; 16.67%)\n"
        "C: 200000us [200000us] (25.00%; 25.00%)\n"
    )


def test_8_7_each_call_and_each_nested_pass_has_its_line(run: Run):
    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        run(Sequential([Mark("A"), MarkAll("B"), Mark("A")], name="s"), module())
    nested = [(1, "A"), (2, "InferType")]
    assert lines(timing.render()) == [(0, "s"), *nested, (1, "B"), *nested]


def test_8_8_a_running_pass_shows_its_time_so_far(run: Run):
    timing = PassTimingInstrument()
    a_pass = Render(timing)
    with PassContext(instruments=[timing]):
        run(a_pass, module())
    assert lines(a_pass.seen) == [(0, "Render")]


def test_8_9_a_pass_that_raises_does_not_spoil_the_profile(run: Run):
    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        with pytest.raises(ValueError, match="bad"):
            run(Sequential([RaiseAll(ValueError("bad"))], name="s"), module())
        run(MarkAll("A"), module())
    assert lines(timing.render()) == [(0, "s"), (1, "RaiseAll"), (0, "A")]


def test_8_10_two_of_them_do_not_disturb_each_other(run: Run):
    first, second = PassTimingInstrument(), PassTimingInstrument()
    with PassContext(instruments=[first, second]):
        run(MarkAll("A"), module())
    assert lines(first.render()) == lines(second.render()) == [(0, "A")]


def test_8_12_listed_passes_are_printed(run: Run, capsys: pytest.CaptureFixture[str]):
    printing = PassPrintingInstrument(["A"], ["B"])
    mod = module()
    with PassContext(instruments=[printing]):
        run(Sequential([MarkAll("A"), MarkAll("B"), MarkAll("C")]), mod)
    after = MarkAll("B")(MarkAll("A")(mod))
    before, _, rest = capsys.readouterr().out.partition("Print IR after: B\n")
    assert before == f"Print IR before: A\n{mod}\n\n\n"
    assert rest == f"{after}\n\n\n"


def test_8_13_every_pass_is_printed(run: Run, capsys: pytest.CaptureFixture[str]):
    mod, a_pass = module(), MarkAll("A")
    with PassContext(instruments=[PrintBeforeAll(), PrintAfterAll()]):
        after = run(a_pass, mod)
    assert capsys.readouterr().out == (
        f"Before Running Pass: {a_pass.info}\n{mod}\n"
        f"After Running Pass: {a_pass.info}\n{after}\n"
    )
    for name in ("PassPrintingInstrument", "PrintBeforeAll", "PrintAfterAll"):
        assert getattr(parpass.ir.instrument, name) is getattr(instrument, name)


def test_8_14_modules_are_dumped_in_the_order_of_completion(run: Run, tmp_path: Path):
    where = tmp_path / "deeper" / "dumps"
    pipeline = Sequential([MarkAll("A/b"), RaiseAll(ValueError("bad"))], name="s")
    with PassContext(instruments=[DumpIR(where)]):
        with pytest.raises(ValueError, match="bad"):
            run(pipeline, module())
        last = run(Sequential([MarkAll("C")], name="s"), module())
    names = sorted(path.stem for path in where.iterdir())
    assert names == ["000_A_b", "001_C", "002_s"]
    [text] = [path.read_text() for path in where.glob("002*")]
    assert text.rstrip() == str(last).rstrip()


def test_8_14_a_directory_is_refreshed_only_if_it_holds_dumps(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    with PassContext(instruments=[DumpIR(tmp_path / "d")]):
        run(MarkAll("A"), module())
    DumpIR(tmp_path / "d", refresh=True)
    assert not (tmp_path / "d").exists()
    (tmp_path / "other.txt").touch()
    DumpIR(tmp_path, refresh=True)
    assert (tmp_path / "other.txt").exists()
    assert "WARNING" in capsys.readouterr().err


class Unbind(ModulePass):
    """Gives a module with a variable that nothing binds."""

    pass_info = PassInfo(0, "Unbind")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
        return IRModule.assemble(mod, {"main": Function((x,), y)})


def test_8_15_modules_are_checked_around_each_pass(run: Run):
    with PassContext(instruments=[WellFormedInstrument()]):
        run(Sequential([Mark("A"), MarkAll("B")]), module())
        with pytest.raises(WellFormedError, match="after pass 'Unbind'"):
            run(Unbind(), module())
    broken: Any = Unbind()(module())
    with (
        pytest.raises(AssertionError, match="before pass 'MarkAll'"),
        PassContext(instruments=[WellFormedInstrument()]),
    ):
        run(MarkAll(), broken)
