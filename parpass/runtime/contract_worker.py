"""The contract check in a worker: runs one pass and sees what it changes."""

from __future__ import annotations

import gc
import pickle
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cloudpickle

from parpass.runtime.packing import pack_message, unpack_message
from parpass.runtime.snapshot import Snapshot
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.apply import (
    applies_to,
    function_pass_body,
    transform_function,
)
from parpass.transform.interception import intercepting, keeping
from parpass.transform.record import Recorder, recording


@dataclass(frozen=True, slots=True)
class CheckJob:
    """A pass and all functions of a module.

    Attributes:
        message: The pass and the adapter, by cloudpickle.
        snapshot: The settings.
        shell: The module without functions, encoded.
        functions: The functions, encoded.
        order: The names of the functions in the order to go through.
        times: How often to run the pass on each.
    """

    message: bytes
    snapshot: Snapshot
    shell: bytes
    functions: Mapping[str, bytes]
    order: Sequence[str]
    times: int


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
    job: CheckJob = unpack_message(packed)
    step, adapter = pickle.loads(job.message)  # from our own coordinator
    work = _Work(step, adapter, job)
    context = job.snapshot.context()
    # What the pass logs is heard in the run itself.
    with (
        job.snapshot.in_force(context),
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
        before = _fingerprints(self._step)
        recorder = Recorder(view)
        result, failure = None, None
        with recording(recorder):
            try:
                made = transform_function(
                    self._step, name, function, view, context, self._adapter
                )
                result = self._adapter.encode_function(made, lambda _: None)
            except Exception as error:  # noqa: BLE001 -- it is compared
                failure = f"{type(error).__name__}: {error}"
        said = [recorder.diag_ctx.diagnostics, dict(sorted(recorder.counters.items()))]
        changed = _changed(before, _fingerprints(self._step)) or functions.changed()
        if changed is None and self._adapter.encode_shell(view) != rest:
            changed = "changed the module that it was given"
        text = "" if not any(said) else repr(said)
        return FunctionReport(result, failure, text, changed)


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


def _fingerprints(step: Pass) -> dict[str, Any]:
    """Return what a pass could keep from one function to the next, by what it is."""
    found: dict[str, Any] = {}
    for holder in (step, getattr(step, "_inst", None)):
        for name, value in getattr(holder, "__dict__", {}).items():
            # Functions are looked into below.
            if name != "_inst" and not isinstance(value, types.FunctionType):
                found[f"its attribute '{name}'"] = _fingerprint(value)
    for function in _functions_of(step):
        for name, value in _kept_by(function):
            found[name] = _fingerprint(value)
    return found


def _functions_of(step: Pass) -> list[types.FunctionType]:
    """Return the functions that a pass is made of, those they call in turn included."""
    waiting: list[Any] = [type(step), getattr(step, "pass_func", None)]
    waiting.append(type(getattr(step, "_inst", None)))
    found: dict[int, types.FunctionType] = {}
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        home = getattr(one, "__module__", None) or ""
        if id(one) in seen or home.partition(".")[0] in ("parpass", "builtins"):
            continue
        seen.add(id(one))
        if isinstance(one, type):
            waiting += [*vars(one).values(), *one.__mro__]
        elif isinstance(one, types.FunctionType):
            found[id(one)] = one
            waiting += [value for _, value in _names_of(one) if _is_code_of(value, one)]
    return list(found.values())


def _is_code_of(value: Any, user: types.FunctionType) -> bool:
    is_code = isinstance(value, type | types.FunctionType)
    return is_code and getattr(value, "__module__", None) == user.__module__


def _kept_by(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    code = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, Pass)
    for name, value in _names_of(function):
        if not isinstance(value, code):
            yield name, value


def _names_of(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name in _global_names(function.__code__):
        if name in function.__globals__:
            yield f"the global '{name}'", function.__globals__[name]
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        try:
            yield f"the variable '{name}' around it", cell.cell_contents
        except ValueError:
            continue  # it has no value yet
    for at, value in enumerate(function.__defaults__ or ()):
        yield f"the default value {at} of '{function.__name__}'", value


def _global_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def _fingerprint(value: Any) -> Any:
    try:
        return cloudpickle.dumps(value)
    except Exception:  # noqa: BLE001 -- whatever has no bytes is known by what it is
        return id(value)
