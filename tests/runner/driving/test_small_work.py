"""Small work stays in this process, whatever an IR says of its size."""

from __future__ import annotations

import dataclasses

from parpass.runner import Runner
from parpass.transform import FunctionPass, PassContext, PassInfo, register_adapter
from tests.support.toy_ir import Fn, Program, ToyAdapter, program, values_of


@dataclasses.dataclass(frozen=True)
class SizelessProgram(Program):
    """A module whose functions have no size."""


class SizelessAdapter(ToyAdapter):
    """Handles them."""

    def size(self, function: Fn, limit: int) -> int:
        return 0


register_adapter(SizelessProgram, SizelessAdapter())


class NeverMeasured(FunctionPass):
    """Adds 1; no other test runs it, so what it costs is to be found out."""

    pass_info = PassInfo(0, "NeverMeasured")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values(value + 1 for value in func.values)


def test_functions_without_a_size_can_be_run(runner: Runner):
    mod = SizelessProgram(program(1, 2, 3).functions)
    after = runner.run_sync(mod, NeverMeasured())
    assert values_of(after) == values_of(program(2, 3, 4))
