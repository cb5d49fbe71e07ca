"""Which optimisations of the runner are forced on, and which off."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from parpass.transform import Optimizations

NAMES = Optimizations.__struct_fields__

# A number of bytes is forced on by 0, and off by a number that no value has.
ON: dict[str, Any] = {**dict.fromkeys(NAMES, True), "large_value_bytes": 0}
OFF: dict[str, Any] = {**dict.fromkeys(NAMES, False), "large_value_bytes": sys.maxsize}


def switches() -> st.SearchStrategy[dict[str, Any]]:
    """Generate what is on and off: few off, few on, or anything between."""

    def strategy(rest: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
        other = OFF if rest is ON else ON
        return st.sets(st.sampled_from(NAMES)).map(
            lambda names: {**rest, **{name: other[name] for name in names}}
        )

    return st.sampled_from([ON, OFF]).flatmap(strategy)
