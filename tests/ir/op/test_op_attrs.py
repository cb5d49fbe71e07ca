from __future__ import annotations

import pytest

from parpass.errors import IRError, UnknownOpError
from parpass.ir import Op, register_op_attr
from parpass.ir.op.op_registration import TempOpAttr, op_attrs, register
from parpass.ir.op.op_table import Effect, OpPattern
from parpass.relay.op import register_alter_op_layout, register_convert_op_layout

KEY = "test.op_attrs"


def test_an_attribute_is_registered_by_value_and_by_decorator() -> None:
    register_op_attr("abs", KEY, 1)

    @register_op_attr("exp", KEY)
    def rule() -> int:
        return 2

    assert op_attrs(KEY) == {"abs": 1, "exp": rule}
    assert rule() == 2


def test_the_higher_level_wins_and_of_equals_the_later() -> None:
    key = f"{KEY}.level"
    for value, level in (("a", 10), ("b", 11), ("c", 10), ("d", 11)):
        register_op_attr("abs", key, value, level)
    assert op_attrs(key) == {"abs": "d"}


def test_layout_rules_are_attributes_under_tvms_keys() -> None:
    def rule() -> None:
        return None

    assert register_alter_op_layout("nn.upsampling")(rule) is rule
    assert register_convert_op_layout("nn.upsampling", rule) is rule
    for key in ("FTVMAlterOpLayout", "FTVMConvertOpLayout"):
        assert op_attrs(key)["nn.upsampling"] is rule


def test_a_temporary_attribute_hides_and_gives_back_the_former() -> None:
    key = f"{KEY}.temporary"
    with TempOpAttr("abs", key, 1):
        with TempOpAttr("abs", key, 2):
            assert op_attrs(key) == {"abs": 2}
        assert op_attrs(key) == {"abs": 1}
    assert op_attrs(key) == {}


def test_leaving_what_was_not_entered_is_an_error() -> None:
    with pytest.raises(IRError, match=r"^attribute 'k' was not set by this object$"):
        TempOpAttr("abs", "k", 1).__exit__()


def test_an_unknown_operator_is_an_error() -> None:
    with pytest.raises(UnknownOpError):
        register_op_attr("absolute", KEY, 1)


def test_an_operator_answers_for_what_was_registered_until_it_is_reset() -> None:
    key = f"{KEY}.of_op"
    register_op_attr("abs", key, 1)
    register_op_attr("exp", key, 2)
    assert (Op.get("abs").get_attr(key), Op.get("log").get_attr(key)) == (1, None)
    for _ in range(2):
        Op.get("abs").reset_attr(key)
        assert (Op.get("abs").get_attr(key), Op.get("exp").get_attr(key)) == (None, 2)
    with TempOpAttr("abs", key, 3):
        assert Op.get("abs").get_attr(key) == 3
    assert Op.get("abs").get_attr(key) is None


def test_an_operator_is_given_attributes_by_itself() -> None:
    key = f"{KEY}.set"
    Op.get("abs").set_attr(key, 1, 20)
    Op.get("abs").set_attr(key, 2)
    assert Op.get("abs").get_attr(key) == 1
    Op.get("abs").reset_attr(key)
    own = register("test.set_attr")
    own.set_attr("TOpPattern", 2)
    own.set_attr("TOpIsStateful", True)
    own.set_attr("TNonComputational", True)
    assert (own.pattern, own.effect) == (OpPattern.INJECTIVE, Effect.WRITES)
    assert own.get_attr("TNonComputational") is True
    with pytest.raises(IRError, match="that this program registered, got 'abs'"):
        Op.get("abs").set_attr("TOpPattern", 8)


def test_what_an_operator_has_for_good_is_not_reset() -> None:
    with pytest.raises(IRError, match="for good"):
        Op.get("abs").reset_attr("TOpPattern")
