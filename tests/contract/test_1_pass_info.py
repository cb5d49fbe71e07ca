"""Contract section 1: PassInfo."""

import pytest

from parpass.errors import ArgumentError
from parpass.transform import PassContext, PassInfo
from tests.contract.marking import Mark, MarkAll, Run, module
from tests.support.watching import InfoLog


def test_1_1_level_name_and_required_reach_the_instruments(run: Run):
    log = InfoLog()
    a_pass = Mark("M", 3, ["InferType"])
    with PassContext(instruments=[log]):
        run(a_pass, module())
    info = log.seen[0]
    assert info is a_pass.info
    assert (info.opt_level, info.name, info.required) == (3, "M", ("InferType",))


def test_1_2_the_constructor_takes_positions_and_keywords():
    by_position = PassInfo(1, "xyz", ["a"])
    by_keyword = PassInfo(opt_level=1, name="xyz", required=["a"])
    for info in (by_position, by_keyword):
        assert (info.opt_level, info.name, info.required) == (1, "xyz", ("a",))


def test_1_3_required_is_never_none():
    assert PassInfo(1, "x").required == ()
    assert PassInfo(1, "x", None).required == ()  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="the str 'InferType'"):
        PassInfo(1, "x", "InferType")


def test_1_4_it_is_read_only():
    info = PassInfo(1, "x")
    with pytest.raises(AttributeError):
        info.opt_level = 5  # pyright: ignore[reportAttributeAccessIssue]
    assert info.opt_level == 1


def test_1_5_it_is_equal_only_to_itself():
    assert PassInfo(1, "x") != PassInfo(1, "x")
    assert len({PassInfo(1, "x"), PassInfo(1, "x")}) == 2


def test_1_6_its_text_names_the_pass():
    text = "transform.PassInfo(opt_level=1, name=\"x\", required=('a',))"
    assert str(PassInfo(1, "x", ["a"])) == text
    assert 'name="MarkAll"' in str(MarkAll().info)
