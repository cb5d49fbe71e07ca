from collections import Counter

import pytest

from parpass.instrument import PassStatisticsInstrument
from parpass.transform import PassContext, Sequential
from tests.support.toy_ir import program
from tests.support.toy_passes import Add, Duplicate, FailWhole, Keep


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
