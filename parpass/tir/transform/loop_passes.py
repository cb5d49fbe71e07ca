"""All passes shipped for loop programs, and what makes passes; see the package."""

from parpass.tir.transform.flatten_buffer import FlattenBuffer, StorageFlatten
from parpass.tir.transform.function_pass import Apply, PrimFuncPass, prim_func_pass
from parpass.tir.transform.hoist_if_then_else import HoistIfThenElse
from parpass.tir.transform.inject_double_buffer import InjectDoubleBuffer
from parpass.tir.transform.instrument_bound_checkers import InstrumentBoundCheckers
from parpass.tir.transform.loop_partition import LoopPartition
from parpass.tir.transform.lower_intrin import LowerIntrin
from parpass.tir.transform.make_packed_api import MakePackedAPI, MakeUnpackedAPI
from parpass.tir.transform.narrow_data_type import NarrowDataType
from parpass.tir.transform.remove_no_op import RemoveNoOp
from parpass.tir.transform.rewrite_unsafe_select import RewriteUnsafeSelect
from parpass.tir.transform.simplify import Simplify
from parpass.tir.transform.storage_rewrite import StorageRewrite
from parpass.tir.transform.unroll_loop import UnrollLoop
from parpass.tir.transform.vectorize_loop import VectorizeLoop
from parpass.tir.transform.verify_memory import VerifyMemory

__all__ = [
    "Apply",
    "FlattenBuffer",
    "HoistIfThenElse",
    "InjectDoubleBuffer",
    "InstrumentBoundCheckers",
    "LoopPartition",
    "LowerIntrin",
    "MakePackedAPI",
    "MakeUnpackedAPI",
    "NarrowDataType",
    "PrimFuncPass",
    "RemoveNoOp",
    "RewriteUnsafeSelect",
    "Simplify",
    "StorageFlatten",
    "StorageRewrite",
    "UnrollLoop",
    "VectorizeLoop",
    "VerifyMemory",
    "prim_func_pass",
]
