"""Machine code of networks."""

from parpass.tvm_paths import attach_tvm_paths

attach_tvm_paths(__name__)
