"""The rules of what methods of adapters return, where a run takes it as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from parpass.errors import AdapterError
from parpass.transform import ModuleAdapter, Pass, ProgramFormat, ProgramSlice
from parpass.transform.checked_adapter import adapter_name, note_method, unchecked


class _Rule(NamedTuple):
    """The rule of a method: a description of its results, and a check."""

    expected: str
    is_right: Callable[[Any], bool]


def _instance_of(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _is_format(value: Any) -> bool:
    return isinstance(unchecked(value), ProgramFormat)


_RULES = {
    "restoring_pass": _Rule("a pass or None", _instance_of(Pass, type(None))),
    "faults": _Rule("a sequence of str", _is_sequence),
    "difference": _Rule("a str or None", _instance_of(str, type(None))),
    "program_slice": _Rule("a ProgramSlice", _instance_of(ProgramSlice)),
    "programs": _Rule("a ProgramFormat", _is_format),
    "module_size": _Rule("a tuple of int", _instance_of(tuple)),
    "astext": _Rule("a str", _instance_of(str)),
    "reduction_patterns": _Rule("a sequence of reduction patterns", _is_sequence),
}


def checked_result(
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
    if rule.is_right(found):
        return found
    raise AdapterError(adapter_name(adapter), method, rule.expected, found)
