"""The allowed results of an adapter's methods, as `checked_adapter` enforces them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from parpass.transform.adapter import ModuleAdapter, ProgramSlice
from parpass.transform.passes import Pass
from parpass.transform.program_format import ProgramFormat

# Expected results, for messages.
_MODULE = "a module, of which 'is_module' says that it is one,"
FUNCTION = "a function, of which 'is_function' says that it is one,"
KIND = "a str or None"
# Defaults of the base class that are right, and call no other method of the adapter.
TRUSTED_DEFAULTS = frozenset(
    {
        "discard",
        "faults",
        "reduction_patterns",
        "restoring_pass",
        "signature",
        "worker_environment",
    }
)


class Rule(NamedTuple):
    """The allowed results of a method.

    Attributes:
        expected: Their description, for messages.
        kinds: Classes whose instances are allowed without a further check.
        is_right: The check of other values, called with the value and the adapter.
        advice: A remedy, for messages.
        reported_as: The method that the base class's default calls, if any: it is named
            in errors of the default.
        takes_function: Whether its first argument is a function of a module. If it is
            none, `functions` is to blame, and not what the method makes of it.
    """

    expected: str
    kinds: tuple[type, ...] = ()
    is_right: Callable[[Any, ModuleAdapter], bool] | None = None
    advice: str = ""
    reported_as: str = ""
    takes_function: bool = False


def _instance_of(*kinds: type) -> Callable[[Any, ModuleAdapter], bool]:
    def is_one(value: Any, _: ModuleAdapter) -> bool:
        return isinstance(value, kinds)

    return is_one


def _is_module(value: Any, adapter: ModuleAdapter) -> bool:
    return adapter.is_module(value)


def _is_function(value: Any, adapter: ModuleAdapter) -> bool:
    return adapter.is_function(value)


def _is_sequence(value: Any, _: ModuleAdapter) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _is_any(_value: Any, _: ModuleAdapter) -> bool:
    return True


BOOL_RULE = Rule("True or False", (bool,), advice="'return' may be missing")
_NEW_MODULE = Rule(_MODULE, (), _is_module, reported_as="with_functions")
_BYTES = Rule("bytes", (bytes,), advice="of text it is what text.encode() gives")
_FUNCTION_BYTES = _BYTES._replace(takes_function=True)

RULES: dict[str, Rule] = {
    "functions": Rule("a mapping of functions by name", (dict,), _instance_of(Mapping)),
    "with_functions": _NEW_MODULE,
    "replace_functions": _NEW_MODULE,
    "read_only": _NEW_MODULE,
    "is_module": BOOL_RULE,
    "restoring_pass": Rule("a pass or None", (type(None),), _instance_of(Pass)),
    "faults": Rule("a sequence of str", (tuple, list), _is_sequence),
    "program_slice": Rule(
        "a ProgramSlice", (ProgramSlice,), _instance_of(ProgramSlice)
    ),
    "difference": Rule("a str or None", (str, type(None)), _instance_of(str)),
    "encode_function": _FUNCTION_BYTES,
    "decode_function": Rule(FUNCTION, (), _is_function),
    "worker_environment": Rule("anything", (), _is_any),
    "encode_shell": _BYTES,
    "decode_shell": Rule(_MODULE, (), _is_module),
    "module_size": Rule("a tuple of int", (tuple,), _instance_of(tuple)),
    "astext": Rule("a str", (str,), _instance_of(str)),
    "reduction_patterns": Rule(
        "a sequence of reduction patterns", (tuple, list), _is_sequence
    ),
}
FORMAT_RULE = Rule("a ProgramFormat", (), _instance_of(ProgramFormat))


def is_size(value: Any) -> bool:
    """Return whether a value is an int of 0 or more, possibly one of numpy."""
    if value.__class__ is int:
        return value >= 0
    try:
        return not isinstance(value, bool) and operator.index(value) >= 0
    except TypeError:
        return False


# By method: the substitute for a wrong result, the check, and a description.
ADVISORY_RULES: dict[str, tuple[Any, Callable[[Any], bool], str]] = {
    "size": (1, is_size, "an int of 0 or more"),
    "signature": (None, lambda _: True, "what can be compared"),
    "keeps_signature": (False, lambda value: value.__class__ is bool, "True or False"),
    "discard": (None, lambda _: True, "nothing"),
}
