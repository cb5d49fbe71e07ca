"""Passes that run whatever the level of the context is."""

from __future__ import annotations

from parpass.transform import Pass, PassInfo, Sequential


def at_every_level(a_pass: Pass) -> Pass:
    """Return a pass that was just made, it and those in it set to run at every level.

    The `disabled_pass` of the context holds.
    """
    info = a_pass.info
    a_pass.pass_info = PassInfo(0, info.name, required=info.required)
    for child in a_pass.passes if isinstance(a_pass, Sequential) else ():
        if child is not None:
            at_every_level(child)
    return a_pass
