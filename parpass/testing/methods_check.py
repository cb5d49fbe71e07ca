"""The check of methods, with rules for results that a run takes as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from parpass.errors import AdapterError
from parpass.transform import (
    ModuleAdapter,
    Pass,
    ProgramFormat,
    ProgramSlice,
    adapter_of,
)
from parpass.transform.checked_adapter import (
    FUNCTION,
    Rule,
    adapter_name,
    note_method,
    unchecked,
    violations_of,
)
from parpass.transform.function_copies import attaches_functions, own_module


def _is_no_text(value: Any) -> bool:
    return not isinstance(value, str | bytes)


def _is_format(value: Any) -> bool:
    return isinstance(unchecked(value), ProgramFormat)


_RULES = {
    "restoring_pass": Rule("a pass or None", Pass | None),
    "faults": Rule("a sequence of str", Sequence, _is_no_text),
    "difference": Rule("a str or None", str | None),
    "program_slice": Rule("a ProgramSlice", ProgramSlice),
    "programs": Rule("a ProgramFormat", object, _is_format),
    "module_size": Rule("a tuple of int", tuple),
    "astext": Rule("a str", str),
    "reduction_patterns": Rule(
        "a sequence of reduction patterns", Sequence, _is_no_text
    ),
}


def check_methods(mod: Any) -> None:
    """Check the results of each method on a module and on its functions.

    Raises:
        AdapterError: A method returns an invalid value.
    """
    adapter = adapter_of(mod, "check_methods")
    for function in adapter.functions(mod).values():
        if adapter.mutability is not None:
            given = adapter.mutability.to_change(function)
            is_function = given is function or adapter.is_function(given)
            expect(adapter, "mutability.to_change", FUNCTION, given, is_function)
    mod = own_module(adapter, mod)
    functions = adapter.functions(mod)
    for name, function in functions.items():
        expect(adapter, "functions", "names of type str", name, type(name) is str)
        is_function = adapter.is_function(function)
        expect(adapter, "is_function", "True for each function", False, is_function)
        kind = adapter.kind_of(function)
        if kind is not None:
            _checked_result(adapter, "restoring_pass", kind)
        adapter.is_skipped(function)
        _checked_result(adapter, "faults", function, mod)
        _checked_result(adapter, "difference", function, function)
        small = adapter.size(function, 1)
        adapter.size(function, 1_000_000)
        adapter.signature(function)
        is_kept = adapter.keeps_signature(function, function)
        for violation in violations_of(adapter).values():
            raise violation
        expected = f"at most the limit of 1 for function '{name}'"
        expect(adapter, "size", expected, small, small <= 1)
        expected = f"True for function '{name}' and itself"
        expect(adapter, "keeps_signature", expected, is_kept, is_kept)
    programs = _checked_result(adapter, "programs", mod)
    for method in ("astext", "module_size"):
        _checked_result(adapter, method, mod, of=programs)
    _checked_result(adapter, "reduction_patterns", of=programs)
    _checked_result(adapter, "program_slice", mod, None)
    for name, build in _MODULES.items():
        _check_module(adapter, name, build, mod)
    shown = adapter.functions(adapter.replace_functions(mod, {}))
    expected = "the functions of the module if none is replaced"
    expect(
        adapter, "replace_functions", expected, shown, _are_identical(functions, shown)
    )


_Build = Callable[[ModuleAdapter, Any, Mapping[str, Any]], Any]
_MODULES: dict[str, _Build] = {
    "with_functions": lambda adapter, mod, given: adapter.with_functions(mod, given),
    "read_only": lambda adapter, mod, given: adapter.read_only(mod, given, "kit"),
}


def _check_module(adapter: ModuleAdapter, method: str, build: _Build, mod: Any) -> None:
    before = dict(adapter.functions(mod))
    given = _Lazy(before)
    made = build(adapter, mod, given)
    expected = "a module that keeps the given mapping, and loads none of its functions"
    sets_members = method == "with_functions" and attaches_functions(adapter, mod)
    is_kept = sets_members or not given.loaded
    if not is_kept and attaches_functions(adapter, mod):
        expected += "; override it, because 'with_functions' reads the functions"
    expect(adapter, method, expected, "a module that copies it", is_kept)
    shown = adapter.functions(made)
    expected = "a module with the given functions"
    expect(adapter, method, expected, list(shown), _are_identical(before, shown))
    empty = adapter.functions(build(adapter, mod, {}))
    expect(adapter, method, f"{expected}, none", list(empty), not empty)
    expected = "an unchanged argument"
    unchanged = _are_identical(before, adapter.functions(mod))
    expect(adapter, method, expected, "a changed one", unchanged)


class _Lazy(Mapping[str, Any]):
    """A mapping as in workers, where access decodes a function; it records accesses."""

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self._functions = functions
        self.loaded: list[str] = []

    def __getitem__(self, name: str) -> Any:
        self.loaded.append(name)
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)


def _are_identical(functions: Mapping[str, Any], shown: Mapping[str, Any]) -> bool:
    return list(functions) == list(shown) and all(
        one is shown[name] for name, one in functions.items()
    )


def _checked_result(
    adapter: ModuleAdapter, method: str, *args: Any, of: ProgramFormat | None = None
) -> Any:
    """Return what a method of an adapter, or of its program format `of`, returns.

    The adapter is in its checked form, which notes what it raises.

    Raises:
        AdapterError: It returns what it must not.
        Exception: The method raised it; a note names the method.
    """
    rule = _RULES[method]
    if of is None or of is adapter:
        found = getattr(adapter, method)(*args)
    else:
        try:
            found = getattr(of, method)(*args)
        except Exception as error:
            note_method(error, adapter, method)
            raise
    if rule.allows(found):
        return found
    raise AdapterError(adapter_name(adapter), method, rule.expected, found)


def expect(
    adapter: ModuleAdapter, method: str, expected: str, got: object, is_so: object
) -> None:
    if not is_so:
        raise AdapterError(adapter_name(adapter), method, expected, got)
