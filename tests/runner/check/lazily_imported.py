"""A pass that uses what its module imports lazily, from Python 3.15 on."""

from __future__ import annotations

__lazy_modules__ = ["statistics", "string"]

import statistics
from string import digits
from typing import Any

from parpass.transform import FunctionPass, PassInfo


class UsesLazyImports(FunctionPass):
    """Appends the median, and the number of digits."""

    pass_info = PassInfo(0, "UsesLazyImports")

    def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
        median = int(statistics.median(func.values))
        return func.with_values((*func.values, median, len(digits)))
