"""Mistakes of adapters: told with adapter and method, alike in every kind of run."""

from __future__ import annotations

import re
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import trio

from parpass.errors import (
    AdapterError,
    AdapterWarning,
    ArgumentError,
    PassInputError,
    RuntimeUseError,
    SlowerRunWarning,
)
from parpass.runner import Runner
from parpass.testing import check_adapter
from parpass.transform import (
    FunctionPass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    adapter_of,
    register_adapter,
)
from tests.support.registering import registering_for_a_while
from tests.support.runner.pooled import HERE, POOLED, run_pooled
from tests.support.toy.faulty_ir import (
    RAISES,
    Faulty,
    FaultyAdapter,
    Fun,
    Increase,
    Keep,
    PickyAdapter,
    RunOther,
    Same,
    StrangeAdapter,
    StrangeTrippingAdapter,
    TrippingAdapter,
    Wrong,
)

PIPELINE = Sequential([Increase(), Same(), Increase(), Increase()])
MOD = Faulty({"f": Fun(1), "g": Fun(2), "h": Fun(3)})

# What the methods may give that a run checks, as messages say it.
A_MODULE = "a module that 'is_module' accepts"
A_FUNCTION = "a function that 'is_function' accepts"
EXPECTED = {
    "functions": "a mapping of functions by name",
    "with_functions": A_MODULE,
    "replace_functions": A_MODULE,
    "read_only": A_MODULE,
    "is_module": "True or False",
    "is_function": "True or False",
    "kind_of": "a str or None",
    "is_skipped": "True or False",
}
# What a run takes as it is, and the kit looks at.
TAKEN = {"restoring_pass": "a pass or None"}
# Those of the codec, which a serial run asks only where there are round trips.
CODEC = {
    "encode_function": "bytes",
    "decode_function": A_FUNCTION,
    "encode_shell": "bytes",
    "decode_shell": A_MODULE,
}
ISOLATED = PassContext(config={"parpass.isolated": True})
SPARED = ("size", "signature", "keeps_signature", "discard")


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    with registering_for_a_while():
        yield


def outcome(run: Callable[[], Any]) -> Any:
    """Return what came of a run: functions, or an error's class, text and notes."""
    try:
        return run().functions
    except Exception as error:  # noqa: BLE001 -- it is compared
        return type(error), str(error), getattr(error, "__notes__", [])


Told = list[warnings.WarningMessage]


def all_outcomes(runner: Runner) -> tuple[list[Any], list[Told]]:
    """Return what comes of the serial run and of others, and what each warned of."""
    here, pooled = PassContext(config=HERE), PassContext(config=POOLED)
    outcomes: list[Any] = []
    told: list[Told] = []
    for run in (
        lambda: PIPELINE(MOD),
        lambda: runner.run_sync(MOD, PIPELINE, context=here),
        lambda: runner.run_sync(MOD, PIPELINE, context=pooled),
    ):
        with warnings.catch_warnings(record=True) as own:
            warnings.simplefilter("always")
            outcomes.append(outcome(run))
        told.append(own)
    return outcomes, told


METHODS = [*EXPECTED, *TAKEN, *CODEC, *SPARED, "worker_environment"]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_kind_of_run_says_the_same_of_a_method_that_raises(
    runner: Runner, method: str
):
    register_adapter(Faulty, FaultyAdapter(method, RAISES))
    (serial, *others), _ = all_outcomes(runner)
    assert [serial, serial] == others
    if method in EXPECTED or method in TAKEN:
        kind, text, notes = serial
        assert (kind, text) == (ValueError, "broken")
        assert notes[0] == f"in adapter 'FaultyAdapter', method '{method}'"
    else:
        assert {one.value for one in serial.values()} == {4, 5, 6}


@pytest.mark.stress
@pytest.mark.parametrize("gives", [None, -1, "text", False])
@pytest.mark.parametrize("made_by", [FaultyAdapter, TrippingAdapter])
@pytest.mark.parametrize("method", METHODS)
def test_so_it_does_of_one_that_gives_anything_else(
    runner: Runner, method: str, made_by: type[FaultyAdapter], gives: Any
):
    register_adapter(Faulty, made_by(method, gives))
    (serial, *others), _ = all_outcomes(runner)
    assert [serial, serial] == others


@pytest.mark.parametrize("method", EXPECTED)
def test_it_names_adapter_and_method_and_what_was_expected_and_came(method: str):
    register_adapter(Faulty, FaultyAdapter(method, -1))
    with pytest.raises(AdapterError) as failure:
        PIPELINE(MOD)
    error = failure.value
    told = f"adapter 'FaultyAdapter': expected {EXPECTED[method]} from '{method}', got"
    assert str(error).startswith(f"{told} int -1")
    assert (error.adapter, error.method) == ("FaultyAdapter", method)
    assert (error.expected, error.got) == (EXPECTED[method], "int -1")


def test_a_list_of_kinds_is_no_kind():
    register_adapter(Faulty, FaultyAdapter("kind_of", ["a", "b"]))
    with pytest.raises(AdapterError, match="a str or None from 'kind_of', got "):
        PIPELINE(MOD)


@pytest.mark.parametrize("method", TAKEN)
def test_the_kit_says_it_of_what_a_run_takes_as_it_is(method: str):
    register_adapter(Faulty, FaultyAdapter(method, -1))
    with pytest.raises(AdapterError) as failure:
        check_adapter(MOD, PIPELINE)
    told = f"adapter 'FaultyAdapter': expected {TAKEN[method]} from '{method}', got"
    assert str(failure.value).startswith(f"{told} int -1")


@pytest.mark.parametrize("method", ["encode_function", "decode_function"])
def test_with_round_trips_so_it_is_of_the_codec(method: str):
    register_adapter(Faulty, TrippingAdapter(method, "text"))
    with pytest.raises(AdapterError) as failure:
        PIPELINE(MOD)
    assert f"{CODEC[method]} from '{method}', got str 'text'" in str(failure.value)


@pytest.mark.parametrize("method", CODEC)
def test_without_them_the_serial_run_has_no_use_for_it_and_others_warn(
    runner: Runner, method: str
):
    register_adapter(Faulty, FaultyAdapter(method, "text"))
    outcomes, told = all_outcomes(runner)
    assert all(type(one) is dict for one in outcomes)
    *others, (one,) = told
    assert not any(others)
    assert one.category is SlowerRunWarning
    expected = f"adapter 'FaultyAdapter': expected {CODEC[method]} from '{method}'"
    assert f"{expected}, got str 'text'" in str(one.message)


@pytest.mark.parametrize("method", SPARED)
def test_what_no_result_depends_on_is_warned_of_once_in_a_run(
    runner: Runner, method: str
):
    register_adapter(Faulty, FaultyAdapter(method, RAISES))
    outcomes, told = all_outcomes(runner)
    assert all(type(one) is dict for one in outcomes)
    serial, here, (pooled,) = told
    assert serial == []  # which asks for none of them
    assert len(here) <= 1  # nor does one here, whose cost is known
    for one in (*here, pooled):
        assert one.category is AdapterWarning
        assert f"from '{method}', got ValueError: broken" in str(one.message)


def test_a_run_warns_of_its_own_and_not_of_what_another_one_came_to(runner: Runner):
    register_adapter(Faulty, PickyAdapter())
    context, small = PassContext(config=POOLED), Faulty({"f": Fun(1), "g": Fun(1)})
    other = RunOther(lambda: runner.run_sync(small, Increase(), context=context))
    pipeline = Sequential([Increase(), other, Increase()])
    large = Faulty({"f": Fun(10), "g": Fun(10)})
    with pytest.warns(AdapterWarning, match="from 'size', got ValueError: broken"):
        runner.run_sync(large, pipeline, context=context)
    assert other.told == []


@pytest.mark.parametrize("gives", [1, "text", None])
def test_no_pass_is_skipped_in_silence_for_a_value_that_is_no_bool(gives: Any):
    register_adapter(Faulty, FaultyAdapter("is_skipped", gives))
    with pytest.raises(AdapterError, match="expected True or False from 'is_skipped'"):
        PIPELINE(MOD)


def test_what_a_method_raises_is_raised_with_a_note_of_it():
    register_adapter(Faulty, FaultyAdapter("is_skipped", RAISES))
    with pytest.raises(ValueError, match="broken") as failure:
        PIPELINE(MOD)
    assert failure.value.__notes__ == [
        "in adapter 'FaultyAdapter', method 'is_skipped'",
        "in pass 'Increase', on function 'f'",
    ]


STRANGE = (
    "a function that 'is_function' accepts( for 'bad')? from "
    "'functions', got str 'text'"
)


@pytest.mark.parametrize("made_by", [StrangeAdapter, StrangeTrippingAdapter])
@pytest.mark.parametrize("passes", [[Increase()], [Same(), Increase()], [Wrong()]])
def test_a_value_of_functions_that_is_none_is_the_adapters_mistake_and_no_passs(
    runner: Runner, made_by: type[FaultyAdapter], passes: list[Pass]
):
    register_adapter(Faulty, made_by())
    pipeline = Sequential(passes)
    for run in (
        lambda: pipeline(MOD),
        lambda: runner.run_sync(MOD, pipeline),
        lambda: runner.run_sync(MOD, pipeline, context=PassContext(config=POOLED)),
    ):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with pytest.raises(AdapterError) as failure:
                run()
        error = failure.value
        told_of_it = f"adapter '{made_by.__name__}': expected {STRANGE}"
        assert re.search(told_of_it, str(error))
        assert any("'bad'" in one for one in (str(error), *error.__notes__))
        assert (error.method, error.got) == ("functions", "str 'text'")
        assert all("from 'functions'" in str(one.message) for one in told)
    # It cannot be sent to workers; a round trip fails before.
    with pytest.raises((RuntimeUseError, AdapterError), match=STRANGE):
        runner.run_sync(MOD, pipeline, context=ISOLATED)


def test_a_pass_that_does_not_mind_gets_it_in_every_kind_of_run(runner: Runner):
    register_adapter(Faulty, StrangeAdapter())
    expected = Keep()(MOD)
    assert expected.functions["bad"] == "text"
    with pytest.warns(AdapterWarning, match=STRANGE):  # its size is asked for
        assert (
            runner.run_sync(MOD, Keep(), context=PassContext(config=HERE)) == expected
        )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert run_pooled(runner, Keep(), MOD) == expected
    assert {one.category for one in told} == {SlowerRunWarning, AdapterWarning}
    assert all(re.search(STRANGE, str(one.message)) for one in told)
    assert "sent function 'bad': " in str(told[0].message)


def test_an_adapter_that_knows_no_function_is_to_blame_and_not_the_pass():
    register_adapter(Faulty, FaultyAdapter("is_function", gives=False))
    told = "a function that 'is_function' accepts for 'f' from 'functions', got F"
    with pytest.raises(AdapterError, match=told):
        PIPELINE(MOD)
    register_adapter(Faulty, FaultyAdapter("is_module", gives=False))
    with pytest.raises(AdapterError, match="True for the Faulty that it is registered"):
        PIPELINE(MOD)


def test_defaults_that_call_another_method_name_that_one():
    register_adapter(Faulty, FaultyAdapter("with_functions", -1))
    with pytest.raises(AdapterError, match="from 'with_functions', got int -1"):
        Increase()(MOD)


def test_attributes_are_looked_at_when_an_adapter_is_registered():
    adapter: Any = FaultyAdapter()
    adapter.consumes_functions = "yes"
    with pytest.raises(
        AdapterError, match="expected True or False from 'consumes_functions'"
    ):
        register_adapter(Faulty, adapter)
    adapter.consumes_functions = False
    adapter.mutability = 5
    with pytest.raises(AdapterError, match="None, or an object with 'fingerprint' and"):
        register_adapter(Faulty, adapter)
    wrong: Any = FaultyAdapter
    with pytest.raises(
        ArgumentError,
        match=r"got class FaultyAdapter; create one: FaultyAdapter\(\)",
    ):
        register_adapter(Faulty, wrong)
    kind: Any = MOD
    with pytest.raises(ArgumentError, match="expected a class of modules, got Faulty"):
        register_adapter(kind, FaultyAdapter())


def test_a_module_of_the_wrong_kind_is_blamed_on_what_its_user_wrote(runner: Runner):
    told = r"the pipeline \[Increase, Same, Increase\] expected .*Faulty.*, got str"
    passes = [Increase(), Same(), Increase()]
    with pytest.raises(PassInputError, match=told):
        runner.run_sync("text", passes)
    with pytest.raises(PassInputError, match=told):
        Sequential(passes)("text")
    with pytest.raises(PassInputError, match=r"pass 'mine' expected .*Faulty"):
        Sequential(passes, name="mine")("text")
    with pytest.raises(PassInputError, match=r"got Fun; .*see register_adapter"):
        Same()(Fun(1))


class NoInfo(FunctionPass):
    """Has no `pass_info`."""


def test_a_pass_without_its_info_is_told_what_it_lacks(runner: Runner):
    told = (
        r"expected a PassInfo for attribute 'pass_info' of pass class 'NoInfo', got N"
    )
    for run in (
        lambda: NoInfo()(MOD),
        lambda: Sequential([NoInfo()])(MOD),
        lambda: runner.run_sync(MOD, [NoInfo()]),
    ):
        with pytest.raises(ArgumentError, match=told):
            run()
    wrong: Any = NoInfo()
    wrong.pass_info = "NoInfo"
    with pytest.raises(ArgumentError, match="got 'NoInfo'; write pass_info = PassInfo"):
        wrong(MOD)
    wrong.pass_info = PassInfo(0, "Now")
    assert wrong.info.name == "Now"


def test_what_an_adapter_has_besides_is_had_through_the_checks():
    class More(FaultyAdapter):
        more = 5

    register_adapter(Faulty, More())
    seen: Any = adapter_of(MOD, "test")
    assert seen.more == 5
    assert not hasattr(seen, "less")


def test_what_adapter_of_gives_can_be_registered():
    register_adapter(Faulty, adapter_of(MOD, "test"))
    assert all_values(Increase()(MOD)) == {2, 3, 4}


def all_values(mod: Faulty) -> set[int]:
    return {one.value for one in mod.functions.values()}


@pytest.mark.parametrize("method", ["astext", "module_size", "reduction_patterns"])
def test_an_adapter_that_is_the_program_format_is_named_by_its_notes(method: str):
    register_adapter(Faulty, FaultyAdapter(method, RAISES))
    programs: Any = adapter_of(MOD, "test").programs(MOD)
    with pytest.raises(ValueError, match="broken") as failure:
        getattr(programs, method)(MOD)
    note = f"in adapter 'FaultyAdapter', method '{method}'"
    assert failure.value.__notes__ == [note]


class ConnectedAdapter(FaultyAdapter):
    """Counts functions, and encodes them, by a connection that is of one thread."""

    connection: sqlite3.Connection

    def functions(self, mod: Faulty) -> Any:
        self.connection.execute("SELECT 1")
        return mod.functions

    def encode_function(self, function: Fun, blob_sink: Any) -> bytes:
        self.connection.execute("SELECT 1")
        return super().encode_function(function, blob_sink)


def test_an_adapter_with_what_is_of_one_thread_is_named_where_another_calls_it(
    runner: Runner,
):
    adapter = ConnectedAdapter()
    register_adapter(Faulty, adapter)
    note = "adapter 'ConnectedAdapter', method '{}'"
    adapter.connection = sqlite3.connect(":memory:")
    try:
        with pytest.warns(SlowerRunWarning, match=note.format("encode_function")):
            made = runner.run_sync(MOD, PIPELINE, context=PassContext(config=POOLED))
        assert made == PIPELINE(MOD)
        with pytest.raises(sqlite3.ProgrammingError, match="thread") as failure:
            trio.run(runner.run, MOD, PIPELINE)
    finally:
        adapter.connection.close()
    assert f"in {note.format('functions')}" in failure.value.__notes__
