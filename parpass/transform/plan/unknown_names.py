"""Names that a context requires or disables, and that no pass has."""

from __future__ import annotations

import functools

from parpass.errors import PassNameWarning
from parpass.errors.core import nearest, quoted
from parpass.errors.warning import warn
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.adapter_registry import accepts_passes_of
from parpass.transform.context import PassContext
from parpass.transform.pass_registry import names_in_contexts
from parpass.transform.passes import Pass, flat_passes

# How much alike a misspelt name is to the one that is meant. What is less like any name
# may be of a pass that is defined later, or of TVM's alone, and is accepted.
_LEAST_ALIKE = 0.8


def warn_of_unknown_names(
    root: Pass, context: PassContext, adapter: ModuleAdapter
) -> None:
    """Warn of names in a context that are nearly those of passes, once for a context.

    Only passes of the module's IR are offered. Those that are not loaded are imported
    only if a name is neither in the pipeline nor of a pass that is.
    """
    unchecked = context.unchecked_names()
    if not unchecked:
        return
    known = {name: name for name in _names_in(root)}
    for declared in (False, True):
        unchecked = [(of, name) for of, name in unchecked if known.get(name) != name]
        if not unchecked:
            return
        known = names_in_contexts(declared=declared) | known
    of_ir = names_in_contexts(functools.partial(accepts_passes_of, adapter))
    offered = {*of_ir.values(), *_names_in(root)}
    for of, name in unchecked:
        if known.get(name) == name:
            continue
        meant = of_ir.get(name)
        near = [meant] if meant else nearest(name, offered, least_alike=_LEAST_ALIKE)
        if near:
            warn(
                f"{of} of the PassContext has '{name}', but no pass has that name; "
                f"did you mean {quoted(near)}?",
                PassNameWarning,
            )


def _names_in(root: Pass) -> set[str]:
    """Return the names of passes in a pipeline, and of those that they require."""
    return {
        name
        for one in flat_passes(root)
        for name in (one.info.name, *one.info.required)
    }
