"""The functions of a module, read-only, as a function pass sees them.

Later functions would see a change in a serial run, and not in a parallel one. So every
run refuses changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from parpass.errors import ReadOnlyModuleError
from parpass.transform.function_copies import OwnCopies


class RefusesWrites(Mapping[str, Any]):
    """A mapping that copies as a dict does, and whose writing methods raise.

    It is no dict, and takes no other attributes, so that passes cannot tell kinds of
    runs apart by it. `values` are the attributes of a subclass.
    """

    __slots__ = ("reader",)

    reader: str

    def __init__(self, reader: str, **values: Any) -> None:
        for name, value in {"reader": reader, **values}.items():
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"the functions of a module have no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise self._attribute_error("set", name)

    def __delattr__(self, name: str) -> NoReturn:
        raise self._attribute_error("delete", name)

    def _attribute_error(self, what: str, name: str) -> AttributeError:
        return AttributeError(
            f"function pass '{self.reader}' tried to {what} attribute '{name}' of the "
            "functions that it was given to read, which take none; keep what is known "
            "of one function in a variable, and what is known of all in an analysis"
        )

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise ReadOnlyModuleError.of(self.reader, "write to")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def copy(self) -> dict[str, Any]:
        """Return all functions as a dict, which may be written to."""
        return dict(self)

    __copy__ = copy

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self))

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self, **other}

    def __ror__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**other, **self}


class ReadOnlyFunctions(RefusesWrites):
    """The functions of a module at the start of a pass, in a serial run.

    `copies` is None if functions cannot be changed.
    """

    __slots__ = ("_copies", "_functions")

    _functions: dict[str, Any]
    _copies: OwnCopies | None

    def __init__(
        self,
        functions: Mapping[str, Any],
        reader: str,
        copies: OwnCopies | None = None,
    ) -> None:
        super().__init__(reader, _functions=dict(functions), _copies=copies)

    def __getitem__(self, name: str) -> Any:
        function = self._functions[name]
        return function if self._copies is None else self._copies.of(name, function)

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __contains__(self, name: object) -> bool:
        return name in self._functions
