"""The passes for Relay, and what passes are made with.

TVM's passes have TVM's names, and keys such as `relay._transform.FoldConstant`; those
that TVM does not have are registered as `parpass.NAME`.

They are loaded when one of them is first asked for here. A worker asks for none: what
it is sent names the file that a pass is in, so it starts sooner than with all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.lazy_loader import attach_lazy
from parpass.tvm_paths import attach_tvm_paths

if TYPE_CHECKING:
    from parpass.relay.transform.all_passes import *  # noqa: F403 -- found by __getattr__

__getattr__, __dir__ = attach_lazy(
    __name__, {}, reexport_from="parpass.relay.transform.all_passes"
)

attach_tvm_paths(__name__)
