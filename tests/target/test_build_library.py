"""Modules of PrimFuncs, compiled: here and by workers, to the same bytes."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import parpass as tvm
from parpass import IRModule, tir
from parpass.errors import (
    CodeGenError,
    ForeignLibraryError,
    TargetError,
    UnknownFunctionError,
)
from parpass.runner import FunctionCache, Runner
from parpass.runtime import Module
from parpass.target.build_library import build, linked, lowering
from parpass.target.compiled_func import CompiledFunc
from parpass.transform import PassContext
from tests.support.profiles import examples
from tests.support.runner.pooled import POOLED
from tests.support.tir.programs import modules
from tests.target.kernels import codes, objects, scaled, several

ROOT = Path(__file__).parents[2]


def test_a_function_is_built_and_called():
    made = tvm.build(scaled(2.0), target="llvm", workers=0)
    assert isinstance(made, Module)
    assert made.type_key == "llvm"
    a, b = np.linspace(-2, 2, 9, dtype="float32"), tvm.nd.array(np.zeros(9, "float32"))
    for function in (made, made["main"], made.get_function("main"), made.entry_func):
        assert function(a, b) is None
        np.testing.assert_allclose(b.numpy(), np.exp(a) * 2, rtol=1e-6)
    with pytest.raises(UnknownFunctionError, match="mian"):
        made["mian"]


def test_a_module_is_built_whole_and_has_no_entry_unless_it_says_so():
    made = build(several(), workers=0)
    assert list(made.manifest.functions) == [f"f{at}" for at in range(5)]
    with pytest.raises(UnknownFunctionError):
        made.entry_func  # noqa: B018 -- it is looked up
    chosen = several()
    chosen["f3"] = scaled(3.0, "f3").with_attr("tir.is_entry_func", True)
    one, two = np.ones(1, "float32"), np.zeros(1, "float32")
    build(chosen, workers=0)(one, two)
    np.testing.assert_allclose(two, np.exp(one) * 3, rtol=1e-6)


@pytest.mark.slow
def test_workers_make_the_same_bytes(runner: Runner):
    mod = several()
    serial = lowering("llvm")(mod)
    context = PassContext(config=POOLED)
    parallel: Any = runner.run_sync(mod, lowering("llvm"), context=context)
    assert codes(parallel) == codes(serial)
    assert all(type(one) is CompiledFunc for one in parallel.functions.values())
    assert [one.signature for one in parallel.functions.values()] == [
        one.signature for one in serial.functions.values()
    ]


@pytest.mark.slow
@given(mod=modules())
@examples(0.2)
def test_so_they_do_of_generated_programs(runner: Runner, mod: IRModule):
    context = PassContext(config=POOLED)
    parallel: Any = runner.run_sync(mod, lowering("llvm"), context=context)
    assert codes(parallel) == objects(mod)


PROGRAM = """
import hashlib
from tests.target.kernels import objects, several
print(hashlib.sha256(b"".join(objects(several()))).hexdigest())
"""


@pytest.mark.slow
def test_no_hash_seed_shows_in_the_bytes():
    with PassContext(config={"tir.instrument_bound_checkers": False}):
        here = hashlib.sha256(b"".join(objects(several()))).hexdigest()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
        )
        for seed in ("0", "1", "77")
    ]
    assert {one.communicate(timeout=200)[0].strip() for one in running} == {here}


@pytest.mark.usefixtures("no_program")
def test_functions_that_were_compiled_before_are_recalled(tmp_path: Path):
    expected = build(several(), workers=0).image
    for verify in (0, 0, 1):  # the last one compiles all, and compares
        cache = FunctionCache(tmp_path, verify=verify)
        assert build(several(), workers=0, cache=cache).image == expected
        assert cache.store is not None
        assert cache.store.state().size.objects == 5


def test_what_was_compiled_is_left_alone_by_other_passes():
    done = lowering("llvm")(several())
    again = lowering("llvm")(done)
    assert all(again[name] is done[name] for name in done.functions_by_name)
    assert str(done).startswith("f0 = CompiledFunc(f0(A, B), ")


def test_objects_are_loaded_where_there_is_no_library(tmp_path: Path):
    made = linked(lowering("llvm")(several()), "tar")
    made.export_library(tmp_path / "made.tar")
    x, y = np.ones(3, "float32"), np.zeros(3, "float32")
    for module in (made, tvm.runtime.load_module(tmp_path / "made.tar")):
        assert module.manifest.format == "tar"
        module["f3"](x, y)
        np.testing.assert_allclose(y, np.exp(x) * 3, rtol=1e-6)
    with tarfile.open(tmp_path / "made.tar") as tar:  # so others can unpack it
        assert len(tar.getnames()) == 5


def test_a_library_for_another_machine_is_made_and_not_run(tmp_path: Path):
    for triple in ("aarch64-unknown-linux-gnu", "arm64-apple-darwin"):
        made = build(scaled(2.0), target=f"llvm -mtriple={triple}", workers=0)
        assert made.manifest.format == "tar"
        made.export_library(tmp_path / "made.tar")
        with pytest.raises(ForeignLibraryError, match="and this is"):
            tvm.runtime.load_module(tmp_path / "made.tar")


def test_what_was_compiled_goes_through_json_and_pickles():
    done = lowering("llvm")(several())
    for again in (tvm.load_json(tvm.save_json(done)), pickle.loads(pickle.dumps(done))):
        tvm.assert_structural_equal(again, done)
        assert again["f1"].signature == done["f1"].signature
        assert list(linked(again).manifest.functions) == list(done.functions_by_name)


def test_the_current_target_is_built_for():
    with tvm.target.Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=nehalem"):
        made = build(scaled(1.0), workers=0)
    assert made.manifest.features == ("popcnt", "sse3", "sse4.1", "sse4.2", "ssse3")


def test_no_target_changes_what_a_program_means():
    a = np.linspace(-3, 3, 33, dtype="float32")
    found: list[bytes] = []
    for cpu in ("x86-64", "nehalem", "haswell"):
        target = f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu={cpu}"
        b = np.zeros_like(a)
        build(scaled(0.3), target=target, workers=0)["main"](a, b)
        found.append(b.tobytes())
    assert len({*found}) == 1


def refused(body: Any, *params: Any) -> str:
    with pytest.raises(CodeGenError) as caught:
        build(tir.PrimFunc(params, body), workers=0, name="bad")
    return str(caught.value)


def test_what_has_no_machine_code_is_named_with_its_function():
    x, b = tir.Var("x"), tir.decl_buffer((4,), "float32", "B")
    packed = tir.Evaluate(tir.call_packed("my.function", 1))
    assert "'tir.tvm_call_packed' cannot be compiled (in 'bad')" in refused(packed, x)
    free = tir.BufferStore(b, tir.Var("y", "float32"), [0])
    assert "expected a bound variable, got 'y' (in 'bad')" in refused(free, b)
    own = tir.decl_buffer((x,), "float32", "own")
    sized = tir.Allocate(own.data, "float32", (x,), None, free)
    assert "expected a constant size for memory" in refused(sized, b, x)
    odd = tir.Evaluate(tir.Cast("int4", x))
    assert "got 'int4' (in 'bad')" in refused(odd, x)
    half = tir.BufferStore(b, tir.Cast("float16", x).astype("float32"), [0])
    with pytest.raises(CodeGenError, match="needs feature 'f16c'"):
        build(
            tir.PrimFunc((b, x), half),
            target="llvm -mtriple=x86_64-unknown-linux-gnu",
            workers=0,
        )


def test_a_wrong_module_or_target_is_refused():
    relay_function = tvm.relay.Function([], tvm.relay.const(1.0))
    with pytest.raises(CodeGenError, match="expected a module of PrimFuncs"):
        build(IRModule({"main": relay_function}))
    with pytest.raises(CodeGenError, match="an empty module"):
        build(IRModule())
    with pytest.raises(TargetError, match="'cuda'"):
        build(scaled(1.0), target="cuda")
