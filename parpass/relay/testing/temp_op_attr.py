"""`relay.testing.temp_op_attr`: attributes of operators for the time of a block."""

from parpass.ir.operators.op_attrs import TempOpAttr

__all__ = ["TempOpAttr"]
