"""What the runner does to be fast, each of which can be switched off.

None of it shows in what a run gives. Where a parallel run gives something else than the
serial one all the same, switching one after the other off tells which is at fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from parpass.transform.config import register_config_option


class Optimizations(msgspec.Struct, frozen=True):
    """The value of the option `parpass.optimizations`; all is on by default.

    Attributes:
        stages: Passes go through a worker together, up to one that needs all functions.
            Off, each waits for the one before to have been through all functions.
        small_work: What would take longer to send is run in the caller's process.
        bundles: Small functions are packed together, what they share only once.
        retained_bytes: Functions stay packed from one stage to the next.
        kept_signatures: A pass that asks for the type of another function is told the
            one that it had when the stage began; if it changed, the pass is run again.
        large_value_bytes: Values from so many bytes on do not travel with a function.
            A very large number has all travel.
        remembered_analyses: What a pass found out about a function, and wrote down with
            it, is not found out again: in Relay, that it is typed.
    """

    stages: bool = True
    small_work: bool = True
    bundles: bool = True
    retained_bytes: bool = True
    kept_signatures: bool = True
    large_value_bytes: int = 16 * 1024
    remembered_analyses: bool = True


OPTIMIZATIONS = register_config_option(
    "parpass.optimizations",
    Optimizations,
    "what the runner does to be fast; false switches a part off, to learn whether it "
    "is at fault where a parallel run differs from the serial one",
).key

_ALL = Optimizations()


def optimizations_in(config: Mapping[str, Any]) -> Optimizations:
    """Return what is switched on under these options."""
    return config.get(OPTIMIZATIONS, _ALL)
