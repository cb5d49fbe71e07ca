"""TVM's passes and passes in Python, on every core: what TVM itself gives."""

from __future__ import annotations

from typing import Any

import pytest

from parpass import PassContext
from parpass.errors import ArgumentError, WorkerDiedError
from parpass.instrument import PassTimingInstrument
from parpass.runner import Runner

pytestmark = pytest.mark.foreign

LEAVE_ALL = {"parpass.asking_workers_seconds": 0.0}


def lowering() -> list[Any]:
    from tvm import s_tir, tirx

    return [
        s_tir.transform.LowerInitBlock,
        s_tir.transform.ConvertBlocksToOpaque,
        s_tir.transform.LowerOpaqueBlock,
        tirx.transform.FlattenBuffer,
        tirx.transform.UnrollLoop,
        s_tir.transform.HoistIfThenElse,
    ]


def test_passes_give_what_tvms_sequential_gives(runner: Runner):
    import tvm

    from parpass.integrations import tvm as ptvm
    from tests.support.tvm_programs import network

    mod = network()
    config = {"tirx.UnrollLoop": {"auto_max_step": 16, "explicit_unroll": True}}
    with tvm.transform.PassContext(opt_level=2, config=config):
        expected = tvm.transform.Sequential([one() for one in lowering()])(mod)
        serial = ptvm.run_passes(mod, lowering(), workers=0)
        with PassContext(config=LEAVE_ALL):
            parallel = ptvm.run_passes(mod, lowering(), runner=runner)
    assert serial.script() == expected.script()
    assert parallel.script() == expected.script()
    tvm.ir.assert_structural_equal(parallel, expected)


def test_a_pass_in_python_sees_tvms_context_and_the_other_functions(runner: Runner):
    import tvm

    from parpass.integrations import tvm as ptvm
    from tests.support.tvm_programs import add_one

    mod = tvm.IRModule({"a": add_one(2, "a"), "b": add_one(3, "b")})
    with tvm.transform.PassContext(opt_level=1), PassContext(config=LEAVE_ALL):

        @ptvm.prim_func_pass(name="Note")
        def note(func: Any, mod: Any, ctx: Any) -> Any:
            return func.with_attr("noted", f"{[*mod.functions]} {int(ctx.opt_level)}")

        made = ptvm.run_passes(mod, [note], runner=runner)
    assert str(made["b"].attrs["noted"]) == "['a', 'b'] 1"


def test_what_tvm_raises_names_pass_and_function(runner: Runner):
    from parpass.integrations import tvm as ptvm
    from tests.support.tvm_programs import fail_on_dense, program

    ways: list[dict[str, Any]] = [{"workers": 0}, {"runner": runner}]
    for how in ways:
        with (
            PassContext(config=LEAVE_ALL),
            pytest.raises(ValueError, match="unknown dtype `no type`") as caught,
        ):
            ptvm.run_passes(program(4), [fail_on_dense], **how)
        assert "in pass 'FailOnDense', on function 'f1'" in caught.value.__notes__


def test_a_crash_in_native_code_is_one_functions_failure():
    from parpass.integrations import tvm as ptvm
    from tests.support.tvm_programs import die_on_dense, program

    with pytest.raises(WorkerDiedError, match="on function 'f1'"):
        ptvm.run_passes(program(2), [die_on_dense], workers=1, isolated=True)


def test_instruments_of_parpass_see_the_passes():
    from tvm import tirx

    from parpass.integrations import tvm as ptvm
    from tests.support.tvm_programs import program

    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        ptvm.run_passes(program(2), [tirx.transform.UnrollLoop], workers=0)
        assert "tirx.UnrollLoop" in timing.render()


def test_passes_over_modules_and_instruments_of_tvms_are_refused():
    import tvm
    from tvm import tirx

    from parpass.integrations import tvm as ptvm

    with pytest.raises(
        ArgumentError, match=r"'tirx.MakePackedAPI' sees whole modules; call it on"
    ):
        ptvm.TVMPass(tirx.transform.MakePackedAPI)
    timing = tvm.instrument.PassTimingInstrument()
    with (
        tvm.transform.PassContext(instruments=[timing]),
        pytest.raises(ArgumentError, match="without instruments, got 1: they would"),
    ):
        ptvm.TVMPass(tirx.transform.UnrollLoop)


def test_a_pass_in_python_returns_a_prim_func():
    from parpass.integrations import tvm as ptvm
    from tests.support.tvm_programs import program

    @ptvm.prim_func_pass(name="Lost")
    def lost(func: Any, mod: Any, ctx: Any) -> Any:
        return None

    with pytest.raises(ArgumentError, match="a PrimFunc from pass 'Lost', got NoneT"):
        ptvm.run_passes(program(1), [lost], workers=0)
