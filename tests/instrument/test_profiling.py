import re
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from parpass.instrument import (
    PassProfile,
    PassStatisticsInstrument,
    PassTimingInstrument,
)
from parpass.transform import ModulePass, Pass, PassContext, PassInfo, Sequential
from parpass.transform.instrument_hooks import replayed_time
from tests.support.toy.ir import Program, checked_program, program
from tests.support.toy.passes import Add, Duplicate, FailOn, FailWhole, Keep
from tests.support.watching import Log, raising_at


def test_counters_are_added_up_by_pass():
    statistics = PassStatisticsInstrument()
    with PassContext(instruments=[statistics]):
        Sequential([Add(), Keep(), Duplicate(), Add()])(program(1, 2))
    assert statistics.totals == {"Add": {"added": 6}, "Duplicate": {"added": 2}}


def test_they_are_there_after_contexts_were_left_and_add_up():
    statistics = PassStatisticsInstrument()
    for _ in range(2):
        with PassContext(instruments=[statistics]):
            Add()(program(1, 2))
    assert statistics.totals == {"Add": {"added": 4}}


def test_what_was_counted_before_is_not_in_them():
    context = PassContext()
    statistics = PassStatisticsInstrument()
    with context:
        Add()(program(1, 2))
        context.override_instruments([statistics])
        Add()(program(1))
    assert context.statistics == {"Add": Counter(added=3)}
    assert statistics.totals == {"Add": {"added": 1}}


def test_counters_of_functions_are_kept_apart_if_that_is_wanted():
    statistics = PassStatisticsInstrument(by_function=True)
    with PassContext() as context:
        context.keep_function_statistics()
        Add()(program(1, 2))
        context.override_instruments([statistics])
        Sequential([Add(), Duplicate()])(program(1, 2))
    assert statistics.function_totals == {
        ("Add", "f0"): {"added": 1},
        ("Add", "f1"): {"added": 1},
    }


def test_passes_before_a_failure_are_in_them():
    statistics = PassStatisticsInstrument()
    with (
        PassContext(instruments=[statistics]),
        pytest.raises(ValueError, match="the module is bad"),
    ):
        Sequential([Add(), FailWhole()])(program(1))
    assert statistics.totals == {"Add": {"added": 1}}


def test_rendering_is_a_table():
    statistics = PassStatisticsInstrument()
    with PassContext(instruments=[statistics]):
        Sequential([Add(), Duplicate()])(program(*range(12)))
    assert statistics.render() == (
        "pass       counter  total\n"
        "Add        added       12\n"
        "Duplicate  added       12\n"
    )


def test_rendering_nothing_says_so():
    assert PassStatisticsInstrument().render() == "No pass counted anything.\n"


Shape = list[tuple[str, Any]]


def shape(profiles: tuple[PassProfile, ...]) -> Shape:
    """Return names only, nested."""
    return [(profile.name, shape(profile.children)) for profile in profiles]


@contextmanager
def at(moment: float) -> Generator[None]:
    """Set the clock of instruments."""
    token = replayed_time.set(moment)
    try:
        yield
    finally:
        replayed_time.reset(token)


def timed() -> PassTimingInstrument:
    """Return an instrument that has seen S with A and B in it, and then C."""
    timing = PassTimingInstrument()
    infos = {name: PassInfo(0, name) for name in "SABC"}
    for name, hook, moment in [
        ("S", "before", 1.0),
        ("A", "before", 1.1),
        ("A", "after", 1.4),
        ("B", "before", 1.4),
        ("B", "after", 1.5),
        ("S", "after", 1.6),
        ("C", "before", 2.0),
        ("C", "after", 2.2),
    ]:
        with at(moment):
            getattr(timing, f"run_{hook}_pass")(None, infos[name])
    return timing


def test_the_profile_is_a_tree_in_the_order_of_execution():
    outer, last = timed().profiles
    assert (outer.name, outer.seconds) == ("S", pytest.approx(0.6))
    assert outer.self_seconds == pytest.approx(0.2)
    assert [(child.name, child.children) for child in outer.children] == [
        ("A", ()),
        ("B", ()),
    ]
    assert (last.name, last.seconds) == ("C", pytest.approx(0.2))


def test_nothing_renders_as_nothing():  # 8.4
    assert PassTimingInstrument().render() == ""
    assert PassTimingInstrument().profiles == ()


def test_time_that_stands_still_renders_as_zero():
    timing = PassTimingInstrument()
    with at(1.0):
        timing.run_before_pass(None, Keep.pass_info)
        timing.run_after_pass(None, Keep.pass_info)
    assert timing.render() == "Keep: 0us [0us] (0.00%; 0.00%)\n"


def test_each_call_and_each_nested_pass_has_its_line():  # 8.7
    timing = PassTimingInstrument()
    pipeline = Sequential([Add(), Keep(), Add()], name="s")
    with PassContext(instruments=[timing]):
        pipeline(checked_program(1))
        Keep()(program())
    add: Any = ("Add", [("Check", [])])
    assert shape(timing.profiles) == [
        ("s", [add, ("Keep", []), add]),
        ("Keep", []),
    ]
    line = r"\t*\w+: \d+us \[\d+us\] \(\d+\.\d\d%; \d+\.\d\d%\)\n"
    assert re.fullmatch(f"({line}){{7}}", timing.render())


def test_times_of_nested_passes_add_up_to_no_more_than_the_outer_one():
    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        Sequential([Add(), Add(), Keep(), Add()])(program(*range(100)))
    [outer] = timing.profiles
    assert outer.self_seconds >= 0
    assert all(child.seconds > 0 for child in outer.children)


def test_it_does_not_look_at_the_ir():
    assert PassTimingInstrument.observes_ir is False
    assert PassTimingInstrument().name == "PassTimingInstrument"  # 8.2


class Render(ModulePass):
    """Renders the profile while a pass is running."""

    pass_info = PassInfo(0, "Render")

    def __init__(self, timing: PassTimingInstrument) -> None:
        self.timing = timing
        self.seen = ""

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        self.seen = self.timing.render()
        return mod


def test_a_pass_that_is_running_shows_its_time_so_far():  # 8.8
    timing = PassTimingInstrument()
    a_pass = Render(timing)
    with PassContext(instruments=[timing]):
        a_pass(program())
    assert a_pass.seen.startswith("Render: ")


def test_a_failed_pass_is_in_it_and_what_follows_is_beside_it():  # 8.9
    timing = PassTimingInstrument()
    failing = Sequential([Add(), FailOn(2), Keep()], name="s")
    with PassContext(instruments=[timing]):
        with pytest.raises(ValueError, match="met 2"):
            failing(program(1))
        Keep()(program())
    assert shape(timing.profiles) == [
        ("s", [("Add", []), ("FailOn", [])]),
        ("Keep", []),
    ]


@pytest.mark.parametrize("hook", ["should", "before", "after"])
@pytest.mark.parametrize("timing_first", [True, False])
def test_a_failing_hook_of_another_instrument_does_not_disturb_it(
    hook: str, *, timing_first: bool
):
    timing = PassTimingInstrument()
    watchers = [timing, Log(at=raising_at(hook))]
    with PassContext(instruments=watchers if timing_first else watchers[::-1]) as ctx:
        with pytest.raises(LookupError):
            Keep()(program())
        ctx.override_instruments([timing])
        Add()(program(1))
    assert shape(timing.profiles)[-1] == ("Add", [])
    assert (
        ("Keep", []) in shape(timing.profiles) or not timing_first or (hook == "should")
    )


class Interrupt(ModulePass):
    """Is interrupted, as by Ctrl-C."""

    pass_info = PassInfo(0, "Interrupt")

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        raise KeyboardInterrupt


def test_an_interrupted_run_is_ended_when_the_context_is_left():
    timing = PassTimingInstrument()
    with pytest.raises(KeyboardInterrupt), PassContext(instruments=[timing]):
        Sequential([Interrupt()], name="s")(program())
    ended = timing.profiles
    assert shape(ended) == [("s", [("Interrupt", [])])]
    assert timing.profiles == ended
    with PassContext(instruments=[timing]):
        Keep()(program())
    assert shape(timing.profiles)[1:] == [("Keep", [])]


class Within(ModulePass):
    """Runs a pass under a context with the same instrument."""

    pass_info = PassInfo(0, "Within")

    def __init__(self, timing: PassTimingInstrument, inner: Pass) -> None:
        self.timing = timing
        self.inner = inner

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        with PassContext(instruments=[self.timing]):
            return self.inner(mod)


def test_a_context_within_a_pass_may_have_the_same_instrument():
    timing = PassTimingInstrument()
    pipeline = Sequential([Within(timing, Add()), Keep()], name="s")
    with PassContext(instruments=[timing]):
        pipeline(program(1))
    assert shape(timing.profiles) == [
        ("s", [("Within", [("Add", [])]), ("Keep", [])]),
    ]
