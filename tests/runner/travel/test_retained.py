from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Sequence

import pytest

from parpass.runner.travel.function_outcome import AbandonedError
from parpass.runner.travel.retained import Held, HeldModule, Retainer
from parpass.transform.adapter import KeepOutside, Source
from tests.support.toy_ir import Fn, Program, ToyAdapter, program


@pytest.fixture
def retainer() -> Iterator[Retainer]:
    retainer = Retainer(ToyAdapter())
    yield retainer
    retainer.close()


def packed_only(retainer: Retainer, function: Fn) -> Held:
    return Held(packed=retainer.packed(Held(function), retainer.packer()))


def test_a_module_that_nobody_changed_is_made_of_the_same_functions(retainer: Retainer):
    mod = program(1, 2)
    held = retainer.hold(mod)
    made = retainer.module(held)
    assert all(made[name] is mod[name] for name in mod.functions)


def test_bytes_become_a_function_when_somebody_looks_and_only_once(retainer: Retainer):
    base = program(1)
    held = packed_only(retainer, Fn((7,)))
    module = HeldModule(base, {"f0": held})
    assert held.function is None
    made = retainer.module(module)
    assert made["f0"] == Fn((7,))
    assert retainer.module(module) is made


def test_a_function_is_packed_once_and_known_again_in_a_later_module(
    retainer: Retainer,
):
    first = HeldModule(program(1), {"f0": packed_only(retainer, Fn((7,)))})
    made = retainer.module(first)
    again = retainer.hold(Program({"other": made["f0"], "new": Fn((8,))}))
    assert again.held["other"] is first.held["f0"]
    assert again.held["new"].packed is None


def test_all_but_the_functions_comes_from_the_module_that_went_in(retainer: Retainer):
    base = Program({"f0": Fn((1,))}, title="t", sources={"a": "b"})
    made = retainer.module(HeldModule(base, {"f0": Held(Fn((2,)))}))
    assert (made.title, made.sources) == ("t", {"a": "b"})


def test_what_is_no_held_module_is_passed_through(retainer: Retainer):
    mod = program(1)
    assert retainer.module(mod) is mod
    assert retainer.module(None) is None


def test_a_run_that_packs_nothing_makes_no_folder(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.mkdtemp", None)
    retainer = Retainer(ToyAdapter())
    retainer.module(retainer.hold(program(1)))
    retainer.close()


def test_closing_removes_the_folder(retainer: Retainer):
    path = retainer.folder.path
    assert os.path.isdir(path)
    retainer.close()
    assert not os.path.exists(path)


def test_what_goes_on_after_the_end_is_stopped(retainer: Retainer):
    retainer.check_open()
    retainer.end()
    with pytest.raises(AbandonedError):
        retainer.check_open()


class Watched(ToyAdapter):
    """Takes down whether the garbage collector works while it packs and unpacks."""

    def __init__(self) -> None:
        self.works: list[bool] = []

    def encode_function(self, function: Fn, keep_outside: KeepOutside) -> bytes:
        self.works.append(gc.isenabled())
        return super().encode_function(function, keep_outside)

    def decode_function(
        self, encoded: bytes | memoryview, outside: Sequence[Source], mod: Program
    ) -> Fn:
        self.works.append(gc.isenabled())
        return super().decode_function(encoded, outside, mod)


def test_the_collector_rests_while_a_function_is_packed_or_unpacked():
    adapter = Watched()
    retainer = Retainer(adapter)
    packer = retainer.packer()
    packed = retainer.packed(Held(Fn((1,))), packer)
    packer.close()
    retainer.function(Held(packed=packed), program(1))
    retainer.close()
    assert adapter.works == [False, False]
    assert gc.isenabled()
