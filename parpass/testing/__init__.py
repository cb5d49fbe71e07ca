"""The conformance kit for module adapters, and TVM's `tvm.testing.assert_allclose`.

    def test_my_adapter():
        check_adapter(program, [DropNoOps(), Inline()])

The interface of adapters is described in `docs/writing-an-adapter.md`. The kit checks
the law, that a parallel run gives the result of the serial run, and what it requires of
an adapter: that passes cannot observe whether a function was encoded and decoded. Each
check raises an error for the first fault: adapter, method, what was expected, what was
found, what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parpass.testing.allclose import assert_allclose
from parpass.testing.codec_trips import check_codec
from parpass.testing.copies_check import check_copies
from parpass.testing.methods_check import check_methods
from parpass.testing.run_comparison import check_parallel, check_passes
from parpass.transform import Pass

__all__ = [
    "assert_allclose",
    "check_adapter",
    "check_codec",
    "check_copies",
    "check_methods",
    "check_parallel",
    "check_passes",
]


def check_adapter(mod: Any, pipeline: Pass | Sequence[Pass] | str) -> None:
    """Run all checks: methods, codec, copies, passes, and a parallel run.

    Args:
        mod: A module, ideally with functions of every kind that the IR has.
        pipeline: Passes for it, ideally with module passes between function passes.

    Raises:
        AdapterError: A method returns an invalid value.
        LawError: The adapter breaks the law.
    """
    check_methods(mod)
    check_codec(mod)
    check_copies(mod, pipeline)
    check_passes(mod, pipeline)
    check_parallel(mod, pipeline)
