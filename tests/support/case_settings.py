"""What cases of case files ask for and pipelines have no text for.

`SETTINGS` are those of field `with`: a case runs in them. `test.ChangeBatch`,
`test.ConvertLayout` and `test.MergeComposite` are passes whose arguments are tables.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, TypeVar

from parpass import relay
from parpass.function_registry import register_func
from parpass.ir.op_registration import TempOpAttr
from parpass.relay.dataflow_pattern import DFPattern, is_op, wildcard
from parpass.relay.expr import const
from parpass.relay.transform import (
    ChangeBatch,
    ConvertLayout,
    LayoutConfig,
    MergeComposite,
)
from parpass.relay.transform.layout.alter_op_layout import conv2d_nchwc
from parpass.target import Target

_Setting = AbstractContextManager[Any]
_Value = TypeVar("_Value")

PATTERNS: dict[str, DFPattern] = {
    "add_relu": is_op("nn.relu")(wildcard() + wildcard()),
    "relu": is_op("nn.relu")(wildcard()),
}

# What becomes of `nn.relu`, by its argument; None leaves it.
LEGALIZATIONS: dict[str, Callable[[Any], Any]] = {
    "a_maximum": lambda x: relay.maximum(x, const(0.0)),
    "itself_of_a_sum": lambda x: relay.nn.relu(x + x),
    "left": lambda _: None,
}


def _always(_call: Any) -> bool:
    return True


def _target(text: str) -> list[_Setting]:
    return [Target(text)]


def _compiler(text: str) -> list[_Setting]:
    name, *operators = text.split()
    return [TempOpAttr(one, f"target.{name}", _always) for one in operators]


def _blocks(text: str) -> list[_Setting]:
    return [TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", conv2d_nchwc(int(text)))]


def _skip(text: str) -> list[_Setting]:
    return [LayoutConfig([int(number) for number in text.split()])]


def _relu(text: str) -> list[_Setting]:
    become = _named(text, LEGALIZATIONS)

    def rule(_attrs: Any, args: Sequence[Any], _types: Any) -> Any:
        return become(args[0])

    return [TempOpAttr("nn.relu", "FTVMLegalize", rule)]


# By the first word of a setting, what makes it of the others.
SETTINGS: dict[str, Callable[[str], list[_Setting]]] = {
    "target": _target,  # of this text
    "compiler": _compiler,  # of this name, which supports these operators
    "blocks": _blocks,  # of so many channels, in which convolutions compute
    "skip": _skip,  # convolutions of these numbers, when layouts are changed
    "relu": _relu,  # that Legalize makes this of `LEGALIZATIONS`
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


def _change_batch(data: Sequence[str], batch_size: int) -> ChangeBatch:
    """Return the pass for parameters, each with its axis behind it: `data 0`."""
    rows = [one.split() for one in data]
    return ChangeBatch({name: int(axis) for name, axis in rows}, batch_size)


def _convert_layout(desired: Sequence[str]) -> ConvertLayout:
    """Return the pass for operators, each with layouts behind it: `nn.conv2d NHWC`."""
    rows = [one.split() for one in desired]
    return ConvertLayout({name: layouts for name, *layouts in rows})


def _merge_composite(patterns: Sequence[str]) -> MergeComposite:
    """Return the pass for some of `PATTERNS`."""
    return MergeComposite([(name, _named(name, PATTERNS)) for name in patterns])


register_func("test.ChangeBatch", _change_batch)
register_func("test.ConvertLayout", _convert_layout)
register_func("test.MergeComposite", _merge_composite)
