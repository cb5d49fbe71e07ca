"""The versions of TVM on which all of this was tested."""

from __future__ import annotations

import functools
from importlib.metadata import version

from parpass.errors import AdapterWarning
from parpass.spi import warn

TESTED = {
    "apache-tvm": ("0.27.0.post1",),
    "apache-tvm-ffi": ("0.1.14.post1", "0.1.15.post2"),
}


@functools.cache
def warn_if_untested() -> None:
    """Warn once, by name, of a version that was not tested."""
    for name, tested in TESTED.items():
        installed = version(name)
        if installed not in tested:
            warn(
                f"this is {name} {installed}, and parpass was tested on "
                f"{' and '.join(tested)}: functions may come out of workers otherwise "
                f"than they went in; try: pip install '{name}=={tested[-1]}'",
                AdapterWarning,
            )
