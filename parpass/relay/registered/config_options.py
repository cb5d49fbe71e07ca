"""Options of Relay's passes, so that TVM's contexts are accepted.

FuseOps, Inline, DefuseOps and ToMixedPrecision read theirs, FoldConstant and
OutlineSegments ones that TVM has not. The others are read by no pass shipped here:
they steer TVM's code generator. A pass of your own finds them in `ctx.config`,
converted and with TVM's defaults.
"""

from __future__ import annotations

from parpass.transform import register_config_option


def _register() -> None:
    for key, kind, doc in (
        ("relay.fallback_device_type", int, "device of what is annotated with none"),
        ("relay.backend.use_auto_scheduler", bool, "look up auto-scheduled kernels"),
        ("relay.backend.use_meta_schedule", bool, "look up meta-scheduled kernels"),
        ("relay.FoldConstant.max_bytes", int, "bytes of what a function's folds give"),
        ("relay.FuseOps.max_depth", int, "operators in one fused function at most"),
        ("relay.FuseOps.link_params", bool, "put constants into fused functions"),
        ("relay.OutlineSegments.min_nodes", int, "from which on a function is cut"),
        (
            "relay.ToMixedPrecision.keep_orig_output_dtype",
            bool,
            "cast a function's result back",
        ),
        ("relay.max_copied_nodes", int, "that passes put in the place of calls"),
    ):
        register_config_option(key, kind, doc)


_register()
