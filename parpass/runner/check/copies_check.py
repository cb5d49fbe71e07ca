"""The checks of functions that can be changed: their copies, and what changes them.

A function is copied and sent by itself. So it must own all of it that can be changed,
its copy must have the same state, and what it knows of its module must be set anew. And
a pass must change nothing but its argument.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from parpass.errors import LawError
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.adapter import FoundMutability, keep_inline
from parpass.transform.capture.intercept import allowing_capture, capturing
from parpass.transform.capture.recorder import Recorder, function_pass_body, recording
from parpass.transform.checked_adapter import adapter_name
from parpass.transform.frozen_values import is_frozen
from parpass.transform.function_copies import own_module, reached_function
from parpass.transform.object_walk import Part, parts_of
from parpass.transform.passes import FunctionPass, FunctionwisePass
from parpass.transform.plan.invoke import applies_to, transform_function
from parpass.transform.read_only_functions import ReadOnlyFunctions

_CONTAINERS = (list, dict, set, bytearray)


def state_difference(adapter: ModuleAdapter, one: Any, other: Any) -> str | None:
    """Return where the state of two functions differs; None if nowhere.

    Compared are attributes, slots and items, and which objects are the same. What they
    know of modules is left out.
    """
    found = next(_differing(adapter, one, other), None)
    if found is None:
        return None
    path, what = found
    return f"{what} at {type(one).__name__}{path}"


def _differing(
    adapter: ModuleAdapter, one: Any, other: Any
) -> Iterator[tuple[str, str]]:
    same: dict[int, int] = {}  # objects of the other function, by those of the one
    kept: list[Any] = []
    waiting = [(Part(one, "", ""), Part(other, "", ""))]
    while waiting:
        mine, others = waiting.pop()
        left, right = mine.value, others.value
        if id(left) in same:
            if same[id(left)] != id(right):
                yield mine.path, f"one {type(left).__name__} in two places, or two"
            continue
        if type(left) is not type(right) or (is_frozen(left) and is_frozen(right)):
            if type(left) is not type(right) or _is_unequal(left, right):
                yield mine.path, f"{left!r:.80} and {right!r:.80}"
            continue
        if mine.path and _is_module(adapter, left):
            continue
        same[id(left)] = id(right)
        kept += [left, right]
        found, pairs = _compared(mine, others)
        if found is not None:
            yield found
        waiting += pairs


def _compared(
    mine: Part, others: Part
) -> tuple[tuple[str, str] | None, list[tuple[Part, Part]]]:
    """Return the difference of two objects by themselves, and the pairs of their parts.

    Parts of sets come in no order, so only their number is compared.
    """
    left, right = mine.value, others.value
    shown = mine.path, f"{left!r:.80} and {right!r:.80}"
    if isinstance(left, set | frozenset):
        is_so = len(cast("set[Any]", left)) == len(cast("set[Any]", right))
        return (None if is_so else shown), []
    parts, its_parts = list(parts_of(mine)), list(parts_of(others))
    if not parts and not its_parts:
        is_compared = type(left).__eq__ is not object.__eq__
        return (shown if is_compared and _is_unequal(left, right) else None), []
    paths, its_paths = ([part.path for part in one] for one in (parts, its_parts))
    if paths == its_paths:
        return None, list(zip(parts, its_parts, strict=True))
    lost = next((path for path in paths if path not in its_paths), None)
    if lost is not None:
        return (lost, "something and nothing"), []
    new = next((path for path in its_paths if path not in paths), its_paths[0])
    return (new, "nothing and something"), []


def _is_module(adapter: ModuleAdapter, value: Any) -> bool:
    """Return whether a value is surely a module: where a dict is one, any may be."""
    return not adapter.is_module({}) and adapter.is_module(value)


def _is_unequal(one: Any, other: Any) -> bool:
    if isinstance(one, type) or callable(one):
        return one is not other
    try:
        return bool(one != other) and bool(one == one)
    except Exception:  # noqa: BLE001 -- as of arrays, which say no single thing
        return repr(one) != repr(other)


def shared_part_fault(adapter: ModuleAdapter, mod: Any) -> LawError | None:
    """Return the error for a part that two functions share, or one with the module."""
    if not isinstance(adapter.mutability, FoundMutability):
        return None
    found: dict[int, tuple[str, str]] = {}
    kept: list[Any] = []
    for name, function in adapter.functions(mod).items():
        if is_frozen(function):
            continue
        copied = adapter.mutability.to_change(function)
        kept.append(copied)
        for part in _copied_parts(adapter, function, copied):
            owner = found.setdefault(id(part.value), (name, part.path))
            if owner[0] != name:
                kind = type(part.value).__name__
                place = f"'{owner[0]}{owner[1]}' and '{name}{part.path}'"
                return LawError(
                    f"adapter '{adapter_name(adapter)}': expected each function to own "
                    f"its mutable parts, got one {kind} in two functions: {place}; "
                    "functions are copied one by one, so a pass sees two objects. Give "
                    "each function its own, or make the object a value: a frozen "
                    "dataclass, or a class whose '__reduce__' returns the name of a "
                    "single object",
                    adapter=adapter_name(adapter),
                    method="functions",
                    function=name,
                    difference=place,
                )
    return None


def _copied_parts(adapter: ModuleAdapter, one: Any, copied: Any) -> Iterator[Part]:
    """Yield the parts that can be changed of a function, of which there is a copy."""
    seen = {id(one)}
    waiting = [(Part(one, "", ""), Part(copied, "", ""))]
    while waiting:
        mine, others = waiting.pop()
        pairs = zip(parts_of(mine), parts_of(others), strict=False)
        for part, other in pairs:
            value = part.value
            if id(value) in seen or value is other.value or is_frozen(value):
                continue
            if _is_module(adapter, value):
                continue
            seen.add(id(value))
            if _may_be_changed(part):
                yield part
            waiting.append((part, other))


def _may_be_changed(part: Part) -> bool:
    """Return whether it matters to a pass that there are two of an object.

    It does not of objects without state, such as `ast.Load()`, nor of those that are
    compared by what is in them, other than containers.
    """
    value = part.value
    if isinstance(value, _CONTAINERS):
        return True
    is_compared = type(value).__eq__ is not object.__eq__
    return not is_compared and next(parts_of(part), None) is not None


def member_fault(adapter: ModuleAdapter, mod: Any) -> LawError | None:
    """Return the error for functions that lead to another module, or to each other."""
    if not isinstance(adapter.mutability, FoundMutability):
        return None
    for name, function in adapter.functions(mod).items():
        if is_frozen(function):
            continue
        reached = reached_function(adapter, mod, name, function)
        if reached is not None:
            holder, other = reached
            return _member_error(
                adapter,
                name,
                f"expected each function to be encoded alone, but '{holder}' of "
                f"'{name}' encodes '{other}' as well; leave '{holder}' out in "
                "'encode_function', and let functions refer to each other by name",
                holder,
            )
    made = own_module(adapter, mod)
    for name, function in adapter.functions(made).items():
        for part in _modules_in(adapter, function):
            if part.value is not made:
                return _member_error(
                    adapter,
                    name,
                    "expected the functions of a new module to refer to that module, "
                    f"but '{part.holder}' of '{name}' is another module; set "
                    f"'{part.holder}' of each function in 'with_functions'",
                    part.holder,
                    "with_functions",
                )
    return None


def _modules_in(adapter: ModuleAdapter, function: Any) -> Iterator[Part]:
    if adapter.is_module({}):
        return
    seen = {id(function)}
    waiting = [Part(function, "", type(function).__name__)]
    while waiting:
        for part in parts_of(waiting.pop()):
            if id(part.value) in seen or is_frozen(part.value):
                continue
            seen.add(id(part.value))
            if adapter.is_module(part.value):
                yield part
            else:
                waiting.append(part)


def _member_error(
    adapter: ModuleAdapter,
    name: str,
    message: str,
    found: str,
    method: str = "encode_function",
) -> LawError:
    return LawError(
        f"adapter '{adapter_name(adapter)}': {message}",
        adapter=adapter_name(adapter),
        method=method,
        function=name,
        difference=found,
    )


def change_fault(adapter: ModuleAdapter, pass_: Pass, mod: Any) -> LawError | None:
    """Return the error for a pass that changes a function that it must not change.

    `mod` is a copy of the module, which the check may change.
    """
    if not isinstance(pass_, FunctionPass | FunctionwisePass):
        return None
    if adapter.consumes_functions:
        return None
    name, functions = pass_.info.name, dict(adapter.functions(mod))
    before = _fingerprints(adapter, functions)
    view = adapter.read_only(mod, ReadOnlyFunctions(functions, name), name)
    context = PassContext.current()
    for running, function in functions.items():
        if not applies_to(pass_, function, adapter):
            continue
        with (
            recording(Recorder(view)),
            function_pass_body(),
            allowing_capture(),
            capturing(),
        ):
            try:
                transform_function(pass_, running, function, view, context, adapter)
            except Exception:  # noqa: BLE001 -- it is raised by the run
                continue
        changed = _changed(adapter, mod, functions, before)
        if changed is not None:
            return _change_error(adapter, name, running, *changed)
    return None


def _fingerprints(
    adapter: ModuleAdapter, functions: Mapping[str, Any]
) -> dict[str, bytes]:
    return {n: adapter.encode_function(f, keep_inline) for n, f in functions.items()}


def _changed(
    adapter: ModuleAdapter,
    mod: Any,
    functions: Mapping[str, Any],
    before: Mapping[str, bytes],
) -> tuple[str, str] | None:
    """Return which function differs from its encoded form, and how."""
    for name, function in functions.items():
        if adapter.encode_function(function, keep_inline) == before[name]:
            continue
        original = adapter.decode_function(before[name], (), mod)
        if type(function).__eq__ is object.__eq__:
            found = state_difference(adapter, original, function)
        else:
            found = adapter.difference(original, function)
        if found is not None:
            return name, found
    return None


def _change_error(
    adapter: ModuleAdapter, pass_name: str, running: str, changed: str, found: str
) -> LawError:
    if changed == running and not isinstance(adapter.mutability, FoundMutability):
        what = f"pass '{pass_name}' changed function '{running}' in place: {found}"
        advice = (
            "the adapter declares functions to be values (mutability = None); remove "
            "that, or return a new function from the pass"
        )
    else:
        what = (
            f"pass '{pass_name}' changed function '{changed}' in place when it ran on "
            f"'{running}': {found}"
        )
        advice = "a pass may change its argument, but nothing that it reads from 'mod'"
    return LawError(
        f"adapter '{adapter_name(adapter)}': {what}; {advice}",
        adapter=adapter_name(adapter),
        method="mutability",
        pass_name=pass_name,
        function=running,
        difference=found,
    )
