"""PrintIR: a pass that prints the module, to stand anywhere in a pipeline."""

from __future__ import annotations

import sys
from typing import Any

from parpass.transform.context import PassContext
from parpass.transform.factories import register_pass
from parpass.transform.info import PassInfo
from parpass.transform.passes import ModulePass


@register_pass("transform.PrintIR")
class PrintIR(ModulePass):
    """Print the module to standard error and return it unchanged.

    Args:
        header: Comes first, to tell several printings apart.
    """

    pass_info = PassInfo(opt_level=0, name="PrintIR")

    def __init__(self, header: str = "") -> None:
        self.header = header

    def transform_module(self, mod: Any, ctx: PassContext) -> Any:
        """Print the module."""
        sys.stderr.write(f"PrintIR({self.header}):\n{mod}\n")
        return mod
