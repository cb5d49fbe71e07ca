"""The functions of a module, read-only, as a function pass sees them.

Later functions would see a change in a serial run, and not in a parallel one. So every
run refuses changes of the mapping, and gives each pass its own copies of functions that
can be changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from parpass.errors import ReadOnlyModuleError
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.mutability import own_copy


class RefusesWrites(Mapping[str, Any]):
    """A mapping that copies as a dict does, and whose writing methods raise.

    It is no dict, and takes no other attributes, so that passes cannot tell kinds of
    runs apart by it.

    Args:
        reader: The name of the pass that reads it.
        adapter: The adapter, if functions that can be changed are copied when they are
            read; None if they are given as they are.
        values: The attributes of a subclass.
    """

    __slots__ = ("_adapter", "_copies", "_view", "reader")

    _adapter: ModuleAdapter | None
    _copies: dict[str, Any]
    _view: Any
    reader: str

    def __init__(
        self, reader: str, adapter: ModuleAdapter | None, **values: Any
    ) -> None:
        if adapter is not None and adapter.mutability is None:
            adapter = None
        own: dict[str, Any] = {"_adapter": adapter, "_copies": {}, "_view": None}
        for name, value in {"reader": reader, **own, **values}.items():
            object.__setattr__(self, name, value)

    def _own(self, name: str, function: Any) -> Any:
        """Return what the pass gets for a function, the same each time."""
        if self._adapter is None:
            return function
        if name not in self._copies:
            self._copies[name] = own_copy(self._adapter, function, self._view)
        return self._copies[name]

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
    """The functions of a module at the start of a pass, in a serial run."""

    __slots__ = ("_functions",)

    _functions: dict[str, Any]

    def __init__(
        self,
        functions: Mapping[str, Any],
        reader: str,
        adapter: ModuleAdapter | None = None,
    ) -> None:
        super().__init__(reader, adapter, _functions=dict(functions))

    def __getitem__(self, name: str) -> Any:
        return self._own(name, self._functions[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __contains__(self, name: object) -> bool:
        return name in self._functions


def read_only_view(adapter: ModuleAdapter, mod: Any, functions: RefusesWrites) -> Any:
    """Return a module like `mod` to read, of which copies of functions are members."""
    view = adapter.read_only(mod, functions, functions.reader)
    if adapter.mutability is not None:  # a cycle, so what it holds is freed late
        object.__setattr__(functions, "_view", view)
    return view
