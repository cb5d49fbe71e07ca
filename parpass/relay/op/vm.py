"""TVM's name for the one operator of its virtual machine that programs contain."""

from parpass.relay.op.shape import vm_shape_of as shape_of

__all__ = ["shape_of"]
