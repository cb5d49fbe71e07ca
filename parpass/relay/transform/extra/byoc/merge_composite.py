"""MergeComposite: what matches a pattern becomes a function of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast

from parpass.errors import ArgumentError
from parpass.ir.module import IRModule
from parpass.relay.dataflow_pattern import DFPattern, partition
from parpass.relay.expr import Function
from parpass.relay.typing.infer import typed_function
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass

Check = Callable[[Any], bool]


class _Row(NamedTuple):
    name: str
    pattern: DFPattern
    check: Check = bool


@register_pass("relay._transform.MergeComposite")
class MergeComposite(FunctionPass):
    """Put each match of a table of patterns into a function with a name for it.

    With the table `[("add_relu", is_op("nn.relu")(wildcard() + wildcard()))]`::

        def @main(%x: Tensor[(3,), float32], %y: Tensor[(3,), float32]) {
          %0 = add(%x, %y);
          nn.relu(%0)
        }

    becomes::

        def @main(%x: Tensor[(3,), float32], %y: Tensor[(3,), float32]) {
          %0 = fn (%FunctionVar_0_0: Tensor[(3,), float32],
                   %FunctionVar_0_1: Tensor[(3,), float32],
                   PartitionedFromPattern="add_nn.relu_", Composite="add_relu")
              -> Tensor[(3,), float32] {
            %1 = add(%FunctionVar_0_0, %FunctionVar_0_1);
            nn.relu(%1)
          };
          %0(%x, %y)
        }

    Args:
        pattern_table: A name, a pattern and, if wanted, a check for each, which is
            called with what matched; those that come first are matched first.

    Raises:
        ArgumentError: A row of the table is something else.
    """

    pass_info = PassInfo(0, "MergeComposite")

    def __init__(self, pattern_table: Iterable[tuple[Any, ...]]) -> None:
        self.pattern_table = [_row(given) for given in pattern_table]

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with matches put into functions."""
        for name, pattern, check in self.pattern_table:
            before = typed_function(func, mod)  # checks ask for types
            after = partition(pattern, before, {"Composite": name}, check)
            func = func if after is before else cast("Function", after)
        return func


def _row(given: object) -> _Row:
    row = cast("tuple[object, ...]", given) if isinstance(given, tuple) else ()
    match row:
        case (str() as name, DFPattern() as pattern):
            return _Row(name, pattern)
        case (str() as name, DFPattern() as pattern, check) if callable(check):
            return _Row(name, pattern, cast("Check", check))
        case _:
            raise ArgumentError(
                "expected rows of a name, a pattern and perhaps a check in the pattern "
                f"table, got {given!r}"
            )
