from __future__ import annotations

import pytest

from parpass import relay
from parpass.errors import ArgumentError
from parpass.relay.analysis import AnnotatedRegionSet
from parpass.relay.op import Op
from parpass.relay.op.annotation import compiler_begin, compiler_end

BEGIN, END = Op.get("annotation.compiler_begin"), Op.get("annotation.compiler_end")
X = relay.var("x", shape=(2,))


def test_regions_are_shown_with_their_marks() -> None:
    entering = compiler_begin(X, "one")
    relu = relay.nn.relu(entering)
    leaving, again = compiler_end(relu, "one"), compiler_end(relu, "one")
    default = compiler_begin(leaving, "default")
    total = compiler_end(relay.tanh(default), "default")
    found = AnnotatedRegionSet(relay.Tuple((total, again)), BEGIN, END)
    assert len(found) == len([*found]) == 2
    region = found.get_region(relu)
    assert region is not None
    assert region.target == "one"
    assert region.args == (entering,)
    assert {*region.nodes} == {entering, relu, leaving, again}
    assert {*region.rets} == {leaving, again}
    assert found.get_region(X) is None
    other = found.get_region(total)
    assert other is not None
    assert other.target == "default"


def test_other_marks_are_refused() -> None:
    with pytest.raises(ArgumentError, match="expected operators"):
        AnnotatedRegionSet(X, Op.get("add"), END)
