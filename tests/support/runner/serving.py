"""What services are tested with: a program, and passes that go wrong."""

from __future__ import annotations

import os
from pathlib import Path

from parpass.ir.module import IRModule
from parpass.relay.expr import Function
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass
from tests.support.toy.ending import end

PROGRAM = """
def @first(%x: Tensor[(2, 3), float32]) { nn.relu(add(%x, %x)) }
def @second(%x: Tensor[(2, 3), float32]) { exp(%x) }
"""
ONE_FUNCTION = "def @only(%x: Tensor[(2, 3), float32]) { exp(%x) }"
BEGUN = "TEST_SERVICES_BEGUN"  # the variable that names a pipe; passes open it


class Ends(FunctionPass):
    """Ends its process, or hangs; says first that it was begun, if asked to."""

    how = ""

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        if BEGUN in os.environ:
            Path(os.environ[BEGUN]).write_text("")
        end(self.how)
        return func


@register_pass("test.Crashes")
class Crashes(Ends):
    """Crashes."""

    pass_info = PassInfo(0, "Crashes")
    how = "segfault"


@register_pass("test.Hangs")
class Hangs(Ends):
    """Never returns."""

    pass_info = PassInfo(0, "Hangs")
    how = "hang"
