"""What cases of case files ask for and pipelines have no text for.

`SETTINGS` are those of field `with`: a case runs in them. `test.ConvertLayout` and
`test.MergeComposite` are passes whose own arguments are tables.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from parpass.function_registry import register_func
from parpass.ir.op_registration import TempOpAttr
from parpass.relay.dataflow_pattern import DFPattern, is_op, wildcard
from parpass.relay.transform import ConvertLayout, MergeComposite
from parpass.relay.transform.layout.alter_op_layout import conv2d_nchwc
from parpass.target import Target

_Setting = AbstractContextManager[Any]

PATTERNS: dict[str, DFPattern] = {
    "add_relu": is_op("nn.relu")(wildcard() + wildcard()),
    "relu": is_op("nn.relu")(wildcard()),
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


# By the first word of a setting, what makes it of the others.
SETTINGS: dict[str, Callable[[str], list[_Setting]]] = {
    "target": _target,  # of this text
    "compiler": _compiler,  # of this name, which supports these operators
    "blocks": _blocks,  # of so many channels, in which convolutions compute
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
        if name not in SETTINGS:
            known = ", ".join(f"'{one}'" for one in SETTINGS)
            raise ValueError(f"expected one of {known}, got '{name}'")
        made += SETTINGS[name](rest)
    return _all_of(made)


@contextmanager
def _all_of(made: Sequence[_Setting]) -> Generator[None]:
    with ExitStack() as stack:
        for one in made:
            stack.enter_context(one)
        yield


def _convert_layout(desired: Sequence[str]) -> ConvertLayout:
    """Return the pass for operators, each with its layouts behind it: `nn.conv2d NHWC`.

    An operator without layouts stands alone.
    """
    rows = [one.split() for one in desired]
    return ConvertLayout({name: layouts for name, *layouts in rows})


def _merge_composite(patterns: Sequence[str]) -> MergeComposite:
    """Return the pass for some of `PATTERNS`."""
    return MergeComposite([(name, PATTERNS[name]) for name in patterns])


register_func("test.ConvertLayout", _convert_layout)
register_func("test.MergeComposite", _merge_composite)
