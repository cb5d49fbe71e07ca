"""The conformance kit passes adapters that keep the law, and tells what breaks it."""

from __future__ import annotations

import marshal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parpass as tvm
from parpass.errors import AdapterError, LawError
from parpass.integrations.xdsl.xdsl_adapter import MLIRFormat
from parpass.relay import parse
from parpass.relay.transform import FoldConstant, InferType
from parpass.runner import Runner
from parpass.testing import (
    check_adapter,
    check_codec,
    check_methods,
    check_parallel,
    check_passes,
)
from parpass.transform import (
    BlobSink,
    FunctionPass,
    Pass,
    PassContext,
    PassInfo,
    Source,
    create_pass,
    register_adapter,
)
from tests.support.registering import registering_for_a_while
from tests.support.toy.box_ir import box_program
from tests.support.toy.careless import UsesProcess
from tests.support.toy.counting_ir import (
    Counted,
    Drop,
    DropAll,
    Look,
    Names,
    New,
    NextOf,
    Shown,
    ShownAdapter,
)
from tests.support.toy.faulty_ir import (
    RAISES,
    Faulty,
    FaultyAdapter,
    Fun,
    Increase,
    Same,
)
from tests.support.toy.ir import RunProgram, checked_program, program
from tests.support.toy.passes import Add, AddFrom, FailOn


def test_arrays_that_are_close_pass() -> None:
    tvm.testing.assert_allclose(tvm.nd.array([1.0, 0.0]), np.array([1.0, 1e-8]))


def test_others_fail_by_value_or_shape() -> None:
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        tvm.testing.assert_allclose([1.0], [1.1])
    with pytest.raises(AssertionError, match=r"expected shape \(1, 1\), got \(1,\)"):
        tvm.testing.assert_allclose([1.0], [[1.0]])


CHANGING = [New(), DropAll(), New(), Look(), Drop(), NextOf("f")]
FUNCTIONS = {"f": Names.of(0), "g": Names.of(0, 1, 2), "h": Names.of()}


@pytest.fixture
def _as_it_was() -> Iterator[None]:
    with registering_for_a_while():
        yield


@pytest.mark.slow
def test_an_adapter_that_keeps_the_law_passes():
    check_adapter(program(1, 2, 3), [Add(1), AddFrom("f1")])


@pytest.mark.parametrize(
    ("mod", "passes"),
    [
        (program(1, 2), [Add(1), AddFrom("f1"), Add(2)]),
        (checked_program(1, 2), [Add(1), AddFrom("f1")]),
        (RunProgram(program(1, 2).functions), [Add(1), AddFrom("f1")]),
        (box_program(1, 2, 3), [Add(1), AddFrom("f1"), Add(2)]),
        (Counted(FUNCTIONS), CHANGING),
        (
            parse("def @f(%x: Tensor[(2), float32]) { add(%x, add(1f, 2f)) }"),
            [InferType(), FoldConstant(), InferType()],
        ),
    ],
)
def test_adapters_that_are_here_keep_it(
    runner: Runner, mod: Any, passes: Sequence[Pass]
):
    check_methods(mod)
    check_codec(mod)
    check_passes(mod, passes)
    check_parallel(mod, passes, runner)


@pytest.mark.slow
def test_so_does_that_of_xdsl(runner: Runner):
    text = "func.func @f(%a: i32) -> i32 {\n  func.return %a : i32\n}\n"
    mod = MLIRFormat().parse(text, "a.mlir")
    passes = [create_pass("cse"), create_pass("canonicalize")]
    check_methods(mod)
    check_codec(mod)
    check_passes(mod, passes)
    check_parallel(mod, passes, runner)


def test_a_codec_that_passes_see_is_found_without_workers():
    mod = Shown(FUNCTIONS)
    check_codec(mod)  # by `==` and by bytes nothing differs
    with pytest.raises(LawError) as failure:
        check_passes(mod, CHANGING)
    error = failure.value
    assert (error.adapter, error.pass_name) == ("ShownAdapter", "New")
    assert error.function == "f"
    assert error.method == "encode_function, decode_function"
    assert error.difference.startswith("Names(numbers=(0, 2), ")
    assert "(without them first)" in str(error)
    assert "set round_trip_between_passes = True on the adapter" in str(error)


def test_and_with_workers(runner: Runner):
    with pytest.raises(LawError, match="expected equal results of the serial and") as e:
        check_parallel(Shown(FUNCTIONS), CHANGING, runner)
    assert e.value.function == "f"


def test_that_a_pass_fails_on_one_of_both_is_found():
    class FailBeforeTwo(FunctionPass):
        pass_info = PassInfo(0, "FailBeforeTwo")

        def transform_function(self, func: Names, mod: Any, ctx: PassContext) -> Names:
            if func.following == 2:
                raise ValueError("two")
            return func

    mod = Shown({"f": Names.of(0)})
    with pytest.raises(LawError, match="ValueError: two and no error"):
        check_passes(mod, [New(), Drop(), FailBeforeTwo()])
    with pytest.raises(ValueError, match="met 2"):
        check_passes(program(2), [FailOn(2)])


def test_a_pass_that_depends_on_its_process_is_told_apart(runner: Runner):
    mod = program(1)
    check_passes(mod, [UsesProcess()])
    with pytest.raises(LawError, match=r"the option parpass\.check_contract, which"):
        check_parallel(mod, [UsesProcess()], runner)


class Lossy(ShownAdapter):
    """Leaves the last name out of the bytes."""

    def encode_function(self, function: Names, blob_sink: BlobSink) -> bytes:
        return marshal.dumps(function.numbers[:-1])

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: Counted
    ) -> Names:
        return Names.of(*marshal.loads(encoded))


class LossyTrips(Lossy):
    """Does so each time."""

    round_trip_between_passes = True


@pytest.mark.usefixtures("_as_it_was")
@pytest.mark.parametrize("kind", [Lossy, LossyTrips])
def test_a_codec_that_loses_something_is_found(kind: type[Lossy]):
    register_adapter(Shown, kind())
    with pytest.raises(LawError, match=r"to restore the function '[fg]' that"):
        check_codec(Shown(FUNCTIONS))
    if kind is LossyTrips:
        with pytest.raises(LawError, match="a second round trip keep all"):
            check_passes(Shown({"g": Names.of(0, 1, 2, 3)}), [New(), New()])


class Bound(FaultyAdapter):
    """Loses what a module has besides functions."""

    def encode_shell(self, mod: Faulty) -> bytes:
        return b""

    def decode_shell(self, encoded: bytes) -> Faulty:
        return Faulty()


@pytest.mark.usefixtures("_as_it_was")
def test_a_shell_that_loses_something_is_found():
    register_adapter(Faulty, Bound())
    with pytest.raises(LawError, match="'decode_shell' to restore the mod") as failure:
        check_codec(Faulty({"f": Fun(1)}, gives="more"))
    assert failure.value.method == "encode_shell, decode_shell"


class Copying(FaultyAdapter):
    def with_functions(self, mod: Faulty, functions: Mapping[str, Fun]) -> Faulty:
        return replace(mod, functions=dict(functions))


class Deaf(FaultyAdapter):
    def with_functions(self, mod: Faulty, functions: Mapping[str, Fun]) -> Faulty:
        return replace(mod)


class Boundless(FaultyAdapter):
    def size(self, function: Fun, limit: int) -> int:
        return 10


class Stating(FaultyAdapter):
    def signature(self, function: Fun) -> Any:
        return object()

    def keeps_signature(self, before: Fun, after: Fun) -> bool:
        return before is after


@pytest.mark.usefixtures("_as_it_was")
@pytest.mark.parametrize(
    ("adapter", "told"),
    [
        (Copying(), "the given mapping, and loads none of its functions from 'with_f"),
        (Deaf(), "a module with the given functions, none from 'with_functions'"),
        (
            Boundless(),
            "at most the limit of 1 for function 'f' from 'size', got int 10",
        ),
        (FaultyAdapter("size", RAISES), "from 'size', got ValueError: broken"),
        (
            FaultyAdapter("keeps_signature", gives=False),
            "True for function 'f' and its",
        ),
        (FaultyAdapter("is_function", gives=False), "True for each function from 'is"),
        (
            FaultyAdapter("functions", {1: Fun(1)}),
            "names of type str from 'functions'",
        ),
        (FaultyAdapter("is_skipped"), "from 'is_skipped', got None; is a 'return' mis"),
        (FaultyAdapter("faults", "none"), "a sequence of str from 'faults', got str"),
        (FaultyAdapter("difference", 5), "a str or None from 'difference', got int 5"),
        (FaultyAdapter("astext"), "a str from 'astext', got None"),
        (FaultyAdapter("programs"), "a ProgramFormat from 'programs', got None"),
        (FaultyAdapter("module_size", 1), "a tuple of int from 'module_size', got"),
        (FaultyAdapter("program_slice", ""), "a ProgramSlice from 'program_slice'"),
        (FaultyAdapter("reduction_patterns", 1), "patterns from 'reduction_patterns'"),
    ],
)
def test_methods_that_give_what_they_must_not_are_found(
    adapter: FaultyAdapter, told: str
):
    register_adapter(Faulty, adapter)
    with pytest.raises(AdapterError) as failure:
        check_methods(Faulty({"f": Fun(1)}))
    assert told in str(failure.value)


class WrongMutability:
    """Gives what is no function to be changed."""

    def fingerprint(self, function: Fun) -> Any:
        return function.value

    def to_change(self, function: Fun) -> Any:
        return function.value


@pytest.mark.usefixtures("_as_it_was")
def test_what_is_given_to_be_changed_is_a_function():
    adapter = FaultyAdapter()
    adapter.mutability = WrongMutability()
    register_adapter(Faulty, adapter)
    with pytest.raises(AdapterError, match=r"'mutability\.to_change', got int 1"):
        check_methods(Faulty({"f": Fun(1)}))


@pytest.mark.usefixtures("_as_it_was")
def test_a_signature_that_the_codec_changes_is_found():
    register_adapter(Faulty, Stating())
    with pytest.raises(AdapterError, match="for function 'f' after 'decode_function'"):
        check_codec(Faulty({"f": Fun(1)}))


@pytest.mark.usefixtures("_as_it_was")
@pytest.mark.parametrize("check", [check_methods, check_codec])
def test_an_adapter_without_faults_has_none(check: Callable[[Any], None]):
    register_adapter(Faulty, FaultyAdapter())
    check(Faulty({"f": Fun(1)}))
    check_passes(Faulty({"f": Fun(1)}), [Increase(), Same()])


@pytest.mark.slow
def test_the_kit_loads_no_numpy():
    program = "import sys, parpass.testing; print('numpy' in sys.modules)"
    command = [sys.executable, "-c", program]
    folder = Path(__file__).parents[1]
    assert subprocess.check_output(command, text=True, cwd=folder) == "False\n"
