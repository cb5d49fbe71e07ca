"""What cases of case files ask for and pipelines have no text for.

`SETTINGS` are those of field `with`: a case runs in them. `test.ConvertLayout` is a
pass whose argument is a table.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, TypeVar

from parpass.function_registry import register_func
from parpass.ir.op.op_registration import TempOpAttr
from parpass.relay.transform import ConvertLayout, LayoutConfig
from parpass.relay.transform.layout.alter_op_layout import conv2d_nchwc
from parpass.target import Target

_Setting = AbstractContextManager[Any]
_Value = TypeVar("_Value")


def _target(text: str) -> list[_Setting]:
    return [Target(text)]


def _blocks(text: str) -> list[_Setting]:
    return [TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", conv2d_nchwc(int(text)))]


def _skip(text: str) -> list[_Setting]:
    return [LayoutConfig([int(number) for number in text.split()])]


# By the first word of a setting, what makes it of the others.
SETTINGS: dict[str, Callable[[str], list[_Setting]]] = {
    "target": _target,  # of this text
    "blocks": _blocks,  # of so many channels, in which convolutions compute
    "skip": _skip,  # convolutions of these numbers, when layouts are changed
}


def settings(text: str) -> AbstractContextManager[None]:
    """Return the context of some settings, one a line.

    Raises:
        ValueError: There is no such setting, or it is not of these words.
        ParpassError: An operator or a target is not known.
    """
    made: list[_Setting] = []
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        made += _named(name, SETTINGS)(rest)
    return _all_of(made)


def _named(name: str, table: Mapping[str, _Value]) -> _Value:
    if name not in table:
        known = ", ".join(f"'{one}'" for one in table)
        raise ValueError(f"expected one of {known}, got '{name}'")
    return table[name]


@contextmanager
def _all_of(made: Sequence[_Setting]) -> Generator[None]:
    with ExitStack() as stack:
        for one in made:
            stack.enter_context(one)
        yield


def _convert_layout(desired: Sequence[str]) -> ConvertLayout:
    """Return the pass for operators, each with layouts behind it: `nn.conv2d NHWC`."""
    rows = [one.split() for one in desired]
    return ConvertLayout({name: layouts for name, *layouts in rows})


register_func("test.ConvertLayout", _convert_layout)
