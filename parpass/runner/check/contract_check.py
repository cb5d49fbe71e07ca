"""The contract check: does a function pass depend on anything that it must not?

Under the option `parpass.check_contract` each function-wise pass is run on all
functions in three worker processes, before it is run for the result. The processes have
different hash seeds. Two go through the functions in module order; one goes backwards,
and runs the pass on each twice. A pass that keeps its contract does the same each time.

It is a mode for finding faults, and has nothing of the fast path's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from parpass.errors import ContractError, RuntimeUseError
from parpass.runner.check.contract_worker import CheckJob, FunctionReport, run_check
from parpass.runner.executor import JobLostError
from parpass.runner.placing.cores import system_has_workers
from parpass.runner.pool.loky_executor import LokyExecutor
from parpass.runner.travel.messages import pack_message, unpack_message
from parpass.runner.travel.shipment import pack_shipment
from parpass.runner.travel.snapshot import Snapshot
from parpass.transform import ModuleAdapter, Pass
from parpass.transform.budget import limits_of_call

# With two, every second set of two elements would have the same order in both.
_HASH_SEEDS = (1, 2, 3)
_ADDRESS = re.compile(r"0x[0-9a-f]+")


class ContractChecker:
    """Pools of one process each, for the passes of a run."""

    def __init__(self) -> None:
        if not system_has_workers():
            raise RuntimeUseError(
                "the contract check runs passes in processes of its own, and this "
                "system has none that parpass can watch over; check on Linux or macOS"
            )
        self._pools = [LokyExecutor(1, hash_seed=seed) for seed in _HASH_SEEDS]

    def check(
        self, step: Pass, mod: Any, adapter: ModuleAdapter, snapshot: Snapshot
    ) -> ContractError | None:
        """Return how a pass breaks its contract on a module, None if it does not.

        Raises:
            Exception: The pass cannot travel.
        """
        functions = {
            name: adapter.encode_function(function, lambda _: None)
            for name, function in adapter.functions(mod).items()
        }
        shell = adapter.encode_shell(mod)
        message = pack_shipment([step], (step, adapter))
        names = list(functions)
        limits = limits_of_call()
        orders = ((names, 1), (names[::-1], 2), (names, 1))
        jobs = [
            CheckJob(message, snapshot, shell, functions, order, times, limits)
            for order, times in orders
        ]
        for pool in self._pools:
            pool.start()
        pairs = zip(self._pools, map(pack_message, jobs), strict=True)
        answers = [pool.submit(run_check, job) for pool, job in pairs]
        ends = [answer.exception() for answer in answers]
        if any(isinstance(end, JobLostError) for end in ends):
            return None  # the run for the result dies of it, too, and blames exactly
        reports = [unpack_message(answer.result()) for answer in answers]
        comparison = _Comparison(step, adapter, adapter.decode_shell(shell))
        return comparison.first_fault(names, reports)

    def close(self) -> None:
        """End the processes."""
        for pool in self._pools:
            pool.kill()


class _Comparison:
    def __init__(self, step: Pass, adapter: ModuleAdapter, shell: Any) -> None:
        self._pass_name = step.info.name
        self._adapter = adapter
        self._shell = shell

    def first_fault(
        self,
        names: Sequence[str],
        processes: Sequence[Mapping[str, Sequence[FunctionReport]]],
    ) -> ContractError | None:
        for name in names:
            for report in (one for reports in processes for one in reports[name]):
                if report.changed is not None:
                    return self._error(name, report.changed)
        for name in names:
            first, second = processes[1][name]
            found = self._difference(first, second)
            if found is not None:
                what = "gave something else when it was run again in the same process"
                return self._error(name, what, found)
        for name in names:
            first, *others = (reports[name][0] for reports in processes)
            differences = (self._difference(first, other) for other in others)
            found = next((one for one in differences if one is not None), None)
            if found is not None:
                what = (
                    "gave something else in another process, which has another hash "
                    "seed and runs functions in another order"
                )
                return self._error(name, what, found)
        return None

    def _difference(self, one: FunctionReport, other: FunctionReport) -> str | None:
        if one.failure != other.failure:
            ends = [
                _ADDRESS.sub("0x", end or "") for end in (one.failure, other.failure)
            ]
            if ends[0] != ends[1]:
                return " or ".join(end or "no error" for end in ends)
        if one.said != other.said:
            return f"it said {one.said} or {other.said}"
        if one.result == other.result or one.result is None or other.result is None:
            return None
        functions = [
            self._adapter.decode_function(result, (), self._shell)
            for result in (one.result, other.result)
        ]
        return self._adapter.difference(*functions)

    def _error(self, function: str, what: str, found: str = "") -> ContractError:
        message = f"pass '{self._pass_name}' {what}, on function '{function}'"
        return ContractError(
            f"{message}: {found}" if found else message,
            pass_name=self._pass_name,
            function=function,
            difference=found,
        )
