import sys
from pathlib import Path

import pytest

from parpass.errors import ArgumentError, UnknownPassError
from parpass.transform import (
    PassInfo,
    create_pass,
    declare_passes,
    register_pass,
    registered_passes,
)
from tests.support.toy_passes import Add


def test_a_pass_is_created_by_its_short_name_or_its_key():
    assert isinstance(create_pass("Add"), Add)
    assert isinstance(create_pass("toy.Add"), Add)


def test_a_pass_is_new_each_time_and_takes_options():
    first, second = create_pass("Add", {"amount": 3}), create_pass("Add")
    assert isinstance(first, Add)
    assert first.amount == 3
    assert first is not second


def test_options_that_the_pass_does_not_take_are_refused():
    with pytest.raises(ArgumentError, match="pass 'Add' cannot be made with") as caught:
        create_pass("Add", {"amout": 3})
    assert "amout" in str(caught.value)


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(UnknownPassError) as caught:
        create_pass("Duplicates")
    assert isinstance(caught.value, KeyError)
    assert str(caught.value) == (
        "no pass named 'Duplicates'; did you mean 'Duplicate'?"
    )
    assert (caught.value.name, caught.value.nearest) == ("Duplicates", ["Duplicate"])


def test_a_name_like_no_other_gets_a_hint():
    with pytest.raises(UnknownPassError, match="see 'parpass opt --list-passes'"):
        create_pass("xyzzy")


def test_a_key_is_registered_once():
    with pytest.raises(ArgumentError, match=r"registered as 'toy\.Add' already"):
        register_pass("toy.Add")(Add)


def test_a_factory_may_be_any_callable_that_returns_a_pass():
    @register_pass("toy.AddTen")
    def add_ten() -> Add:
        a_pass = Add(10)
        a_pass.pass_info = PassInfo(0, "AddTen")
        return a_pass

    assert create_pass("AddTen").info.name == "AddTen"
    assert add_ten().amount == 10


def test_passes_are_listed_by_short_name_in_order():
    names = list(registered_passes())
    assert names == sorted(names)
    assert {"Add", "Keep"} <= set(names)


def test_declared_passes_are_imported_when_one_is_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "declared_passes.py").write_text(
        "from parpass.transform import register_pass\n"
        "from tests.support.toy_passes import Keep\n"
        "register_pass('toy.Declared')(Keep)\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    declare_passes("declared_passes")
    assert "declared_passes" not in sys.modules
    assert create_pass("Declared").info.name == "Keep"
    assert "declared_passes" in sys.modules
