from __future__ import annotations

from parpass import relay
from parpass.relay.dataflow_pattern import is_op, wildcard
from parpass.relay.op.contrib import get_pattern_table, register_pattern_table


def test_a_compilers_patterns_are_had_by_its_name() -> None:
    @register_pattern_table("of this test")
    def table() -> list[tuple[object, ...]]:
        return [("exp", is_op("exp")(wildcard()))]

    found = get_pattern_table("of this test")
    assert found is not None
    assert [name for name, _ in found] == ["exp"]
    assert [*map(len, table())] == [2]
    register_pattern_table("of this test", list)
    assert relay.op.contrib.get_pattern_table("of this test") == []
    assert get_pattern_table("no such compiler") is None
