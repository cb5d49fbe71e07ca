"""The checks of runs: passes on functions that were decoded, and runs with workers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from parpass.errors import LawError
from parpass.runner import Runner, open_runner
from parpass.runner.check.codec_check import CODEC, codec_visible_error
from parpass.testing.codec_trips import ADDRESS
from parpass.transform import (
    ModuleAdapter,
    Pass,
    PassContext,
    Sequential,
    adapter_of,
    as_pass,
)
from parpass.transform.checked_adapter import adapter_name
from parpass.transform.config import ASKING_WORKERS_SECONDS
from parpass.transform.function_copies import round_trip_all
from parpass.transform.passes import flat_passes

Result = tuple[Any, Exception | None]  # a module, and the error of its pass


def check_passes(mod: Any, pipeline: Pass | Sequence[Pass] | str) -> None:
    """Check that passes cannot tell whether functions were round-tripped.

    Each pass runs in this process on the result of the passes before it, both directly
    and after a round trip through the codec. Include enough passes of the kinds that
    your users write, and one of them twice.

    Raises:
        LawError: The results of a pass differ.
        Exception: An exception that a pass raises on both.
    """
    adapter = adapter_of(mod, "check_passes")
    direct, decoded = mod, mod
    for one in single_passes(as_pass(pipeline)):
        decoded = round_trip_all(adapter, decoded)
        direct, error = result_of(one, direct)
        decoded, other = result_of(one, decoded)
        for function, found in _differences(adapter, (direct, error), (decoded, other)):
            fault = codec_visible_error(adapter, one.info.name, function, found)
            raise fault from (error or other)
        if error is not None:
            raise error


def single_passes(root: Pass) -> Iterator[Sequential]:
    """Yield the passes of a pipeline, each in a `Sequential`.

    So optimization levels and required passes apply to each.
    """
    for one in flat_passes(root):
        if not isinstance(one, Sequential):
            yield Sequential([one], name=one.info.name)


def result_of(one: Pass, mod: Any) -> Result:
    """Run a pass; return its module and its error, one of which counts."""
    try:
        return one(mod), None
    except Exception as error:  # noqa: BLE001 -- it is compared, and raised
        return mod, error


def _text(error: Exception | None) -> str:
    if error is None:
        return "no error"
    return ADDRESS.sub("0x", f"{type(error).__name__}: {error}")


def _differences(
    adapter: ModuleAdapter, one: Result, other: Result
) -> Iterator[tuple[str | None, str]]:
    """Yield the differences of two results, each with its function, if it has one."""
    texts = _text(one[1]), _text(other[1])
    if texts[0] != texts[1]:
        yield None, f"{texts[0]} and {texts[1]}"
    if one[1] is not None or other[1] is not None:
        return
    mine, others = adapter.functions(one[0]), adapter.functions(other[0])
    if list(mine) != list(others):
        yield None, f"functions {list(mine)} and {list(others)}"
        return
    for name in mine:
        found = adapter.difference(mine[name], others[name])
        if found is not None:
            yield name, found


def check_parallel(
    mod: Any, pipeline: Pass | Sequence[Pass] | str, runner: Runner | None = None
) -> None:
    """Check that a parallel run equals the serial run: functions, text, statistics.

    Args:
        mod: The module.
        pipeline: The passes.
        runner: The runner; by default a temporary one with two workers.

    Raises:
        LawError: The runs differ.
        Exception: An exception that a pass raises in both.
    """
    adapter, root = adapter_of(mod, "check_parallel"), as_pass(pipeline)
    with PassContext() as serial_context:
        serial = result_of(root, mod)
    parallel_context = PassContext(config={ASKING_WORKERS_SECONDS: 0.0})
    try:
        with contextlib.ExitStack() as opened:
            runner = runner or opened.enter_context(open_runner(workers=2))
            parallel = runner.run_sync(mod, root, context=parallel_context), None
    except Exception as raised:  # noqa: BLE001 -- it is compared, and raised
        parallel = mod, raised
    differences = [*_differences(adapter, serial, parallel)]
    counts, other_counts = serial_context.statistics, parallel_context.statistics
    if counts != other_counts:
        differences.append((None, f"{counts} and {other_counts}"))
    for function, found in differences:
        on = "" if function is None else f" on function '{function}'"
        raise LawError(
            f"adapter '{adapter_name(adapter)}': expected equal results of the serial "
            f"and the parallel run{on}, got different ones: {found} (serial first); "
            "if 'check_passes' finds nothing, run the pipeline under the option "
            "parpass.check_contract, which checks the passes",
            adapter=adapter_name(adapter),
            method=CODEC,
            function=function,
            difference=found,
        )
    if serial[1] is not None:
        raise serial[1]
