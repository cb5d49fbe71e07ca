"""Targets: what their text says, what they have, where they are current."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from parpass import IRModule, relay, tir
from parpass.errors import TargetError
from parpass.runner import Runner
from parpass.runtime.cpu_features import FEATURES, architecture, host_features
from parpass.target import Target, create, list_kinds
from parpass.transform import function_pass
from tests.support.runner.pooled import run_pooled

X86 = "-mtriple=x86_64-unknown-linux-gnu"


def test_llvm_alone_is_this_machine_with_all_that_it_has():
    here = Target("llvm")
    assert here.is_host
    assert here.architecture == architecture()
    assert set(here.features()) >= host_features()
    assert set(here.features()) <= FEATURES.get(architecture(), {}).keys()


def test_a_processor_stands_for_its_features():
    found = Target(f"llvm -mcpu=haswell {X86}").features()
    assert {"avx2", "fma"} <= {*found}
    assert not any(one.startswith("avx512") for one in found)
    assert Target(f"llvm {X86}").features() == ()


def test_features_bring_what_they_need_and_take_what_needs_them():
    assert {"avx", "sse4.2"} <= {*Target(f"llvm {X86} -mattr=+fma").features()}
    found = Target(f"llvm {X86} -mcpu=skylake-avx512 -mattr=-avx512f").features()
    assert "avx2" in found
    assert not any(one.startswith("avx512") for one in found)


def test_all_that_is_said_can_be_said_again():
    made = Target(f"llvm {X86} -mcpu=haswell -mattr=+avx512f -keys=cpu -model=mine")
    for other in (str(made), made.export(), json.dumps(made.export()), made):
        assert Target(other) == made
    assert pickle.loads(pickle.dumps(made)) == made
    assert hash(Target(str(made))) == hash(made)
    assert (made.mcpu, made.mattr, made.model) == ("haswell", ["+avx512f"], "mine")
    assert made.kind.name in list_kinds()
    assert create("llvm").keys == ("cpu",)
    assert made.resolved().features() == made.features()


def test_a_host_is_named_in_the_text_of_a_mapping_or_beside_it():
    assert Target("llvm", host="llvm -model=mine").host == Target("llvm -model=mine")
    assert Target({"kind": "llvm", "host": "llvm"}).host == Target("llvm")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("cuda", "expected a target of kind 'llvm', got 'cuda'"),
        ("", "expected a target of kind 'llvm', got ''"),
        ("llvm -mcpu=skylak " + X86, "did you mean 'skylake'"),
        ("llvm -mattr=avx2 " + X86, "each after a sign"),
        ("llvm -mattr=+avx22 " + X86, "did you mean 'avx2'"),
        ("llvm -fast-math=1", "no option 'fast-math'"),
        ("llvm mcpu=x", "expected options such as -mcpu=NAME, got 'mcpu=x'"),
        ("llvm -mcpu", "got '-mcpu'"),
        ("llvm 'x", "cannot be read"),
        ("{", "the JSON of a target cannot be read"),
        ({"kind": "llvm", "tag": "nvidia/k80"}, "no target has the tag"),
        (7, "expected a target's text or a mapping, got int"),
    ],
)
def test_what_no_target_is_is_refused(said: Any, told: str):
    with pytest.raises(TargetError, match=told):
        Target(said)


def test_the_innermost_target_is_the_current_one():
    outer, inner = Target("llvm"), Target("llvm -model=inner")
    assert Target.current() is None
    with outer:
        with inner:
            assert Target.current() is inner
        assert Target.current() is outer
        with pytest.raises(TargetError, match="reverse order"):
            inner.__exit__(None, None, None)
    with pytest.raises(TargetError, match="expected a current target"):
        Target.current(allow_none=False)


@function_pass(opt_level=0)
def as_told(func: Any, mod: Any, ctx: Any) -> Any:
    return func.with_attr("target", str(Target.current()))


@pytest.mark.slow
def test_the_current_target_is_current_in_the_workers(runner: Runner):
    x = relay.var("x", shape=(2,))
    mod = IRModule({name: relay.Function([x], x) for name in ("f", "g")})
    with Target("llvm -model=there") as target:
        found = run_pooled(runner, as_told, mod)
    assert {f.attrs["target"] for f in found.functions.values()} == {str(target)}


def test_a_function_holds_a_target_by_its_text():
    func = tir.PrimFunc([], tir.Evaluate(0)).with_attr("target", Target("llvm"))
    assert func.attributes["target"] == "llvm -keys=cpu"
    assert str(Target(func.attributes["target"])) == str(Target("llvm"))
