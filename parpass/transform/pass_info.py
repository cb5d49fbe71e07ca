"""PassInfo, what is known of a pass before it runs, and names of passes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec
from msgspec.structs import force_setattr

from parpass.errors import ArgumentError


class PassInfo(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """The name, level and requirements of a pass; read-only, compared by identity.

    Attributes:
        opt_level: The lowest level at which a `Sequential` runs the pass. Any int, so
            you can reserve a level for your own passes.
        name: The name by which contexts enable and disable it.
        required: Names of the passes that a `Sequential` runs before it.
    """

    opt_level: int
    name: str
    required: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.opt_level), int):
            swapped = isinstance(cast("object", self.name), int)
            advice = f"; write PassInfo({self.name!r}, {self.opt_level!r})"
            raise ArgumentError(
                f"expected an int for opt_level of pass '{self.name}', got "
                f"{self.opt_level!r}{advice if swapped else ''}"
            )
        if not isinstance(cast("object", self.name), str):
            raise ArgumentError(f"expected a str for a pass's name, got {self.name!r}")
        required = checked_names(self.required, "required") if self.required else ()
        force_setattr(self, "required", required)

    def __repr__(self) -> str:
        return (
            f"transform.PassInfo(opt_level={self.opt_level}, "
            f'name="{self.name}", required={self.required})'
        )


def is_restoring(pass_: Any, restoring: Any) -> bool:
    """Return whether a pass is the restoring pass of its IR, which may be None.

    They are compared by name: an adapter may make a new one each time, and passes that
    a decorator made are of one class.
    """
    return restoring is not None and restoring.info.name == pass_.info.name


def checked_names(value: Iterable[str], what: str) -> tuple[str, ...]:
    """Return an iterable of names as a tuple.

    Raises:
        ArgumentError: It is a plain string, no iterable, or holds something else.
    """
    if isinstance(value, str):
        raise ArgumentError(
            f"expected a list of names for {what}, got the str {value!r}; "
            f"write [{value!r}]"
        )
    try:
        found = tuple(value)
    except TypeError:
        raise ArgumentError(
            f"expected a list of names for {what}; {value!r} is not iterable"
        ) from None
    for name in found:
        if not isinstance(cast("object", name), str):
            raise ArgumentError(f"expected names in {what}, got {name!r}")
    return found
