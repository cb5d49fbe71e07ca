"""Reduction of exceptions to picklable state, and their reconstruction.

`pickle` keeps an exception's class, `args` and attributes, and calls the class with
`args`. Constructors may take other arguments, so exceptions are reconstructed here
without calling their class's own constructor. A class's own reduction may lose some of
that state, so it is used only if an exception cannot be pickled otherwise.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterator
from typing import Any, cast

from parpass.errors.core import safe_getattr


def reduce_exception(error: BaseException, *, use_custom: bool) -> Any:
    """Return the reduction of an exception, in the form of `__reduce_ex__`.

    With `use_custom` it is that of its class, or of `copyreg`, which may lose state.
    Otherwise it has all arguments and attributes.
    """
    kind = type(error)
    if use_custom:
        registered = copyreg.dispatch_table.get(kind)
        if registered is copyreg.dispatch_table.get(BaseException):
            registered = None  # for all exceptions, by a library such as tblib
        return registered(error) if registered else error.__reduce_ex__(5)
    _, args, *rest = cast("Any", _builtin_base(kind).__reduce__(error))
    state = dict(rest[0] or {}) if rest else {}
    state |= {name: getattr(error, name) for name in _slot_names(kind, error)}
    return _construct, (kind, *args), state, None, None, set_attributes


def set_attributes(error: BaseException, state: dict[str, Any]) -> None:
    """Set the attributes of an exception, which may be frozen."""
    for name, value in state.items():
        object.__setattr__(error, name, value)


def _builtin_base(kind: type[BaseException]) -> type[BaseException]:
    return next(one for one in kind.__mro__ if one.__module__ == "builtins")


def _slot_names(kind: type, error: BaseException) -> Iterator[str]:
    for one in kind.__mro__:
        names = vars(one).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            is_private = name.startswith("__") and not name.endswith("__")
            found = f"_{one.__name__.lstrip('_')}{name}" if is_private else name
            is_kept = found not in ("__dict__", "__weakref__")
            if is_kept and safe_getattr(error, found, _slot_names) is not _slot_names:
                yield found


def _construct(kind: type[BaseException], *args: Any) -> BaseException:
    """Return an exception made without calling its class's own constructor."""
    builtin = _builtin_base(kind)
    # The constructor of a group takes no more than a message and the exceptions.
    new_args = args[:2] if BaseExceptionGroup in kind.__mro__ else args
    error = builtin.__new__(kind, *new_args)
    builtin.__init__(error, *args)
    return error
