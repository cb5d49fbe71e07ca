"""`relay.op.vm`, TVM's name for an operator of its virtual machine."""

from parpass.relay.op.transform.shape import vm_shape_of as shape_of

__all__ = ["shape_of"]
