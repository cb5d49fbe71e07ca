"""The calling convention of TVM's runtime: fields of C structures, type codes."""

from __future__ import annotations

import enum


class CallingConv(enum.IntEnum):
    """The calling convention of a function: its attribute `calling_conv`."""

    DEFAULT = 0
    C_PACKED_FUNC = 1  # by arrays of values and of type codes
    DEVICE_KERNEL_LAUNCH = 2


class ArgTypeCode(enum.IntEnum):
    """The type code of a value of a packed call."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    NULL = 4
    DLTENSOR_HANDLE = 7
    NDARRAY_HANDLE = 13


POINTERS = (
    ArgTypeCode.HANDLE,
    ArgTypeCode.NDARRAY_HANDLE,
    ArgTypeCode.DLTENSOR_HANDLE,
    ArgTypeCode.NULL,
)


class StructField(enum.IntEnum):
    """A field that `tvm_struct_get` reads: of a `DLTensor`, or a value of a call."""

    ADDRESS = 0
    DATA = 1
    SHAPE = 2
    STRIDES = 3
    NDIM = 4
    TYPE_CODE = 5
    TYPE_BITS = 6
    TYPE_LANES = 7
    BYTE_OFFSET = 8
    DEVICE_ID = 9
    DEVICE_TYPE = 10
    VALUE = 12


PACKED_PARAMS = 6  # of a packed function, besides those that are not packed
