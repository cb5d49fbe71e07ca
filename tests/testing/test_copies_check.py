"""The kit finds what goes wrong where functions are changed in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from parpass.errors import AdapterError, LawError
from parpass.runner import Runner
from parpass.testing import (
    check_codec,
    check_copies,
    check_methods,
    check_parallel,
    check_passes,
)
from parpass.transform import register_adapter
from tests.support.registering import registering_for_a_while
from tests.support.toy.parented_ir import (
    Adapter,
    AlwaysSettingMod,
    Append,
    DraggingMod,
    DropNops,
    LosingMod,
    Mod,
    SettingMod,
    Spoil,
    StatedMod,
    module,
)

PASSES = [DropNops(), Append()]


@pytest.fixture
def _as_it_was() -> Iterator[None]:
    with registering_for_a_while():
        yield


def check(mod: Mod) -> None:
    check_methods(mod)
    check_codec(mod)
    check_copies(mod, PASSES)
    check_passes(mod, PASSES)


@pytest.mark.parametrize("knows", [False, True])
@pytest.mark.parametrize("kind", [Mod, SettingMod])
def test_what_is_right_passes_and_stays_as_it_was(
    runner: Runner, kind: type[Mod], knows: bool
):
    mod = module(kind, knows=knows)
    check(mod)
    check_parallel(mod, PASSES, runner)
    assert mod.texts() == module().texts()
    parents = {id(one.parent) for one in mod.functions.values()}
    assert parents == {id(mod if knows else None)}


def test_a_pass_that_changes_a_value_is_found_and_the_module_stays():
    mod = module(StatedMod)
    check_methods(mod)
    check_codec(mod)
    told = "pass 'DropNops' changed function 'a' in place: .*mutability = None"
    with pytest.raises(LawError, match=told):
        check_copies(mod, PASSES)
    assert mod.texts() == module().texts()


def test_a_pass_that_changes_another_function_is_found():
    told = "pass 'Spoil' changed function 'b' in place when it ran on 'a'"
    with pytest.raises(LawError, match=told):
        check_copies(module(), [Spoil()])


def test_a_part_of_two_functions_is_found():
    mod = module()
    mod.functions["c"].callees = mod.functions["a"].callees
    told = r"got one list in two functions: 'a\.callees' and 'c\.callees'"
    with pytest.raises(LawError, match=told):
        check_copies(mod, PASSES)


def test_a_codec_that_loses_state_is_found_where_functions_are_not_compared():
    told = r"another|different one: something and nothing at Fn\.note"
    with pytest.raises(LawError, match=told):
        check_codec(module(LosingMod))


def test_a_codec_that_takes_the_module_along_is_found():
    told = r"'Fn\.parent' of 'a' encodes 'b' as well"
    with pytest.raises(LawError, match=told):
        check_copies(module(DraggingMod), PASSES)


@pytest.mark.usefixtures("_as_it_was")
def test_functions_that_know_another_module_are_found():
    class Filtering(Adapter):
        """Gives a new dict each time, so that functions are not put into it."""

        def functions(self, mod: Mod) -> Any:
            return dict(mod.functions)

    register_adapter(Mod, Filtering())
    told = r"'Fn\.parent' of 'a' is another module; set 'Fn\.parent' of each function"
    with pytest.raises(LawError, match=told):
        check_copies(module(), PASSES)


def test_who_sets_parents_of_what_is_only_read_is_told_to_override_read_only():
    told = "override it, because 'with_functions' reads the functions from 'read_only'"
    with pytest.raises(AdapterError, match=f"loads none of its functions; {told}"):
        check_methods(module(AlwaysSettingMod))
