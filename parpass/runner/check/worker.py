"""The contract check in a worker: runs one pass, and detects state that it keeps."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import pickle
import types
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parpass.errors.adapters import format_with_method
from parpass.program_modules import is_of_program
from parpass.runner.check.codec_check import changed_in_place
from parpass.runner.check.outside_reads import outside_reads
from parpass.runner.follow.payload import StagePayload
from parpass.runner.follow.pickling import pickle_briefly, pickle_by_value
from parpass.runner.follow.snapshot import Snapshot
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.adapter import keep_inline
from parpass.transform.budget import (
    Budget,
    Settings,
    budgets_of,
    in_worker,
    or_exit,
)
from parpass.transform.capture.intercept import capturing
from parpass.transform.capture.recorder import Recorder, recording
from parpass.transform.code_names import closure_of, named_globals, names_in
from parpass.transform.passes import declared_cacheable, holders_of
from parpass.transform.plan.invoke import applies_to, transform_function

_TIMEOUT_FACTOR = 4.0  # of the time limit of a pass, until it is taken to hang

_CODE = (
    *(type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, Pass),
    *(classmethod, staticmethod, property, types.MemberDescriptorType),
    *(types.GetSetDescriptorType,),
)


def fingerprints(step: Pass) -> dict[str, Any]:
    """Return the fingerprints of all state in which a pass could keep results."""
    return {what: _fingerprint(value) for what, value in _state_of(step)}


def _state_of(step: Pass) -> Iterator[tuple[str, Any]]:
    """Yield the attributes, globals, closures and default values of a pass, as text."""
    for holder in holders_of(step):
        for name, value in getattr(holder, "__dict__", {}).items():
            # Functions are looked into below.
            if name != "_inst" and not isinstance(value, types.FunctionType):
                yield f"its attribute '{name}'", value
    functions, classes = _referenced_code(step)
    for function in functions:
        for what, value in _names_of(function):
            if not isinstance(value, _CODE):
                yield what, value
    for one in classes:
        for name, value in list(vars(one).items()):
            # Names of Python's own: `copyreg` keeps `__slotnames__` of what it pickles.
            is_own = name.startswith("__") and name.endswith("__")
            if not isinstance(value, _CODE) and not is_own:
                yield f"the attribute '{name}' of class '{one.__name__}'", value


def _referenced_code(step: Pass) -> tuple[list[types.FunctionType], list[type]]:
    """Return the functions and classes of a pass, and those that they refer to."""
    waiting: list[Any] = [type(holder) for holder in holders_of(step)]
    waiting.append(getattr(step, "pass_func", None))
    functions: list[types.FunctionType] = []
    classes: list[type] = []
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        one = getattr(one, "__func__", one)  # of class methods and static ones
        if not isinstance(one, type | types.FunctionType) or id(one) in seen:
            continue
        if not is_of_program(one.__module__):
            continue
        seen.add(id(one))
        if isinstance(one, type):
            classes.append(one)
            waiting += [*vars(one).values(), *one.__mro__]
        else:
            functions.append(one)
            waiting += [value for _, value in _names_of(one)]
    return functions, classes


def _names_of(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    names = names_in(function.__code__)
    for name, value in named_globals(function).items():
        yield f"the global '{name}'", value
        if isinstance(value, types.ModuleType) and is_of_program(value.__name__):
            for one in names:
                if one in vars(value):
                    yield f"the global '{name}.{one}'", vars(value)[one]
    for name, value in closure_of(function).items():
        yield f"the variable '{name}' around it", value
    for at, value in enumerate(function.__defaults__ or ()):
        yield f"the default value {at} of '{function.__name__}'", value


def _fingerprint(value: Any) -> Any:
    try:
        return pickle_by_value(value)
    except Exception:  # noqa: BLE001 -- compared by identity
        return id(value)


@dataclass(frozen=True, slots=True)
class CheckJob:
    """A pass and all functions of a module.

    Attributes:
        message: The encoded payload: the pass and the adapter.
        shell: The module without functions, encoded.
        functions: The functions, encoded.
        order: The names of the functions, in the order of processing.
        times: The number of times that the pass runs on each.
        limits: The budgets of the call.
        chains: Whether to run the pass once more on functions as earlier passes
            returned them in this process.
    """

    message: bytes
    snapshot: Snapshot
    shell: bytes
    functions: Mapping[str, bytes]
    order: Sequence[str]
    times: int
    limits: Settings
    chains: bool = False


@dataclass(slots=True)
class FunctionReport:
    """The result of a pass on one function.

    Attributes:
        result: The function, encoded; None if the pass failed.
        effects: The diagnostics, remarks and counters, as text.
        changed: The state that the pass changed, or read, and must not, as text; None
            for none.
        chained: The result on the function as earlier passes returned it, without a
            round trip; None if that was not run.
    """

    result: bytes | None
    failure: str | None
    effects: str
    changed: str | None = None
    chained: FunctionReport | None = None


# The results of earlier passes in this process, by name of the function. The processes
# of a check belong to one run.
_returned: dict[str, Any] = {}


def run_check(packed: bytes) -> bytes:
    """Run an encoded `CheckJob`; return the encoded reports, by function."""
    faulthandler.disable()  # a crash happens in the run, too, and is reported there
    job: CheckJob = pickle.loads(packed)
    payload = StagePayload(job.message, follows=True)
    payload.activate()
    step, adapter = payload.spec
    context = job.snapshot.context()
    work = _PassRunner(step, adapter, job, context)
    # The pass logs in the run for the result.
    with job.snapshot.activated(context, job.limits), capturing():
        reports = {
            name: [work.run(name) for _ in range(job.times)] for name in job.order
        }
        if job.chains:
            work.run_chained(reports)
    gc.collect()
    return pickle_briefly(reports)


class _PassRunner:
    def __init__(
        self, step: Pass, adapter: ModuleAdapter, job: CheckJob, context: PassContext
    ) -> None:
        self._step, self._adapter, self._context = step, adapter, context
        self._shell, self._encoded = job.shell, job.functions
        self._is_declared = bool(declared_cacheable(step))

    def run(self, name: str) -> FunctionReport:
        """Run the pass on a function, and find what else it changes, or reads.

        Each time on a module of its own, so that only what the pass itself keeps can
        get from one function to the next.
        """
        adapter, step = self._adapter, self._step
        functions, view = self._module({})
        rest = adapter.encode_shell(view)
        before = fingerprints(step)
        nothing = contextlib.nullcontext(list[str]())
        with outside_reads() if self._is_declared else nothing as reads:
            report, made = self._report(name, functions[name], view)
        report.changed = _first_change(before, fingerprints(step))
        if report.changed is None:
            found = functions.changed()
            if found is not None:
                report.changed = f"changed function '{found[0]}' of its input in place"
            elif adapter.encode_shell(view) != rest:
                report.changed = "changed its input module"
            elif reads:
                what = f"reads what no key covers, by {reads[0]}"
                report.changed = f"declares cacheable, but {what}"
        if made is not None and all(one is not made for one in functions.made.values()):
            adapter.discard(made)  # as in the run, so that a pass that keeps it fails
        return report

    def run_chained(self, reports: Mapping[str, Sequence[FunctionReport]]) -> None:
        """Add the results on functions as earlier passes returned them to reports."""
        made: dict[str, Any] = {}
        for name, (report, *_) in reports.items():
            if report.failure is None and report.changed is None:
                functions, view = self._module(_returned)
                given = functions[name]
                report.chained, new = self._report(name, given, view)
                made[name] = given if new is None else new
        _returned.clear()
        _returned.update(made)

    def _module(self, known: Mapping[str, Any]) -> tuple[_Functions, Any]:
        """Return functions as a pass is given them, and a module with them to read."""
        mod = self._adapter.decode_shell(self._shell)
        functions = _Functions(self._adapter, mod, self._encoded, known)
        reader = self._step.info.name
        return functions, self._adapter.read_only(mod, functions, reader)

    def _report(
        self, name: str, function: Any, view: Any
    ) -> tuple[FunctionReport, Any]:
        """Run the pass; return the report, and the new function if it returned one."""
        adapter, step, context = self._adapter, self._step, self._context
        if not applies_to(step, function, adapter):
            return FunctionReport(self._encoded[name], None, ""), function
        recorder = Recorder(view)
        made, result, failure = None, None, None
        with recording(recorder), _held_to(*budgets_of([step], context.config)):
            try:
                made = transform_function(step, name, function, view, context, adapter)
                result = adapter.encode_function(made, keep_inline)
            except BaseException as error:  # noqa: BLE001 -- it is compared
                failure = format_with_method(error)
        return FunctionReport(result, failure, _effects_text(recorder)), made


def _effects_text(recorder: Recorder) -> str:
    counters = dict(sorted(recorder.counters.items()))
    effects = [recorder.diag_ctx.diagnostics, counters, recorder.remarks]
    return repr(effects) if any(effects) else ""


@contextlib.contextmanager
def _held_to(budget: Budget) -> Generator[None]:
    """End this process if a pass hangs, and limit its memory.

    The pass hangs in the run for the result as well, where it is attributed.
    """
    with (
        in_worker(budget),
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        or_exit(budget, nowhere, _TIMEOUT_FACTOR, 1.0),
    ):
        yield


class _Functions(Mapping[str, Any]):
    """The functions of a module, decoded on first access.

    A function that is the same as one of `known` is that object, as a serial run passes
    it from pass to pass.

    Attributes:
        made: Those that were accessed.
    """

    def __init__(
        self,
        adapter: ModuleAdapter,
        mod: Any,
        encoded: Mapping[str, bytes],
        known: Mapping[str, Any],
    ) -> None:
        self._adapter, self._mod = adapter, mod
        self._encoded, self._known = encoded, known
        self.made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.made:
            given = self._adapter.decode_function(self._encoded[name], (), self._mod)
            is_known = name in self._known and self._is_same(self._known[name], given)
            self.made[name] = self._known[name] if is_known else given
        return self.made[name]

    def _is_same(self, known: Any, given: Any) -> bool:
        # A module pass may have made another one of it, even of another IR.
        with contextlib.suppress(Exception):
            return self._adapter.difference(known, given) is None
        return False

    def __iter__(self) -> Iterator[str]:
        return iter(self._encoded)

    def __len__(self) -> int:
        return len(self._encoded)

    def changed(self) -> tuple[str, str] | None:
        """Return which function was changed in place, and the difference."""
        return changed_in_place(self._adapter, self.made, self._encoded, self._mod)


def _first_change(before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    for what in (*before, *after):
        if before.get(what) != after.get(what):
            return f"changed {what}"
    return None
