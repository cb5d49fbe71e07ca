"""The constants of a text that are no scalars, in a section at its end.

The text says `meta[relay.Constant][2]`; the section is JSON, in which entry 2 has the
dtype, the shape and the bytes of the array in base64, those of one element under
`repeat` if all are the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from parpass.errors import ArgumentError
from parpass.errors.core import describe_kind
from parpass.ir.serialization.arrays import array_as_json, array_from_json
from parpass.ir.text.literals import scalar_text
from parpass.runtime.ndarray import NDArray

_CONSTANT = "relay.Constant"


class ConstantPool:
    """Numbers constants by content, in order of first appearance."""

    def __init__(self) -> None:
        self._numbers: dict[NDArray, int] = {}

    @property
    def arrays(self) -> list[NDArray]:
        """The constants that are no scalars, by number."""
        return [*self._numbers]

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
        entries = ",\n".join(json.dumps(array_as_json(data)) for data in self._numbers)
        return f'\n#[metadata]\n{{"relay.Constant": [\n{entries}\n]}}\n'


class _Section(msgspec.Struct, rename={"constants": "relay.Constant"}):
    constants: list[Any]


def data_of_table(table: Mapping[str, Sequence[Any]]) -> list[NDArray]:
    """Return the arrays of a table of constants, such as a program gives to the parser.

    Raises:
        ArgumentError: There are other things in the table.
    """
    for kind in table:
        if kind != _CONSTANT:
            raise ArgumentError(
                f"expected constants under '{_CONSTANT}' in a table for a text, got "
                f"something under '{kind}'"
            )
    found = [getattr(one, "data", one) for one in table.get(_CONSTANT, ())]
    for one in found:
        if not isinstance(one, NDArray):
            raise ArgumentError(
                f"expected a constant in a table for a text, got {describe_kind(one)}"
            )
    return found


def read_section(text: str) -> list[NDArray]:
    """Return the arrays of the section, given what follows its heading.

    Raises:
        ValueError: The section is malformed; the message of broken JSON has the place
            as `(byte 12)`.
    """
    # A lone surrogate has no encoding; a question mark in its place is refused as well.
    encoded = text.encode("utf-8", "replace")
    section = msgspec.json.decode(encoded, type=_Section)
    arrays: list[NDArray] = []
    for number, entry in enumerate(section.constants):
        try:
            arrays.append(array_from_json(entry))
        except ValueError as error:
            raise ValueError(f"constant {number}: {error}") from None
    return arrays
