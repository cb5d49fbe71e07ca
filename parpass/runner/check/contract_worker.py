"""The contract check in a worker: runs one pass and sees what it changes."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parpass.runner.check.fingerprints import fingerprints
from parpass.runner.stage.memory_guard import memory_guard
from parpass.runner.travel.messages import pack_message, unpack_message
from parpass.runner.travel.shipment import Shipment
from parpass.runner.travel.snapshot import Snapshot
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.budget import Budget, Limits, budgets_of, limits_in_force
from parpass.transform.plan.bodies import applies_to, transform_function
from parpass.transform.saying.interception import intercepting, keeping
from parpass.transform.saying.record import Recorder, function_pass_body, recording

_PATIENCE = 4.0  # times what a pass may take, before it is taken to hang


@dataclass(frozen=True, slots=True)
class CheckJob:
    """A pass and all functions of a module.

    Attributes:
        message: The pass and the adapter, as a shipment.
        snapshot: The settings.
        shell: The module without functions, encoded.
        functions: The functions, encoded.
        order: The names of the functions in the order to go through.
        times: How often to run the pass on each.
        limits: The budgets of the call.
    """

    message: bytes
    snapshot: Snapshot
    shell: bytes
    functions: Mapping[str, bytes]
    order: Sequence[str]
    times: int
    limits: Limits


@dataclass(frozen=True, slots=True)
class FunctionReport:
    """What came of a pass on one function.

    Attributes:
        result: The function, encoded; None if it failed.
        failure: What was raised, as text.
        said: What diagnostics and counters say, as text.
        changed: What the pass changed that it must not, in words.
    """

    result: bytes | None
    failure: str | None
    said: str
    changed: str | None


def run_check(packed: bytes) -> bytes:
    """Run a job; takes a CheckJob, returns reports by the names of functions."""
    faulthandler.disable()  # what dies here dies in the run, too, and is told then
    job: CheckJob = unpack_message(packed)
    shipment = Shipment(job.message, follows=True)
    shipment.put_in_force()
    step, adapter = shipment.spec
    work = _Work(step, adapter, job)
    context = job.snapshot.context()
    job.snapshot.logging.apply()
    # What the pass logs is heard in the run itself.
    with (
        job.snapshot.in_force(context),
        limits_in_force(job.limits),
        function_pass_body(),
        intercepting(),
        keeping(),
    ):
        reports = {
            name: [work.run(name, context) for _ in range(job.times)]
            for name in job.order
        }
    gc.collect()
    return pack_message(reports)


class _Work:
    def __init__(self, step: Pass, adapter: ModuleAdapter, job: CheckJob) -> None:
        self._step = step
        self._adapter = adapter
        self._shell = job.shell
        self._encoded = job.functions

    def run(self, name: str, context: PassContext) -> FunctionReport:
        # Each time on a module of its own, so that only what the pass itself keeps can
        # get from one function to the next.
        shell = self._adapter.decode_shell(self._shell)
        functions = _Decoded(self._adapter, shell, self._encoded)
        function = functions[name]
        if not applies_to(self._step, function, self._adapter):
            return FunctionReport(self._encoded[name], None, "", None)
        view = self._adapter.read_only(shell, functions, self._step.info.name)
        rest = self._adapter.encode_shell(view)
        before = fingerprints(self._step)
        recorder = Recorder(view)
        made, result, failure = None, None, None
        with recording(recorder), _ending(*budgets_of([self._step], context.config)):
            try:
                made = transform_function(
                    self._step, name, function, view, context, self._adapter
                )
                result = self._adapter.encode_function(made, lambda _: None)
            except Exception as error:  # noqa: BLE001 -- it is compared
                failure = f"{type(error).__name__}: {error}"
        said = [recorder.diag_ctx.diagnostics, dict(sorted(recorder.counters.items()))]
        changed = _changed(before, fingerprints(self._step)) or functions.changed()
        if changed is None and self._adapter.encode_shell(view) != rest:
            changed = "changed the module that it was given"
        text = "" if not any(said) else repr(said)
        if made is not None and not functions.has(made):
            self._adapter.discard(made)  # as in the run, so it is seen who keeps it
        return FunctionReport(result, failure, text, changed)


@contextlib.contextmanager
def _ending(budget: Budget) -> Generator[None]:
    """End this process if a pass hangs, and refuse memory beyond its limit.

    In the run for the result it hangs as well, and that tells where.
    """
    with contextlib.ExitStack() as stack:
        if budget.memory is not None:
            stack.enter_context(memory_guard(budget.memory))
        if budget.seconds is not None:
            nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            seconds = _PATIENCE * budget.seconds + 1.0
            faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
            stack.callback(faulthandler.cancel_dump_traceback_later)
        yield


class _Decoded(Mapping[str, Any]):
    """The functions of a module, decoded when they are asked for."""

    def __init__(
        self, adapter: ModuleAdapter, shell: Any, encoded: Mapping[str, bytes]
    ) -> None:
        self._adapter = adapter
        self._shell = shell
        self._encoded = encoded
        self._decoded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._decoded:
            self._decoded[name] = self._adapter.decode_function(
                self._encoded[name], (), self._shell
            )
        return self._decoded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._encoded)

    def __len__(self) -> int:
        return len(self._encoded)

    def has(self, function: Any) -> bool:
        """Return whether this is one of those that were decoded."""
        return any(one is function for one in self._decoded.values())

    def changed(self) -> str | None:
        """Return which function was changed in place, in words."""
        for name, function in self._decoded.items():
            original = self._adapter.decode_function(
                self._encoded[name], (), self._shell
            )
            if self._adapter.difference(original, function) is not None:
                return f"changed function '{name}', that it was given, in its place"
        return None


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    for what in (*before, *after):
        if before.get(what) != after.get(what):
            return f"changed {what}"
    return None
