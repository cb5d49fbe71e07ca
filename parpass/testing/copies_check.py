"""The checks of functions that can be changed: their copies, and what changes them.

A function is copied and sent by itself. So it must own all of it that can be changed,
its copy must have the same state, and what it knows of its module must be set anew. And
a pass must change nothing but its argument.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from parpass.errors import LawError
from parpass.runner.check.codec_check import changed_in_place
from parpass.testing.run_comparison import result_of, single_passes
from parpass.transform import ModuleAdapter, Pass, PassContext, adapter_of, as_pass
from parpass.transform.adapter import keep_inline
from parpass.transform.capture.intercept import allowing_capture, capturing
from parpass.transform.capture.recorder import Recorder, function_pass_body, recording
from parpass.transform.checked_adapter import adapter_name
from parpass.transform.frozen_values import is_frozen
from parpass.transform.function_copies import (
    own_module,
    reached_function,
    round_trip_all,
)
from parpass.transform.function_difference import is_surely_module
from parpass.transform.mutability import FoundMutability
from parpass.transform.object_walk import Part, parts_of, walk
from parpass.transform.passes import FunctionPass, FunctionwisePass
from parpass.transform.plan.invoke import applies_to, transform_function
from parpass.transform.read_only_functions import ReadOnlyFunctions

_CONTAINERS = (list, dict, set, bytearray)


def check_copies(mod: Any, pipeline: Pass | Sequence[Pass] | str) -> None:
    """Check that functions can be copied, and that passes change no others in place.

    Each function must own everything in it that can be changed, and must reach no
    module but its own. If the adapter says that functions are values, passes must not
    change any.

    Raises:
        LawError: Functions share a part, refer to each other or to another module, or a
            pass changes a function that it must not.
    """
    adapter = adapter_of(mod, "check_copies")
    for fault in (_shared_part_fault(adapter, mod), _member_fault(adapter, mod)):
        if fault is not None:
            raise fault
    if adapter.consumes_functions:
        return
    for one in single_passes(as_pass(pipeline)):
        (body,) = (step for step in one.passes if step is not None)
        # A copy in any case: a pass may change what the adapter says is a value.
        fault = _change_fault(adapter, body, round_trip_all(adapter, mod))
        if fault is not None:
            raise fault
        mod, error = result_of(one, round_trip_all(adapter, mod))
        if error is not None:
            raise error


def _shared_part_fault(adapter: ModuleAdapter, mod: Any) -> LawError | None:
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
            if is_surely_module(adapter, value):
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


def _member_fault(adapter: ModuleAdapter, mod: Any) -> LawError | None:
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
    for part in walk(function, sys.maxsize, lambda one: not adapter.is_module(one)):
        if adapter.is_module(part.value):
            yield part


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


def _change_fault(adapter: ModuleAdapter, pass_: Pass, mod: Any) -> LawError | None:
    """Return the error for a pass that changes a function that it must not change.

    `mod` is a copy of the module, which the check may change.
    """
    if not isinstance(pass_, FunctionPass | FunctionwisePass):
        return None
    if adapter.consumes_functions:
        return None
    name, functions = pass_.info.name, dict(adapter.functions(mod))
    before = {n: adapter.encode_function(f, keep_inline) for n, f in functions.items()}
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
        changed = changed_in_place(adapter, functions, before, mod)
        if changed is not None:
            return _change_error(adapter, name, running, *changed)
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
