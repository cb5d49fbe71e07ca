"""Options of Relay's passes, and TVM's core ones, so that its contexts are accepted.

FuseOps, Inline and DefuseOps read theirs, FoldConstant and OutlineSegments ones that
TVM has not. The others are read by no pass shipped here: they steer TVM's code
generator and its loop passes. A pass of your own finds them in `ctx.config`, converted
and with TVM's defaults.
"""

from __future__ import annotations

import msgspec

from parpass.transform import register_config_option


class UnrollLoopConfig(msgspec.Struct, frozen=True):
    """When a loop is unrolled: the type of option `tir.UnrollLoop`."""

    auto_max_step: int = 0
    auto_max_depth: int = 8
    auto_max_extent: int = 0
    explicit_unroll: bool = True


class HoistIfThenElseConfig(msgspec.Struct, frozen=True):
    """How far conditions are hoisted: the type of option `tir.HoistIfThenElse`."""

    support_block_scope_hosting: bool = False


class InjectDoubleBufferConfig(msgspec.Struct, frozen=True):
    """How double buffers split a loop: the type of option `tir.InjectDoubleBuffer`."""

    split_loop: int = 1


class LoopPartitionConfig(msgspec.Struct, frozen=True):
    """Which loops are partitioned: the type of option `tir.LoopPartition`."""

    partition_const_loop: bool = False
    no_unroll_loop_with_extent_one: bool = False


def _register() -> None:
    for key, kind, doc in (
        ("relay.fallback_device_type", int, "device of what is annotated with none"),
        ("relay.backend.use_auto_scheduler", bool, "look up auto-scheduled kernels"),
        ("relay.backend.use_meta_schedule", bool, "look up meta-scheduled kernels"),
        ("relay.FoldConstant.max_bytes", int, "bytes of what a function's folds give"),
        ("relay.FuseOps.max_depth", int, "operators in one fused function at most"),
        ("relay.FuseOps.link_params", bool, "put constants into fused functions"),
        ("relay.OutlineSegments.min_nodes", int, "from which on a function is cut"),
        ("relay.max_copied_nodes", int, "that Inline or DefuseOps put for calls"),
        ("tir.noalias", bool, "arguments of kernels do not alias"),
        ("tir.detect_global_barrier", bool, "look for barriers across all threads"),
        ("tir.instrument_bound_checkers", bool, "check accesses against bounds"),
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
