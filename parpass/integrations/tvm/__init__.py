"""TVM: its builds and passes on every core. See docs/with-tvm.md.

Install `parpass[tvm]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.spi import IR, attach_lazy

if TYPE_CHECKING:
    from parpass.integrations.tvm.kernel_build import build
    from parpass.integrations.tvm.prim_func_passes import (
        PythonPass,
        TVMPass,
        prim_func_pass,
        run_passes,
    )
    from parpass.integrations.tvm.tvm_module import TVMFunction, TVMModule

__all__ = [
    "PythonPass",
    "TVMFunction",
    "TVMModule",
    "TVMPass",
    "build",
    "prim_func_pass",
    "run_passes",
]

_ROOM = "parpass.integrations.tvm"

TVM = IR("tvm", f"{_ROOM}.tvm_module", requirement="parpass[tvm]")

__getattr__, __dir__ = attach_lazy(
    _ROOM,
    {
        "PythonPass": f"{_ROOM}.prim_func_passes",
        "TVMFunction": f"{_ROOM}.tvm_module",
        "TVMModule": f"{_ROOM}.tvm_module",
        "TVMPass": f"{_ROOM}.prim_func_passes",
        "build": f"{_ROOM}.kernel_build",
        "prim_func_pass": f"{_ROOM}.prim_func_passes",
        "run_passes": f"{_ROOM}.prim_func_passes",
    },
    before_lookup=TVM.load_adapter,
)
