"""The contract check: finds function passes whose results depend on their process.

Under the option `parpass.check_contract` each function-wise pass runs on all functions
in three worker processes, before it runs for the result. The processes have different
hash seeds. Two process the functions in module order; one in reverse order, and runs
the pass on each twice. A pass that keeps its contract has the same result each time.

A pass that declares that its results may be kept is watched: it reads no file, clock or
environment.

One of them runs the pass once more, on functions as the passes before returned them
there. If the codec is invisible, as the law demands, the result is again the same.

The check is for debugging, and not optimized.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parpass.errors import ContractError, LawError, RuntimeUseError
from parpass.runner.check.codec_check import (
    codec_visible_error,
    round_trip_fault,
)
from parpass.runner.check.worker import CheckJob, FunctionReport, run_check
from parpass.runner.cores import supports_workers
from parpass.runner.executor import JobLostError
from parpass.runner.follow.payload import encode_payload
from parpass.runner.follow.pickling import find_unpicklable, pickle_briefly
from parpass.runner.follow.snapshot import Snapshot
from parpass.runner.pool.worker_pool import Pool
from parpass.transform import ModuleAdapter, Pass
from parpass.transform.adapter import keep_inline
from parpass.transform.budget import call_limits

# With two, every second set of two elements would have the same order in both.
_HASH_SEEDS = (1, 2, 3)
_ADDRESS = re.compile(r"0x[0-9a-f]+")


class ContractChecker:
    """Checks the passes of a run; owns pools of one process each."""

    def __init__(self) -> None:
        if not supports_workers():
            raise RuntimeUseError(
                "the contract check needs worker processes, which this system does "
                "not support; check on Linux or macOS"
            )
        self._pools = [Pool(1, hash_seed=seed) for seed in _HASH_SEEDS]

    def check(
        self, step: Pass, mod: Any, adapter: ModuleAdapter, snapshot: Snapshot
    ) -> ContractError | LawError | None:
        """Return the error of a pass or of the adapter's codec; None if there is none.

        Raises:
            RuntimeUseError: The pass cannot be pickled; the message names the part.
        """
        functions: dict[str, bytes] = {}
        for name, function in adapter.functions(mod).items():
            fault = round_trip_fault(adapter, name, function, mod)
            if fault is not None:
                return fault
            functions[name] = adapter.encode_function(function, keep_inline)
        shell = adapter.encode_shell(mod)
        try:
            message = encode_payload([step], adapter, (step, adapter))
        except Exception as error:
            reason = find_unpicklable(step, step.info.name)
            if reason is None:
                raise
            raise RuntimeUseError(
                "the contract check runs passes in worker processes, but pass "
                f"'{step.info.name}' cannot be sent there: {reason}; create that "
                "object in the pass's body, or drop it in '__getstate__'"
            ) from error
        names = list(functions)
        limits = call_limits()
        orders = ((names, 1, True), (names[::-1], 2, False), (names, 1, False))
        jobs = [
            CheckJob(message, snapshot, shell, functions, order, times, limits, chains)
            for order, times, chains in orders
        ]
        for pool in self._pools:
            pool.start()
        pairs = zip(self._pools, map(pickle_briefly, jobs), strict=True)
        answers = [pool.submit(run_check, job) for pool, job in pairs]
        ends = [answer.exception() for answer in answers]
        if any(isinstance(end, JobLostError) for end in ends):
            return None  # the run for the result attributes the death
        reports = [pickle.loads(answer.result()) for answer in answers]
        mod = adapter.decode_shell(shell)
        return _first_fault(step, adapter, mod, names, reports)

    def close(self) -> None:
        for pool in self._pools:
            pool.kill()


# The reports of one process on each run of the pass on a function, by its name.
_Reports = Mapping[str, Sequence[FunctionReport]]


def _first_fault(
    step: Pass,
    adapter: ModuleAdapter,
    mod: Any,
    names: Sequence[str],
    processes: Sequence[_Reports],
) -> ContractError | LawError | None:
    for name in names:
        for report in (one for reports in processes for one in reports[name]):
            if report.changed is not None:
                return _contract_error(step, name, report.changed)
    for name, what, one, other in _equal_reports(names, processes):
        found = _difference(adapter, mod, one, other)
        if found is not None:
            return _contract_error(step, name, what, found)
    for name in names:
        decoded = processes[0][name][0]
        if decoded.chained is not None:
            found = _difference(adapter, mod, decoded.chained, decoded)
            if found is not None:
                return codec_visible_error(adapter, step.info.name, name, found)
    return None


def _equal_reports(
    names: Sequence[str], processes: Sequence[_Reports]
) -> Iterator[tuple[str, str, FunctionReport, FunctionReport]]:
    """Yield pairs of reports on a function that must be equal, and a fault if not."""
    for name in names:
        what = "gave another result when it ran again in the same process"
        first, second = processes[1][name]
        yield name, what, first, second
    what = (
        "gave another result in another process, with another hash seed and another "
        "order of functions"
    )
    for name in names:
        first, *others = (reports[name][0] for reports in processes)
        for other in others:
            yield name, what, first, other


def _difference(
    adapter: ModuleAdapter, mod: Any, one: FunctionReport, other: FunctionReport
) -> str | None:
    if one.failure != other.failure:
        ends = [_ADDRESS.sub("0x", end or "") for end in (one.failure, other.failure)]
        if ends[0] != ends[1]:
            return " or ".join(end or "no error" for end in ends)
    if one.effects != other.effects:
        return f"it reported {one.effects} or {other.effects}"
    if one.result == other.result or one.result is None or other.result is None:
        return None
    functions = [
        adapter.decode_function(result, (), mod)
        for result in (one.result, other.result)
    ]
    return adapter.difference(*functions)


def _contract_error(
    step: Pass, function: str, what: str, found: str = ""
) -> ContractError:
    message = f"pass '{step.info.name}' {what}, on function '{function}'"
    return ContractError(
        f"{message}: {found}" if found else message,
        pass_name=step.info.name,
        function=function,
        difference=found,
    )
