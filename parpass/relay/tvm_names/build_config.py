"""`relay.build_config`, the name that PassContext had before."""

from __future__ import annotations

from collections.abc import Iterable

from parpass.errors.warning import warn
from parpass.transform import PassContext


def build_config(
    opt_level: int = 2,
    required_pass: Iterable[str] | None = None,
    disabled_pass: Iterable[str] | None = None,
) -> PassContext:
    """Return a `PassContext`; deprecated.

    TVM's fourth argument, `trace`, is gone: give instruments to the PassContext.
    """
    warn(
        "relay.build_config is deprecated; use parpass.transform.PassContext",
        DeprecationWarning,
    )
    return PassContext(opt_level, required_pass, disabled_pass)
