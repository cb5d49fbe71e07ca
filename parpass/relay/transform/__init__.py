"""The passes shipped for Relay, under TVM's names, and what passes are made with.

They are loaded when one of them is first asked for here. A worker asks for none: what
it is sent names the file that a pass is in, so it starts sooner than with all others.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING
from typing import Any as _Any

from parpass.errors.missing_names import no_attribute

if TYPE_CHECKING:
    from parpass.relay.transform.shipped import *  # noqa: F403 -- found by __getattr__


def __getattr__(name: str) -> _Any:
    shipped = importlib.import_module("parpass.relay.transform.shipped")
    if name == "__all__":
        return shipped.__all__
    if name.startswith("_") or name not in shipped.__all__:
        raise no_attribute(__name__, name)
    value = globals()[name] = getattr(shipped, name)
    return value


def __dir__() -> list[str]:
    shipped = importlib.import_module("parpass.relay.transform.shipped")
    return sorted({*globals(), *shipped.__all__})
