"""TVM's options of loop passes, registered for contexts of any IR.

A user's pass finds all of them in `ctx.config`, converted and with TVM's defaults; some
are of passes that are not shipped, and are for such passes alone. They are here and not
in `parpass.tir`, as Relay registers them too, and `import parpass.tir` loads all of it.
"""

from __future__ import annotations

import msgspec

from parpass.transform import PassContext, register_config_option


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


def unroll_loop_option(ctx: PassContext) -> UnrollLoopConfig:
    """Return rules for unrolling loops in a context; by TVM's defaults, if not said."""
    return ctx.config.get(_UNROLL_LOOP) or UnrollLoopConfig()


CHECKS_BOUNDS = False  # where a context does not say; the tests have all checked


def checks_bounds(ctx: PassContext) -> bool:
    """Return whether machine code checks its accesses against the bounds of memory."""
    return bool(ctx.config.get(_CHECK_BOUNDS, CHECKS_BOUNDS))


_CHECK_BOUNDS = "tir.instrument_bound_checkers"
_OWN = "for passes of your own"  # as none that is shipped reads it
_UNROLL_LOOP = "tir.UnrollLoop"


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
        (_UNROLL_LOOP, UnrollLoopConfig, "rules for unrolling loops"),
        ("tir.HoistIfThenElse", HoistIfThenElseConfig, f"{_OWN}: hoisting"),
        ("tir.InjectDoubleBuffer", InjectDoubleBufferConfig, f"{_OWN}: splitting"),
        ("tir.LoopPartition", LoopPartitionConfig, f"{_OWN}: loops to partition"),
    ):
        register_config_option(key, kind, doc)


_register()
