"""What a module says of a name that it does not have.

TVM's names that are out are listed in `tvm_names_out.toml`, with what to use instead.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import NoReturn


def no_attribute(module: str, name: str) -> AttributeError:
    """Return the error for a name that a module does not have.

    Of a name of TVM's it says why it is out, and what to use. The nearest name is added
    by Python when the error is shown, since it is told the module.
    """
    reason = None if name.startswith("_") else reasons().get((module, name))
    told = f", which TVM has: {reason}" if reason else ""
    return AttributeError(
        f"module '{module}' has no attribute '{name}'{told}",
        name=name,
        obj=sys.modules.get(module),
    )


def refusing(module: str) -> Callable[[str], NoReturn]:
    """Return a `__getattr__` for a module that has all of its names in it."""

    def __getattr__(name: str) -> NoReturn:  # noqa: N807 -- what it is for
        raise no_attribute(module, name)

    return __getattr__


@functools.cache
def reasons() -> dict[tuple[str, str], str]:
    """Return why TVM's names are out, by module and name."""
    # Nobody else needs these; modules are imported without them.
    import tomllib
    from importlib import resources

    text = resources.files("parpass.errors").joinpath("tvm_names_out.toml").read_text()
    return {
        (module, name): entry["why"]
        for entry in tomllib.loads(text)["out"]
        for module in entry["modules"]
        for name in entry["names"].split()
    }
