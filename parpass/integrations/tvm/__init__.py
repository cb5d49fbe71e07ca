"""TVM's wheel: builds on every core, and conversion of PrimFuncs.

`build` compiles the PrimFuncs of a TVM IRModule in workers. `from_tvm` and `to_tvm`
convert PrimFuncs from and to `parpass.tir`. Install `parpass[tvm]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.spi import IR, attach_lazy

if TYPE_CHECKING:
    from parpass.integrations.tvm.from_tvm import from_tvm
    from parpass.integrations.tvm.kernel_build import build
    from parpass.integrations.tvm.to_tvm import to_tvm

__all__ = ["build", "from_tvm", "to_tvm"]

_ROOM = "parpass.integrations.tvm"

TVM = IR("tvm", f"{_ROOM}.tested_versions", requirement="parpass[tvm]")

__getattr__, __dir__ = attach_lazy(
    _ROOM,
    {
        "build": f"{_ROOM}.kernel_build",
        "from_tvm": f"{_ROOM}.from_tvm",
        "to_tvm": f"{_ROOM}.to_tvm",
    },
    before_lookup=TVM.load_adapter,
)
