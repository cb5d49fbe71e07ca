"""What differs between two profiles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.errors import ArgumentError
from parpass.report.comparison import ChangeKind, compare_profiles
from parpass.report.profile import Profile, RunProfile
from parpass.transform.capture.pass_memory import PassMemory

NAMES = ("a.json", "b.json")
times = st.lists(st.floats(0, 1e3), min_size=1, max_size=9)


def profile(*seconds: float, name: str = "A", **more: object) -> Profile:
    """Return a profile of runs in which one pass took all the time."""
    runs = [RunProfile(one, {name: one}, {"f": one}) for one in seconds]
    settings = {"parpass": "1.0", "pipeline": "A", "jobs": 2, "runs": runs} | more
    return Profile(**settings)  # pyright: ignore[reportArgumentType] -- any of them


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ([1.0, 1.1, 1.2, 1.0, 1.1], [1.15, 1.1, 1.2, 1.1, 1.3], ChangeKind.NOISE),
        ([1.0, 1.1, 1.2, 1.0, 1.1], [1.6, 1.5, 1.4, 1.5, 1.5], ChangeKind.SLOWER),
        ([1.0, 1.1, 1.2, 1.0, 1.1], [0.6, 0.5, 0.4, 0.5, 0.5], ChangeKind.FASTER),
        ([9.0, 1.0, 1.0, 1.1, 1.0], [9.5, 1.0, 1.0, 1.0, 1.1], ChangeKind.SAME),
        ([1.0, 1.0], [1.1, 1.1, 1.1], ChangeKind.SLOWER),  # of two, none is known
    ],
)
def test_a_change_counts_if_it_is_more_than_the_noise(
    before: list[float], after: list[float], verdict: ChangeKind
):
    found = compare_profiles(profile(*before), profile(*after), NAMES)
    assert [one.verdict for one in (found.run, *found.passes)] == [verdict] * 2
    assert found.is_noise_known == (len(before) > 2)


@given(times, times)
def test_the_other_way_round_all_is_reversed(before: list[float], after: list[float]):
    there = compare_profiles(profile(*before), profile(*after), NAMES).run
    back = compare_profiles(profile(*after), profile(*before), NAMES).run
    assert (there.difference, there.noise) == (-back.difference, back.noise)
    swapped = {
        ChangeKind.SLOWER: ChangeKind.FASTER,
        ChangeKind.FASTER: ChangeKind.SLOWER,
    }
    assert there.verdict == swapped.get(back.verdict, back.verdict)


@given(times)
def test_a_profile_does_not_differ_from_itself(seconds: list[float]):
    one = profile(*seconds)
    found = compare_profiles(one, one, NAMES)
    changes = [found.run, *found.passes, *found.functions]
    assert {change.verdict for change in changes} == {ChangeKind.SAME}
    assert not found.counters
    assert not found.notes
    assert not found.slower_than(0)


def test_the_largest_changes_come_first_slower_or_faster():
    old = RunProfile(3.0, {"A": 1.0, "B": 1.0, "C": 1.0})
    new = RunProfile(3.0, {"A": 1.1, "B": 0.1, "D": 0.5})
    found = compare_profiles(profile(runs=[old]), profile(runs=[new]), NAMES)
    assert [(one.name, one.verdict) for one in found.passes] == [
        ("C", ChangeKind.ONLY_BEFORE),
        ("B", ChangeKind.FASTER),
        ("D", ChangeKind.ONLY_AFTER),
        ("A", ChangeKind.SLOWER),
    ]
    assert [one.percent for one in found.passes][1:3] == [pytest.approx(-90), None]


def test_counters_that_differ_are_by_pass_and_function():
    counted = {"A": {"f": {"n": 1}, "g": {"n": 2}}}
    old = RunProfile(1.0, {}, {}, {"A": {"n": 3}, "B": {"m": 1}}, counted)
    more = {"A": {"f": {"n": 1}, "g": {"n": 4}}}
    new = RunProfile(1.0, {}, {}, {"A": {"n": 5}}, more)
    found = compare_profiles(profile(runs=[old]), profile(runs=[new]), NAMES).counters
    assert [(c.pass_name, c.function, c.counter, c.before, c.after) for c in found] == [
        ("A", None, "n", 3, 5),
        ("A", "g", "n", 2, 4),
        ("B", None, "m", 1, 0),
    ]


def test_runs_that_failed_are_left_out_and_that_is_said():
    failed = RunProfile(9.0, {"A": 9.0}, failure="ValueError: no")
    fine = RunProfile(1.0, {"A": 1.0})
    found = compare_profiles(
        profile(runs=[failed, fine]), profile(1.0, jobs=None), NAMES
    )
    assert (found.run.before, found.runs_before) == (1.0, 1)
    assert found.notes == [
        "of 'a.json', 1 run that failed is left out",
        "the numbers of jobs differ: 2, then one per core",
    ]
    with pytest.raises(ArgumentError, match=r"'b\.json' succeeded: ValueError: no"):
        compare_profiles(profile(1.0), profile(runs=[failed]), NAMES)


def test_what_became_too_slow_is_the_run_or_a_pass():
    found = compare_profiles(profile(1.0), profile(1.2), NAMES)
    assert [one.name for one in found.slower_than(10)] == ["run", "A"]
    assert not found.slower_than(30)


def test_memory_is_compared_where_both_have_it_and_never_slow():
    def taking(*sizes: int) -> Profile:
        memories = [PassMemory({"A": size, "B": 1000}) for size in sizes]
        return profile(runs=[RunProfile(1.0, memory=one) for one in memories])

    found = compare_profiles(taking(1000, 1000, 1100), taking(2000, 2100, 2000), NAMES)
    assert [(one.name, one.verdict) for one in found.memory] == [
        ("A", ChangeKind.MORE),
        ("B", ChangeKind.SAME),
    ]
    assert (found.memory[0].before, found.memory[0].difference) == (1000, 1000)
    assert not found.slower_than(0)
    back = compare_profiles(taking(2000), taking(1000), NAMES)
    assert (back.memory[0].verdict, back.memory[0].noise) == (ChangeKind.LESS, None)

    found = compare_profiles(profile(1.0), taking(1000), NAMES)
    assert not found.memory
    (note,) = found.notes
    assert note == "memory was measured for 'b.json' alone, which makes passes slower"
