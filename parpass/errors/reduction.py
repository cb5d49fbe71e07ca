"""What an exception is made of, so that pickle can make it again.

What pickle keeps of an exception is its class, what its constructor was given, as far
as that is known, and its attributes. Constructors may take something else. So it is
made here without its class's own constructor.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterator
from typing import Any

from parpass.errors.base import attribute_of


def reduced(error: BaseException, *, in_its_way: bool = True) -> Any:
    """Return what an exception is made of, as `__reduce_ex__` does.

    Args:
        error: The exception.
        in_its_way: As its class, or a library for it, says; if that says nothing, or
            False, then its arguments and attributes.
    """
    kind = type(error)
    if in_its_way:
        registered = copyreg.dispatch_table.get(kind)
        if registered is copyreg.dispatch_table.get(BaseException):
            registered = None  # of all, by a library that has its own way: tblib
        found: Any = registered(error) if registered else error.__reduce_ex__(5)
        if _has_a_way(kind) or found[0] is not kind:
            return found
    else:
        found = _builtin(kind).__reduce__(error)
    _, args, *rest = found
    state = dict(rest[0] or {}) if rest else {}
    state |= {name: getattr(error, name) for name in _slots(kind, error)}
    return _made, (kind, *args), state, None, None, set_attributes


def set_attributes(error: BaseException, state: dict[str, Any]) -> None:
    """Give an exception its attributes; it may be frozen."""
    for name, value in state.items():
        object.__setattr__(error, name, value)


def _has_a_way(kind: type) -> bool:
    return any(
        next(one for one in kind.__mro__ if name in vars(one)).__module__ != "builtins"
        for name in ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")
    )


def _builtin(kind: type[BaseException]) -> type[BaseException]:
    return next(one for one in kind.__mro__ if one.__module__ == "builtins")


def _slots(kind: type, error: BaseException) -> Iterator[str]:
    for one in kind.__mro__:
        names = vars(one).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            is_private = name.startswith("__") and not name.endswith("__")
            found = f"_{one.__name__.lstrip('_')}{name}" if is_private else name
            is_kept = found not in ("__dict__", "__weakref__")
            if is_kept and attribute_of(error, found, _slots) is not _slots:
                yield found


def _made(kind: type[BaseException], *args: Any) -> BaseException:
    """Return an exception that its class's own constructor has not seen."""
    builtin = _builtin(kind)
    taken = args[:2] if BaseExceptionGroup in kind.__mro__ else args
    error = builtin.__new__(kind, *taken)
    builtin.__init__(error, *args)
    return error
