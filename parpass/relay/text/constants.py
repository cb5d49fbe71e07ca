"""The constants of a text that are no scalars, in a section at its end.

The text says `meta[relay.Constant][2]`; the section is JSON, in which entry 2 has the
dtype, the shape and the bytes of the array in base64, those of one element under
`repeat` if all are the same.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from parpass.relay.text.literals import scalar_text

if TYPE_CHECKING:
    from parpass.relay.ndarray import NDArray


class ConstantPool:
    """Numbers constants by content, in order of first appearance."""

    def __init__(self) -> None:
        self._numbers: dict[NDArray, int] = {}

    def text_of(self, data: NDArray) -> str:
        """Return a scalar as it is, anything else as a reference to the section."""
        scalar = scalar_text(data)
        if scalar is not None:
            return scalar
        number = self._numbers.setdefault(data, len(self._numbers))
        return f"meta[relay.Constant][{number}]"

    def section(self) -> str:
        """Return the section, nothing if it would be empty."""
        if not self._numbers:
            return ""
        entries = ",\n".join(json.dumps(_entry(data)) for data in self._numbers)
        return f'\n#[metadata]\n{{"relay.Constant": [\n{entries}\n]}}\n'


def _entry(data: NDArray) -> dict[str, Any]:
    array, key = data.numpy(), "data"
    if data.is_uniform:
        array, key = array.reshape(-1)[:1], "repeat"
    encoded = base64.b64encode(array.tobytes()).decode("ascii")
    return {"dtype": data.dtype, "shape": data.shape, key: encoded}
