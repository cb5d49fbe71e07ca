from collections.abc import Iterator

import pytest

from parpass.errors import ArgumentError, UnknownPassError
from parpass.function_registry import (
    get_global_func,
    list_global_func_names,
    register_func,
    remove_global_func,
)
from parpass.transform import (
    FunctionPass,
    PassInfo,
    Sequential,
    create_pass,
    register_pass,
    registered_passes,
)
from tests.support.toy.passes import Add


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
    # Others come behind it; which these are depends on what has been registered.
    start = "no pass named 'Duplicates'; did you mean 'Duplicate'"
    assert str(caught.value).startswith(start)
    assert (caught.value.name, caught.value.nearest[0]) == ("Duplicates", "Duplicate")


def test_a_name_like_no_other_gets_a_hint():
    with pytest.raises(UnknownPassError, match="see 'parpass opt --list-passes'"):
        create_pass("xyzzy")


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


@pytest.fixture
def free() -> Iterator[None]:
    """Leave the registry as it was."""
    before = list_global_func_names()
    yield
    for name in set(list_global_func_names()) - set(before):
        remove_global_func(name)


def test_passes_are_global_functions():
    assert isinstance(get_global_func("toy.Add")(3), Add)
    assert get_global_func("toy.Add")(amount=3).amount == 3


@pytest.mark.usefixtures("free")
@pytest.mark.parametrize("prefix", ["transform.", "relay._transform."])
def test_a_function_registered_by_hand_makes_passes(prefix: str):
    mine = Add(7)
    register_func(f"{prefix}MyPass", lambda: mine)
    assert create_pass("MyPass") is create_pass(f"{prefix}MyPass") is mine
    assert "MyPass" in registered_passes()


@pytest.mark.usefixtures("free")
def test_tvms_name_for_all_irs_counts_before_that_for_relay():
    register_func("transform.Twice", lambda: Add(1))
    register_func("relay._transform.Twice", lambda: Add(2))
    made = create_pass("Twice")
    assert isinstance(made, Add)
    assert made.amount == 1


@pytest.mark.usefixtures("free")
def test_what_gives_no_pass_is_refused():
    register_func("three", lambda: 3)
    with pytest.raises(ArgumentError) as caught:
        create_pass("three")
    assert str(caught.value) == (
        "expected a function that gives a pass under the name 'three'; the one that "
        "is registered gives 3"
    )


@pytest.mark.usefixtures("free")
def test_a_removed_pass_is_unknown():
    register_pass("toy.Short")(Add)
    assert isinstance(create_pass("Short"), Add)
    remove_global_func("toy.Short")
    with pytest.raises(UnknownPassError):
        create_pass("Short")


def test_a_key_that_is_taken_names_who_has_it_and_what_to_do():
    told = r"'toy\.Add' already, by tests\.\S+; a prefix, as in 'my_package\.Add'"
    with pytest.raises(ArgumentError, match=told):
        register_pass("toy.Add")(Add)


def test_a_pass_without_info_is_refused_as_it_is_made():
    @register_pass("test.NoInfo")
    class NoInfo(FunctionPass):
        """It has none."""

    register_pass("test.OfSome")(lambda: Sequential([Add(), NoInfo()]))
    for name in (NoInfo.__name__, "OfSome"):
        with pytest.raises(ArgumentError, match=r"write pass_info = PassInfo\(opt_lev"):
            create_pass(name)
