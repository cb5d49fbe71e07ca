"""The copies that a run works on, where functions can be changed.

Whatever the body of a pass can see of functions is its own: its argument, which it may
change, and the functions that it reads from the module. A module pass gets a module of
its own. So the caller's module stays as it was, in every kind of run, and the result
refers to nothing that a pass has kept. Functions that cannot be changed are shared, and
cost a look.
"""

from __future__ import annotations

import copy
import functools
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from parpass.errors import AdapterError
from parpass.errors.warning import AdapterWarning, warn
from parpass.transform.adapter import ModuleAdapter, named_trip
from parpass.transform.checked_adapter import adapter_name, members_of, unchecked
from parpass.transform.function_difference import is_surely_module
from parpass.transform.gc_pause import in_gc_pauses
from parpass.transform.mutability import FoundMutability, own_copy
from parpass.transform.object_walk import walk

_ItemT = TypeVar("_ItemT")


def take_in(adapter: ModuleAdapter, mod: Any) -> Any:
    """Return the module that a run begins with; `mod` stays as it is.

    Where passes can observe round trips, its functions have had one. Otherwise no pass
    is given its functions, but copies of them. So they are copied here only if they
    would get to know another module.
    """
    if adapter.round_trip_between_passes:
        return round_trip_all(adapter, mod)
    mutability = adapter.mutability
    assert isinstance(mutability, FoundMutability)
    began, faults = time.perf_counter(), dict[str, Exception]()
    functions = adapter.functions(mod)
    changeable = mutability.changeable(functions)
    for name in changeable:
        try:
            mutability.encoded(functions[name])
        except Exception as error:  # noqa: BLE001 -- of the codec
            faults[name] = error
    mutability.seconds += time.perf_counter() - began
    if not changeable:
        return mod
    if faults:
        warn_of_no_copies(adapter, faults)
    warn_of_reached(adapter, mod)
    if cuts_modules(adapter) or attaches_functions(adapter, mod):
        return assemble(adapter, own_shell(adapter, mod), functions, mutability.to_keep)
    return adapter.replace_functions(own_shell(adapter, mod), functions)


def own_module(adapter: ModuleAdapter, mod: Any, *, for_pass: bool = False) -> Any:
    """Return a copy of a module with copies of its functions.

    It is the module itself where an adapter states that functions are values, and where
    none of them can be changed, unless it is `for_pass`: a module pass may change the
    module all the same.
    """
    mutability = adapter.mutability
    if mutability is None:
        return mod
    functions = adapter.functions(mod)
    if not isinstance(mutability, FoundMutability):
        made = {name: mutability.to_change(one) for name, one in functions.items()}
        is_same = all(made[name] is one for name, one in functions.items())
        return mod if is_same else adapter.with_functions(mod, made)
    if not for_pass and not mutability.changeable(functions):
        return mod
    copy_into = functools.partial(own_copy, adapter)
    return assemble(adapter, own_shell(adapter, mod), functions, copy_into)


def warn_of_no_copies(adapter: ModuleAdapter, faults: Mapping[str, Exception]) -> None:
    """Warn, once, of functions that can be changed and cannot be copied."""
    name, error = next(iter(faults.items()))
    others = f", and {len(faults) - 1} others" if len(faults) > 1 else ""
    warn(
        f"adapter '{adapter_name(adapter)}': function '{name}'{others} can be changed "
        f"in place, and cannot be copied ({type(error).__name__}: {error}), so passes "
        "are given the function itself, and a pass that changes it changes the module "
        "that you passed in; let 'encode_function' encode it, or set mutability = None "
        "if passes change nothing in place",
        AdapterWarning,
    )


_MOST_WALKED = 500  # parts of one function, those first to which the way is short


def warn_of_reached(adapter: ModuleAdapter, mod: Any) -> None:
    """Warn if the first function leads to other functions of its module.

    They are encoded with it then, each time.
    """
    functions = adapter.functions(mod)
    if len(functions) == 1:
        return
    name, function = next(iter(functions.items()))
    found = reached_function(adapter, mod, name, function)
    if found is None:
        return
    holder, other = found
    warn(
        f"adapter '{adapter_name(adapter)}': function '{name}' leads to function "
        f"'{other}' by '{holder}', so each time that it is copied, or sent to a "
        "worker, the other is copied with it, and what a pass does to that copy is "
        "lost; let functions refer to each other by name, or leave "
        f"'{holder}' out in 'encode_function'",
        AdapterWarning,
    )


def reached_function(
    adapter: ModuleAdapter, mod: Any, name: str, function: Any
) -> tuple[str, str] | None:
    """Return by which attribute a function leads to a second one, and its name.

    With a codec of its own an adapter may leave that out, so what was decoded is looked
    at: whether it leads to another module than the one that it was decoded into.
    """
    members, functions = members_of(adapter), adapter.functions(mod)
    names = {id(one): other for other, one in functions.items() if one is not function}
    if members is None:
        function, names = own_copy(adapter, function, mod), {}

    def is_left_out(value: Any) -> bool:
        return value is mod if members is None else members.knows(value)

    other = next((one for one in functions if one != name), name)
    for part in walk(function, _MOST_WALKED, lambda one: not is_left_out(one)):
        if id(part.value) in names:
            return part.holder, names[id(part.value)]
        if not is_left_out(part.value) and is_surely_module(adapter, part.value):
            return part.holder, other
    return None


def round_trip_all(adapter: ModuleAdapter, mod: Any) -> Any:
    named = {item[0]: item for item in adapter.functions(mod).items()}
    return assemble(
        adapter, mod, named, lambda item, made: named_trip(adapter, *item, made)
    )


def own_shell(adapter: ModuleAdapter, mod: Any) -> Any:
    """Return a copy of a module without functions; the module if there is no copy."""
    _check_new_module(adapter, mod)
    try:
        return adapter.decode_shell(adapter.encode_shell(mod))
    except Exception:  # noqa: BLE001 -- who sends it to workers says more
        return mod


def assemble(
    adapter: ModuleAdapter,
    base: Any,
    items: Mapping[str, _ItemT],
    load: Callable[[_ItemT, Any], Any],
) -> Any:
    """Return a module like `base` with functions that are its members.

    `load` returns the function of an item, as a member of a module. `with_functions`
    may set what a function knows of its module. If it does not, and functions were
    encoded without their module, they are decoded into the new one.
    """

    def loaded(mod: Any) -> dict[str, Any]:
        with in_gc_pauses(items.items()) as named:
            return {name: load(item, mod) for name, item in named}

    functions: dict[str, Any] | None = None
    if not cuts_modules(adapter):  # as far as is known before they are encoded
        functions = loaded(base)
    if cuts_modules(adapter) and not attaches_functions(adapter, base):
        made = adapter.with_functions(base, {})
        shown: Any = adapter.functions(made)
        if type(shown) is dict and adapter.functions(made) is shown:
            cast("dict[str, Any]", shown).update(loaded(made))
            return made
    if functions is None:
        functions = loaded(base)
    return adapter.replace_functions(base, functions)


def with_members(adapter: ModuleAdapter, mod: Any, changed: Mapping[str, Any]) -> Any:
    """Return a module like `mod` with some functions replaced.

    If functions refer to their module all of them are copied, as one can be in one
    module only.
    """
    mutability = adapter.mutability
    if not (cuts_modules(adapter) and isinstance(mutability, FoundMutability)):
        return adapter.replace_functions(mod, changed)
    functions = {**adapter.functions(mod), **changed}
    return assemble(adapter, mod, functions, mutability.to_keep)


def cuts_modules(adapter: ModuleAdapter) -> bool:
    """Return whether functions of this run refer to their module."""
    members = members_of(adapter)
    is_found = isinstance(adapter.mutability, FoundMutability)
    return is_found and members is not None and members.cuts


def attaches_functions(adapter: ModuleAdapter, mod: Any) -> bool:
    """Return whether `with_functions` accesses the functions.

    Then it may set what they know of their module.
    """
    try:
        unchecked(adapter).with_functions(mod, {"kit": _Untouchable()})
    except Exception:  # noqa: BLE001 -- whatever it did with what is none
        return True
    return False


class _Untouchable:
    """A value that stands for a function; any access to it raises."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(name)


def _check_new_module(adapter: ModuleAdapter, mod: Any) -> None:
    """Check that `with_functions` leaves a module as it is.

    It is tried on a copy: one that changes its argument would take the functions out of
    the module that the user passed in.

    Raises:
        AdapterError: It returns its argument.
    """
    own = unchecked(adapter)
    try:
        given = copy.copy(mod)
        made = own.with_functions(given, {})
    except Exception:  # noqa: BLE001 -- the run comes to it, and says more
        return
    if made is given and given is not mod and own.functions(mod):
        raise AdapterError(
            adapter_name(adapter),
            "with_functions",
            "a new module, and an unchanged argument",
            made,
            "put the functions into a copy of the module",
        )
