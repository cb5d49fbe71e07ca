"""Profiles: what is measured of runs, and the file that keeps it."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from parpass.errors import ArgumentError
from parpass.report.profile import Profile, RunProfile, decoded_profile
from parpass.runner import Runner, open_runner
from parpass.transform import PassContext, Sequential
from parpass.transform.capture.pass_memory import PassMemory
from tests.support.runner.pooled import pooled
from tests.support.toy.ir import program
from tests.support.toy.passes import Add, AddFrom, Duplicate
from tests.support.toy.taking import (
    MEGABYTE,
    SLACK,
    IsTracing,
    Take,
    TakeLater,
    TakeTwice,
)

PASSES = Sequential([Add(1), Duplicate(), Add(2)])
COUNT = 12


def profile(*runs: RunProfile) -> Profile:
    return Profile(parpass="1.0", pipeline="A,B", jobs=2, runs=list(runs))


def test_numbers_of_a_pool_are_those_of_a_run_without_workers(runner: Runner):
    serial, context = PassContext(), pooled()
    mod = program(*range(COUNT))
    with open_runner(workers=0) as here, here.profile(serial) as alone:
        made = here.run_sync(mod, PASSES, context=serial)
    with runner.profile(context) as measured:
        assert runner.run_sync(mod, PASSES, context=context) == made
    for one in (alone, measured):
        assert one.passes.keys() == {"Add", "Duplicate"}
        assert one.functions.keys() == set(made.functions)
        assert one.seconds > 0
        assert one.statistics == {
            "Add": {"added": COUNT + 2 * COUNT},
            "Duplicate": {"added": COUNT},
        }
        added = one.function_statistics["Add"]
        assert added["f0"] == {"added": 2}
        assert added["f0_copy"] == {"added": 1}
        assert "Duplicate" not in one.function_statistics  # a module pass
    assert measured.function_statistics == alone.function_statistics


def test_functions_are_counted_apart_as_by_a_pass_that_is_called():
    with PassContext() as context:
        context.keep_function_statistics()
        PASSES(program(1, 2))
    assert context.function_statistics == {
        "Add": {
            "f0": Counter(added=2),
            "f1": Counter(added=2),
            "f0_copy": Counter(added=1),
            "f1_copy": Counter(added=1),
        }
    }


def test_a_context_keeps_functions_apart_only_if_it_is_asked_to(runner: Runner):
    context = pooled()
    runner.run_sync(program(*range(COUNT)), PASSES, context=context)
    assert context.statistics["Add"]["added"] == 3 * COUNT
    assert context.function_statistics is None


def test_a_profile_has_what_was_counted_in_its_block_alone(runner: Runner):
    context, mod = pooled(), program(1, 2)
    runner.run_sync(mod, Add(1), context=context)
    with runner.profile(context) as one:
        runner.run_sync(mod, Add(1), context=context)
    runner.run_sync(mod, Add(1), context=context)
    assert one.statistics == {"Add": {"added": 2}}
    assert one.function_statistics["Add"] == {"f0": {"added": 1}, "f1": {"added": 1}}


def test_runs_on_several_programs_add_up():
    one = RunProfile(
        1.0, {"A": 0.5}, {"f": 0.5}, {"A": {"n": 1}}, {"A": {"f": {"n": 1}}}
    )
    both = RunProfile()
    both.add(one)
    both.add(msgspec.structs.replace(one, failure="wrong"))
    assert both == RunProfile(
        2.0, {"A": 1.0}, {"f": 1.0}, {"A": {"n": 2}}, {"A": {"f": {"n": 2}}}, "wrong"
    )


def test_a_file_is_read_as_it_was_written():
    written = profile(RunProfile(1.0, {"A": 0.5}, {"f": 0.5}, {"A": {"n": 1}}))
    assert decoded_profile(written.encoded(), "a.json") == written


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"def @main",
            r"'a\.json' is not a profile written by 'parpass opt --profile'",
        ),
        (b"\xff\xfe", r"'a\.json' is not a profile"),
        (b'{"traceEvents": []}', r"'a\.json' is not a profile"),
        (
            profile().encoded().replace(b'"version": 2', b'"version": 3'),
            r"expected a profile of version 1 to 2, got version 3 in 'a\.json'",
        ),
        (
            profile().encoded().replace(b'"runs": []', b'"runs": 3'),
            r"'a\.json' is damaged: .*\$\.runs",
        ),
    ],
)
def test_another_file_is_refused(content: bytes, message: str):
    with pytest.raises(ArgumentError, match=message):
        decoded_profile(content, "a.json")


TAKING = Sequential([Take(), AddFrom("f0"), TakeTwice()])
SIZES = (6, 1, 2, 1, 1, 1, 1, 1)


def test_memory_is_that_of_a_run_without_workers(runner: Runner):
    serial, context = PassContext(), pooled()
    mod = program(*SIZES)
    with open_runner(workers=0) as here, here.profile(serial, memory=True) as alone:
        made = here.run_sync(mod, TAKING, context=serial)
    with runner.profile(context, memory=True) as measured:
        assert runner.run_sync(mod, TAKING, context=context) == made
    for one in (alone, measured):
        assert one.memory is not None
        assert one.memory.functions.keys() == {"Take", "AddFrom"}
        for at, size in enumerate(SIZES):
            name = f"f{at}"
            taken = one.memory.functions["Take"][name]
            assert abs(taken - size * MEGABYTE) < SLACK  # others free some, too
            # A worker makes f0 for it first, which is no part of it.
            assert one.memory.functions["AddFrom"][name] < SLACK
        assert one.memory.passes["Take"] == max(one.memory.functions["Take"].values())
        assert abs(one.memory.passes["TakeTwice"] - 8 * MEGABYTE) < SLACK


def test_memory_is_measured_where_it_is_asked_for_and_workers_stop_it(runner: Runner):
    context, mod = pooled(), program(1, 2, 3)

    def tracing() -> set[int]:
        made = runner.run_sync(mod, IsTracing(), context=context)
        return {function.values[-1] for function in made.functions.values()}

    with runner.profile(context) as plain:
        assert tracing() == {False}
    assert plain.memory is None
    with runner.profile(context, memory=True):
        assert tracing() == {True}
    assert tracing() == {False}


def test_of_runs_on_several_programs_the_larger_memory_counts():
    one, both = RunProfile(memory=PassMemory({"A": 3}, {"A": {"f": 3}})), RunProfile()
    both.add(one)
    both.add(RunProfile(memory=PassMemory({"A": 2, "B": 1}, {"A": {"g": 2}})))
    both.add(RunProfile())
    assert both.memory == PassMemory({"A": 3, "B": 1}, {"A": {"f": 3, "g": 2}})
    assert one.memory == PassMemory({"A": 3}, {"A": {"f": 3}})


def test_a_file_of_the_first_version_has_no_memory():
    runs = b'[{"seconds": 1.0, "passes": {"A": 0.5}}]'
    content = profile().encoded().replace(b'"version": 2', b'"version": 1')
    found = decoded_profile(content.replace(b'"runs": []', b'"runs": ' + runs), "a")
    assert found.runs == [RunProfile(1.0, {"A": 0.5})]


def test_the_memory_of_an_async_pass_is_that_until_its_end():
    context = PassContext()
    with open_runner(workers=0) as here, here.profile(context, memory=True) as one:
        here.run_sync(program(1), TakeLater(), context=context)
    assert one.memory is not None
    assert abs(one.memory.passes["TakeLater"] - 3 * MEGABYTE) < SLACK
