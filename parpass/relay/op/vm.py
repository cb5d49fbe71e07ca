"""TVM's name for the one operator of its virtual machine that programs contain."""

from typing import TYPE_CHECKING

from parpass.errors.missing_names import refusing
from parpass.relay.op.transform.shape import vm_shape_of as shape_of

__all__ = ["shape_of"]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
