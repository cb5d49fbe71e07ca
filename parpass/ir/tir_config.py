"""TVM's options of loop passes, registered for contexts of any IR.

Options with fields are read by the passes of `parpass.tir.transform`; a user's pass
finds all of them in `ctx.config`, converted and with TVM's defaults. They are here and
not in `parpass.tir`, as Relay registers them too, and `import parpass.tir` loads all of
it.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from parpass.transform import PassContext, register_config_option

ConfigT = TypeVar("ConfigT", bound=msgspec.Struct)


class UnrollLoopConfig(msgspec.Struct, frozen=True):
    """Conditions for unrolling loops: type of the option `tir.UnrollLoop`."""

    auto_max_step: int = 0
    auto_max_depth: int = 8
    auto_max_extent: int = 0
    explicit_unroll: bool = True


class HoistIfThenElseConfig(msgspec.Struct, frozen=True):
    """Extent of the hoisting of conditions: type of option `tir.HoistIfThenElse`."""

    support_block_scope_hosting: bool = False


class InjectDoubleBufferConfig(msgspec.Struct, frozen=True):
    """Splitting of double-buffered loops: type of option `tir.InjectDoubleBuffer`."""

    split_loop: int = 1


class LoopPartitionConfig(msgspec.Struct, frozen=True):
    """The loops that are partitioned: the type of option `tir.LoopPartition`."""

    partition_const_loop: bool = False
    no_unroll_loop_with_extent_one: bool = False


def loop_option(ctx: PassContext, kind: type[ConfigT]) -> ConfigT:
    """Return the settings of a pass in a context, or TVM's defaults.

    Args:
        ctx: The context.
        kind: The type of the option, such as `UnrollLoopConfig`.
    """
    return ctx.config.get(_KEYS[kind]) or kind()


CHECKS_BOUNDS = False  # where a context does not say; the tests have all checked


def checks_bounds(ctx: PassContext) -> bool:
    """Return whether machine code checks its accesses against the bounds of memory."""
    return bool(ctx.config.get(_CHECK_BOUNDS, CHECKS_BOUNDS))


_CHECK_BOUNDS = "tir.instrument_bound_checkers"
_KEYS: dict[type[Any], str] = {
    UnrollLoopConfig: "tir.UnrollLoop",
    HoistIfThenElseConfig: "tir.HoistIfThenElse",
    InjectDoubleBufferConfig: "tir.InjectDoubleBuffer",
    LoopPartitionConfig: "tir.LoopPartition",
}


def _register() -> None:
    for key, kind, doc in (
        ("tir.noalias", bool, "arguments of kernels do not alias"),
        ("tir.detect_global_barrier", bool, "look for barriers across all threads"),
        (_CHECK_BOUNDS, bool, "check accesses against bounds"),
        ("tir.disable_assert", bool, "drop assertions"),
        ("tir.disable_vectorize", bool, "leave loops scalar"),
        ("tir.is_entry_func", bool, "the function is the entry of its module"),
        ("tir.debug_keep_trivial_loop", bool, "keep loops that run once"),
        ("tir.add_lower_pass", list, "pairs of a phase and a pass to run in it"),
        ("tir.UnrollLoop", UnrollLoopConfig, "when loops are unrolled"),
        ("tir.HoistIfThenElse", HoistIfThenElseConfig, "how conditions are hoisted"),
        ("tir.InjectDoubleBuffer", InjectDoubleBufferConfig, "how loops are split"),
        ("tir.LoopPartition", LoopPartitionConfig, "which loops are partitioned"),
    ):
        register_config_option(key, kind, doc)


_register()
