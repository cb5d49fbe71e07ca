"""What a compiled function takes: its parameters, and what is passed for them in C.

C passes pointers to the elements of arrays, and scalars. What a function must know of
an array besides, such as a dimension that is not known when it is compiled, is passed
behind these.
"""

from __future__ import annotations

from typing import Any, NamedTuple


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
    """What C passes: a part of an argument, or something of the caller's.

    Attributes:
        what: `data` is a pointer to the elements, `value` a scalar, `dimension` and
            `stride` are ints of 64 bits; `workspace` and `result` are pointers.
        argument: Of which argument.
        at: Of which dimension.
    """

    what: str
    argument: int = 0
    at: int = 0


class Signature(NamedTuple):
    """How a compiled function is called.

    It returns an int: 0, or the number of a message, counted from 1, if it found a
    fault.

    Attributes:
        symbol: Its name in the library.
        parameters: What a caller gives.
        passed: What C passes, in order.
        result: The dtype of what it gives; empty if it gives nothing.
        workspace: How many bytes of memory of its own it is given.
        messages: What it may say.
    """

    symbol: str
    parameters: tuple[Parameter, ...]
    passed: tuple[Passed, ...]
    result: str = ""
    workspace: int = 0
    messages: tuple[str, ...] = ()

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
