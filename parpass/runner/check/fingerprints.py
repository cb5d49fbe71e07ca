"""What a pass could keep from one function to the next, and whether it changed."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from parpass.runner.travel.pickling import pack_by_value
from parpass.runner.travel.reloading import is_of_program
from parpass.transform import Pass

_OF_EVERY_CLASS = vars(type("", (), {})).keys() | {
    "__annotations__",
    "__abstractmethods__",
}

_CODE = (
    *(type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, Pass),
    *(classmethod, staticmethod, property, types.MemberDescriptorType),
    *(types.GetSetDescriptorType,),
)


def fingerprints(step: Pass) -> dict[str, Any]:
    """Return what a pass could keep from one function to the next, by what it is."""
    found: dict[str, Any] = {}
    for holder in (step, getattr(step, "_inst", None)):
        for name, value in getattr(holder, "__dict__", {}).items():
            # Functions are looked into below.
            if name != "_inst" and not isinstance(value, types.FunctionType):
                found[f"its attribute '{name}'"] = _fingerprint(value)
    functions, classes = _made_of(step)
    for function in functions:
        for name, value in _names_of(function):
            if not isinstance(value, _CODE):
                found[name] = _fingerprint(value)
    for one in classes:
        for name, value in list(vars(one).items()):
            if not isinstance(value, _CODE) and name not in _OF_EVERY_CLASS:
                what = f"the attribute '{name}' of class '{one.__name__}'"
                found[what] = _fingerprint(value)
    return found


def _made_of(step: Pass) -> tuple[list[types.FunctionType], list[type]]:
    """Return the functions and classes that a pass is made of, and those these use."""
    waiting: list[Any] = [type(step), getattr(step, "pass_func", None)]
    waiting.append(type(getattr(step, "_inst", None)))
    functions: list[types.FunctionType] = []
    classes: list[type] = []
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        one = getattr(one, "__func__", one)  # of class methods and static ones
        if not isinstance(one, type | types.FunctionType) or id(one) in seen:
            continue
        if not is_of_program(one.__module__):
            continue
        seen.add(id(one))
        if isinstance(one, type):
            classes.append(one)
            waiting += [*vars(one).values(), *one.__mro__]
        else:
            functions.append(one)
            waiting += [value for _, value in _names_of(one)]
    return functions, classes


def _names_of(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    names = list(_global_names(function.__code__))
    for name in names:
        if name not in function.__globals__:
            continue
        value = function.__globals__[name]
        yield f"the global '{name}'", value
        if isinstance(value, types.ModuleType) and is_of_program(value.__name__):
            for one in names:
                if one in vars(value):
                    yield f"the global '{name}.{one}'", vars(value)[one]
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        try:
            yield f"the variable '{name}' around it", cell.cell_contents
        except ValueError:
            continue  # it has no value yet
    for at, value in enumerate(function.__defaults__ or ()):
        yield f"the default value {at} of '{function.__name__}'", value


def _global_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def _fingerprint(value: Any) -> Any:
    try:
        return pack_by_value(value)
    except Exception:  # noqa: BLE001 -- whatever has no bytes is known by what it is
        return id(value)
