"""The C signature of a compiled function: its parameters, and what C passes for them.

C passes pointers to the elements of arrays, and scalars. Other properties of an array,
such as a dimension that is not known at compile time, are passed after these.

Beside each function a library has its entry, which takes the address of a frame: slots
of 8 bytes, with the values that C passes behind what is called next. So Python passes
one address, however many arguments there are, and calls one after the other are one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

# The slots of a frame before the values: the next entry and its frame, or 0; then the
# status of a call that failed.
NEXT_ENTRY, NEXT_FRAME, STATUS, VALUES = range(4)


class Parameter(NamedTuple):
    """A parameter.

    Attributes:
        name: For messages.
        dtype: That of a scalar, or of the elements of an array; empty for any array.
        shape: Of an array: for each dimension its length, or the name of what the
            length is called, or None where the function looks itself. None for a
            scalar, and for an array of any shape.
        is_array: Whether it is an array.
        is_written: Whether the function writes to it.
    """

    name: str
    dtype: str
    shape: tuple[int | str | None, ...] | None = None
    is_array: bool = True
    is_written: bool = False


class Passed(NamedTuple):
    """A value that C passes: a part of an argument, or memory that the caller supplies.

    Attributes:
        what: `data` is a pointer to the elements, `value` a scalar, `dimension` and
            `stride` are ints of 64 bits; `workspace` and `result` are pointers.
        argument: The number of the argument.
        at: The number of the dimension.
    """

    what: str
    argument: int = 0
    at: int = 0


class Signature(NamedTuple):
    """The signature of a compiled function.

    It returns an int: 0, or the number of a message, counted from 1, if it found a
    fault.

    Attributes:
        symbol: The name in the library.
        parameters: The parameters, as a caller sees them.
        passed: The values that C passes, in order.
        result: The dtype of the result; empty if there is none.
        workspace: The bytes of memory that the caller supplies.
        messages: The messages of faults.
    """

    symbol: str
    parameters: tuple[Parameter, ...]
    passed: tuple[Passed, ...]
    result: str = ""
    workspace: int = 0
    messages: tuple[str, ...] = ()

    @property
    def entry(self) -> str:
        """The symbol of the function that takes a frame."""
        return f"{self.symbol}.entry"

    def export(self) -> dict[str, Any]:
        """Return it as what JSON can say."""
        return {
            **self._asdict(),
            "parameters": [one._asdict() for one in self.parameters],
            "passed": [list(one) for one in self.passed],
            "messages": list(self.messages),
        }

    @classmethod
    def restored(cls, said: dict[str, Any]) -> Signature:
        """Return what `export` gave, after a way through JSON."""
        parameters = (
            Parameter(**{**one, "shape": _tuple(one["shape"])})
            for one in said["parameters"]
        )
        changed: dict[str, Any] = {
            "parameters": tuple(parameters),
            "passed": tuple(Passed(*one) for one in said["passed"]),
            "messages": tuple(said["messages"]),
        }
        return cls(**{**said, **changed})


def _tuple(value: Any) -> Any:
    return None if value is None else tuple(value)
