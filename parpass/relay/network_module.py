"""Several networks as one module, on which a pass works network by network.

A network is one function to the passes of Relay, so workers cannot share it. Those of a
build of several each take a whole network.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parpass.ir.module import IRModule
from parpass.ir.module_adapter import IRModuleAdapter
from parpass.ir.structural import structural_difference
from parpass.relay.transform.fusion.functions_from_fusion import FunctionsFromFusion
from parpass.relay.transform.pipelines import default_pipeline
from parpass.transform import (
    BlobSink,
    FunctionPass,
    ModuleAdapter,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    Source,
    register_adapter,
)

_IR = IRModuleAdapter()


def network_pipeline() -> Sequential:
    """Return the passes from a network to a module of kernels in Relay.

    These are the passes of the current context's level, which end with fusion, and then
    `FunctionsFromFusion`.
    """
    context = PassContext.current()
    passes: list[Pass] = [
        default_pipeline(context.opt_level, ["main"], required=context.required_pass),
        FunctionsFromFusion(),
    ]
    return Sequential(passes, name="network")


@dataclass(frozen=True)
class Networks:
    """A module whose functions are networks.

    Attributes:
        functions: They, by name.
    """

    functions: Mapping[str, IRModule]


class NetworksAdapter(ModuleAdapter):
    """Handles networks; their functions travel as those of a module of Relay do."""

    module_type = Networks
    function_type = IRModule
    mutability = None  # no pass changes the module that it is given

    def size(self, function: IRModule, limit: int) -> int:
        """Return the number of nodes."""
        return min(_IR.module_size(function)[1], limit)

    def astext(self, mod: Networks, *, show_meta_data: bool = True) -> str:
        """Return the text of each network, below its name."""
        return "\n".join(
            f"// {name}\n{one.astext(show_meta_data=show_meta_data)}"
            for name, one in mod.functions.items()
        )

    def faults(self, function: IRModule, mod: Networks) -> list[str]:
        """Return the violations of the rules in the functions of a network."""
        return [
            f"{fault}, in '{name}'"
            for name, one in function.functions_by_name.items()
            for fault in _IR.faults(one, function)
        ]

    def difference(self, before: IRModule, after: IRModule) -> str | None:
        """Return the first difference of two networks, by their structure."""
        return structural_difference(before, after)

    def encode_function(self, function: IRModule, blob_sink: BlobSink) -> bytes:
        """Encode a network; its weights are the large values."""
        each = {
            name: _IR.encode_function(one, blob_sink)
            for name, one in function.functions_by_name.items()
        }
        return pickle.dumps((_IR.encode_shell(function), each), protocol=5)

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: Networks
    ) -> IRModule:
        """Decode a network."""
        shell, each = pickle.loads(encoded)  # written by a process of the same run
        empty = _IR.decode_shell(shell)
        functions = {
            name: _IR.decode_function(one, sources, empty) for name, one in each.items()
        }
        return _IR.with_functions(empty, functions)


register_adapter(Networks, NetworksAdapter(), passes_in=[__name__])


class FuseNetwork(FunctionPass):
    """Run `network_pipeline` on each network, the whole of it in one process."""

    pass_info = PassInfo(0, "FuseNetwork")
    where = "workers"  # to send a network takes a twentieth of the time of its passes

    def transform_function(
        self, func: IRModule, mod: Networks, ctx: PassContext
    ) -> IRModule:
        """Return the network as a module of kernels."""
        return network_pipeline()(func)
