"""Programs as case files have them: as they are printed, with constants to be read.

A constant that is no scalar stands behind the program, which refers to it by number::

    def @main(%x: Tensor[(2, 2), float32]) {
      add(%x, meta[relay.Constant][0])
    }
    meta[relay.Constant][0] = Tensor[(2, 2), float32] [1, 2, 3, 4]

The elements are those of the rows, one after the other; `[1, ...]` repeats one. A
number without brackets is that of all elements, which is then the one that is kept.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from parpass import relay
from parpass.ir.module import IRModule
from parpass.relay.text.constant_section import read_section
from parpass.runtime.dtypes import numpy_dtype
from parpass.runtime.ndarray import NDArray

MOST = 128  # elements of a constant, unless all are the same
_FEW = 8  # elements that are written one by one though they are the same
_SECTION = "\n#[metadata]\n"
_CONSTANT = re.compile(
    r"meta\[relay\.Constant\]\[\d+\] = Tensor\[\(([\d, ]*)\), (\w+)\] (.+)"
)


def program_text(mod: IRModule) -> str:
    """Return the text of a module, without the types behind calls.

    Raises:
        ValueError: A constant is too large for a text that is to be read.
    """
    text = mod.text(show_meta_data=True, annotate=lambda _: "")
    body, _, section = text.partition(_SECTION)
    arrays = read_section(section) if section else []
    lines = [
        f"meta[relay.Constant][{number}] = {_array_text(array)}\n"
        for number, array in enumerate(arrays)
    ]
    return body.rstrip("\n") + "\n" + "".join(lines)


def read_program(text: str, name: str) -> IRModule:
    """Return the module of which this is the text.

    Raises:
        ParseError: It is no program; places in the message are those in the text.
        ValueError: A constant is not what its type says.
    """
    body, constants = text.rstrip("\n").split("\n"), list[Any]()
    while match := _CONSTANT.fullmatch(body[-1]):
        constants.insert(0, relay.const(_array(*match.groups())))
        body.pop()
    table = {"relay.Constant": constants} if constants else None
    return relay.parse("\n".join(body) + "\n", name, None, table)


def _array_text(data: NDArray) -> str:
    array = data.numpy()
    kind = f"Tensor[{tuple(data.shape)}, {data.dtype}]"
    if data.is_uniform:
        return f"{kind} {_number_text(array.reshape(-1)[0])}"
    if array.size > _FEW and (array == array.flat[0]).all():
        return f"{kind} [{_number_text(array.flat[0])}, ...]"
    if array.size > MOST:
        raise ValueError(f"expected constants of at most {MOST} elements, got {kind}")
    return f"{kind} [{', '.join(map(_number_text, array.reshape(-1)))}]"


def _number_text(value: Any) -> str:
    return str(value).removesuffix(".0")


def _array(dims: str, dtype: str, values: str) -> Any:
    shape = tuple(int(dim) for dim in dims.split(",") if dim.strip())
    kind = numpy_dtype(dtype)
    if not values.startswith("["):
        return np.broadcast_to(_number(values, kind), shape)
    if values.endswith(", ...]"):
        return np.broadcast_to(_number(values[1:-6], kind), shape).copy()
    listed = [one for one in values[1:-1].split(",") if one.strip()]
    if not values.endswith("]") or len(listed) != np.prod(shape, dtype=int):
        raise ValueError(
            f"expected {np.prod(shape, dtype=int)} elements of Tensor[{shape}, {dtype}]"
            f" in brackets, got '{values}'"
        )
    return np.array([_number(one, kind) for one in listed], kind).reshape(shape)


def _number(text: str, kind: np.dtype[Any]) -> Any:
    text = text.strip()
    if kind.kind == "b":
        if text not in ("True", "False"):
            raise ValueError(f"expected True or False, got '{text}'")
        return np.array(text == "True")
    return np.array(int(text) if kind.kind in "iu" else float(text)).astype(kind)
