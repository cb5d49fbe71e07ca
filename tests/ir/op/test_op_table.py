from __future__ import annotations

import pytest

from parpass import relay
from parpass.errors import UnknownAttrError

X = relay.var("x", shape=(1, 3, 8, 8))
W = relay.var("w", shape=(4, 3, 3, 3))
ATTRS = relay.nn.conv2d(X, W, strides=2, padding=1).attrs


def test_attributes_are_read_by_name():
    assert ATTRS.strides == ATTRS["strides"] == ATTRS.get("strides") == (2, 2)
    assert ATTRS.keys()[:2] == ("strides", "padding")
    assert dict(ATTRS)["groups"] == 1
    assert "groups" in ATTRS


def test_attributes_are_read_as_what_they_are():
    assert ATTRS.get_int("groups") == 1
    assert ATTRS.get_int_tuple("padding") == (1, 1, 1, 1)
    assert ATTRS.get_str("data_layout") == "NCHW"


def test_an_unknown_name_is_refused_or_has_the_default():
    assert ATTRS.get("stride") is None
    assert ATTRS.get("keys", 3) == 3
    with pytest.raises(UnknownAttrError, match="'stride'; did you mean 'strides'"):
        _ = ATTRS["stride"]


def test_calls_without_attributes_have_none():
    assert relay.add(X, X).attrs is None
