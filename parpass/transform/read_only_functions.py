"""The functions of a module as a pass on functions is given them: to read.

What is written to them would be there for later functions in a serial run, and lost in
a parallel one, so it is refused alike in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from parpass.errors import ReadOnlyModuleError


class RefusesWrites(Mapping[str, Any]):
    """A mapping that copies as a dict does, and whose methods that write raise.

    It is no dict, and has no attributes but its own, whatever it is made of: a pass
    could tell one kind of run from the other by that.

    Attributes:
        reader: The name of the pass.
    """

    __slots__ = ("reader",)

    reader: str

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise ReadOnlyModuleError.of(self.reader, "write to")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def copy(self) -> dict[str, Any]:
        """Return all functions as a dict, which may be written to."""
        return dict(self)

    __copy__ = copy

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a copy."""
        return dict, (dict(self),)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self))

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self, **other}

    def __ror__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**other, **self}


class ReadOnlyFunctions(RefusesWrites):
    """The functions of a module at the start of a pass, in a serial run.

    Args:
        functions: The functions.
        reader: The name of the pass.
    """

    __slots__ = ("_functions",)

    def __init__(self, functions: Mapping[str, Any], reader: str) -> None:
        self._functions = dict(functions)
        self.reader = reader

    def __getitem__(self, name: str) -> Any:
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __contains__(self, name: object) -> bool:
        return name in self._functions
