"""What was compiled once is not compiled again, and comes to the same library."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from parpass import object_store, tir
from parpass.instrument import PassInstrument
from parpass.object_store import ObjectStore
from parpass.target.build_library import lowering
from parpass.target.compile_once import CompileOnce, stamp_of
from parpass.target.target import Target
from parpass.transform import PassContext, PassInfo
from parpass.transform.config import ON_FAILURE
from parpass.transform.debug.bisect import OPT_BISECT_LIMIT
from tests.target.kernels import scaled

HERE = Target("llvm").resolved()


class Vetoing(PassInstrument):
    """Keeps passes from running."""

    def should_run(self, mod: Any, info: PassInfo) -> bool:
        return False


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore(tmp_path)


def kernels(*factors: float) -> dict[str, tir.PrimFunc]:
    names = [f"k_{at}" if at else "k" for at in range(len(factors))]
    return {name: scaled(f, name) for name, f in zip(names, factors, strict=True)}


def machine_code(once: CompileOnce) -> Any:
    return lowering(HERE, once.where_to_keep())(once.missing)


def compiled(once: CompileOnce) -> dict[str, Any]:
    return once.all_of(machine_code(once))[0]


def test_equal_functions_are_compiled_once():
    once = CompileOnce([kernels(1.0, 2.0, 1.0)], HERE)
    assert len(once.missing) == 2
    found = compiled(once)
    assert [*found] == ["k", "k_1", "k_2"]
    assert found["k"] is found["k_2"]
    assert found["k"].signature.symbol.startswith("k_")


def test_the_next_build_compiles_what_has_changed(store: ObjectStore):
    first = compiled(CompileOnce([kernels(1.0, 2.0)], HERE, store))
    again = CompileOnce([kernels(1.0, 2.0)], HERE, store)
    assert (len(again.missing), again.num_known) == (0, 2)
    found: dict[str, Any] = {**again.all_of(again.missing)[0]}
    for name, one in first.items():
        assert (found[name].code, found[name].interface) == (one.code, one.interface)
        assert found[name].target == one.target
    changed = CompileOnce([kernels(2.0, 3.0, 1.0)], HERE, store)  # numbers have moved
    assert len(changed.missing) == 1


def test_what_is_compiled_is_kept_although_the_build_goes_no_further(
    store: ObjectStore,
):
    once = CompileOnce([kernels(1.0, 2.0)], HERE, store)
    machine_code(once)
    assert len(CompileOnce([kernels(1.0, 2.0, 3.0)], HERE, store).missing) == 1


def test_what_workers_could_not_keep_is_kept_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(object_store, "_WAITING_SECONDS", 0.02)
    store = ObjectStore(tmp_path)
    once = CompileOnce([kernels(1.0, 2.0)], HERE, store)
    passes = lowering(HERE, once.where_to_keep())
    path = tmp_path / "objects.sqlite"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin exclusive")
        mod = passes(once.missing)  # without a word
    assert store.state().size.objects == 0
    once.all_of(mod)
    assert CompileOnce([kernels(1.0, 2.0)], HERE, ObjectStore(tmp_path)).num_known == 2


def test_another_parpass_has_other_sizes_or_seconds(tmp_path: Path):
    path = tmp_path / "some.py"

    def stamped(text: str, nanoseconds: int) -> str:
        path.write_text(text)
        os.utime(path, ns=(0, nanoseconds))
        return stamp_of(tmp_path)

    first = stamped("x = 1", 7_123_456_789)
    assert stamped("x = 1", 7_000_000_000) == first  # as out of an image
    assert first not in (stamped("x = 1", 6_999_999_999), stamped("", 7_000_000_000))


def test_what_an_object_depends_on_makes_it_another_one(store: ObjectStore):
    compiled(CompileOnce([kernels(1.0)], HERE, store))
    plain = Target("llvm -mtriple=x86_64-unknown-linux-gnu").resolved()
    assert len(CompileOnce([kernels(1.0)], plain, store).missing) == 1
    for settings in (
        PassContext(config={"tir.disable_vectorize": True}),
        PassContext(config={"tir.UnrollLoop": {"auto_max_step": 16}}),
        PassContext(disabled_pass=["tir.UnrollLoop"]),
    ):
        with settings:
            assert len(CompileOnce([kernels(1.0)], HERE, store).missing) == 1
    renamed = scaled(1.0)
    x, y = tir.Var("x", "handle"), tir.Var("y", "handle")
    buffers = dict(zip((x, y), renamed.buffer_map.values(), strict=True))
    renamed = tir.PrimFunc((x, y), renamed.body, buffer_map=buffers)
    assert len(CompileOnce([{"k": renamed}], HERE, store).missing) == 1
    assert len(CompileOnce([kernels(1.0)], HERE, store).missing) == 0


@pytest.mark.parametrize(
    "settings",
    [
        {"config": {ON_FAILURE: "skip"}},
        {"config": {OPT_BISECT_LIMIT: 1}},
        {"instruments": [Vetoing()]},
    ],
)
def test_while_passes_may_be_left_out_nothing_is_kept_or_taken(
    settings: dict[str, Any], store: ObjectStore
):
    compiled(CompileOnce([kernels(1.0)], HERE, store))
    with PassContext(**settings):
        once = CompileOnce([kernels(1.0)], HERE, store)
        assert (len(once.missing), once.where_to_keep()) == (1, None)
