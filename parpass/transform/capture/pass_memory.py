"""The memory that passes took, by pass and by function."""

from __future__ import annotations

import msgspec

from parpass.fork_safety import process_lock


class PassMemory(msgspec.Struct):
    """The largest memory that calls of passes took, in bytes.

    That of a call is its peak above what was allocated when it began, its result
    included: Python objects, and what libraries such as numpy tell tracemalloc of. What
    other functions took that were made for the call does not count.

    Attributes:
        passes: The largest of each pass, on any function, by its name.
        functions: The largest on each function, by pass, then function; module passes
            are in `passes` alone.
    """

    passes: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    functions: dict[str, dict[str, int]] = msgspec.field(
        default_factory=dict[str, dict[str, int]]
    )

    def add(self, pass_name: str, function: str | None, size: int) -> None:
        """Add a call; `size` is in bytes."""
        with process_lock:
            _raise_to(self.passes, pass_name, size)
            if function is not None:
                _raise_to(self.functions.setdefault(pass_name, {}), function, size)

    def merge(self, other: PassMemory) -> None:
        with process_lock:
            for name, size in other.passes.items():
                _raise_to(self.passes, name, size)
            for name, functions in other.functions.items():
                own = self.functions.setdefault(name, {})
                for function, size in functions.items():
                    _raise_to(own, function, size)


def _raise_to(largest: dict[str, int], name: str, size: int) -> None:
    largest[name] = max(largest.get(name, 0), size)
