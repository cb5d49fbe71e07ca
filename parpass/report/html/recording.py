"""Recorded runs: their timeline, the versions of functions, remarks."""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parpass.errors import ParpassError
from parpass.instrument import PassInstrument
from parpass.remark import Remark
from parpass.report.html.document import Chain, Version
from parpass.report.report import RunReport
from parpass.report.timeline import Recorded, Slice, function_calls
from parpass.transform import ModuleAdapter, PassInfo, adapter_of
from parpass.transform.capture.change import FunctionChange
from parpass.transform.capture.structural_diff import ComparedText

MAX_TEXT_BYTES = 100_000_000  # of all versions, deflated: to about a tenth
_NO_TEXT = zlib.compress(b"")  # of a function that a pass removed


class RecordedRuns(PassInstrument):
    """The recorded activities of some runs, and their effects on functions.

    Texts are made and deflated in the workers, and kept so.

    Attributes:
        report: The report of the last run; None if none has ended.
        failure: The error that ended the recording, as text; None if none did.
        remarks: The remarks, in serial order.
        changed: How many functions each pass changed.
        tracks: The slices of each track, by its name.
        seconds: The time of each pass on each function, by function and pass.
        calls: How often each pass ran on a function.
        sources: The source texts of the modules, by name.
        chains: How compiled functions came from the source; a build adds them.
        command: The command that made it; empty if a program did.
        trace: The trace file of the runs, compressed; empty if there is none.
        left_out: How many versions were not kept, as there was too much text.
    """

    observes_ir = False

    def __init__(self) -> None:
        self.report: RunReport | None = None
        self.failure: str | None = None
        self.remarks: list[Remark] = []
        self.changed: Counter[str] = Counter()
        self.tracks: defaultdict[str, list[Slice]] = defaultdict(list)
        self.seconds: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self.calls: Counter[str] = Counter()
        self.sources: dict[str, str] = {}
        self.chains: Sequence[Chain] = ()
        self.command = ""
        self.trace = b""
        self.left_out = 0
        self._versions: dict[str, list[tuple[str | None, bytes]]] = {}
        self._bytes = 0
        self._module: tuple[Any, ModuleAdapter] | None = None

    def on_remark(self, info: PassInfo, remark: Remark) -> None:
        del info
        self.remarks.append(remark)

    def on_function_changed(self, info: PassInfo, change: FunctionChange) -> None:
        """Record the function before, if it was not changed yet, and after."""
        self.changed[info.name] += 1
        versions = self._versions.setdefault(change.function, [])
        before, after = change.deflated
        if not versions and before is not None:
            self._keep(versions, None, before)
        self._keep(versions, info.name, after or _NO_TEXT)

    def _keep(
        self, versions: list[tuple[str | None, bytes]], after: str | None, text: bytes
    ) -> None:
        self._bytes += len(text)
        if self._bytes > MAX_TEXT_BYTES:
            self.left_out += 1
        else:
            versions.append((after, text))

    def add_slices(self, recorded: Recorded) -> None:
        """Record what a track did; a sink of `Tracing`."""
        slices = recorded.ordered_slices
        self.tracks[recorded.track.name] += slices
        for pass_name, call in function_calls(slices):
            took = self.seconds[call.name]
            took[pass_name] = took.get(pass_name, 0.0) + call.ended - call.began
            self.calls[pass_name] += 1

    def add_module(self, mod: Any) -> None:
        """Record the module that a run returned, whose functions are shown as well."""
        try:
            self._module = mod, adapter_of(mod, "Recording")
        except ParpassError:  # an expression, say, which was lifted to a module
            self._module = None
        sources: Mapping[str, str] | None = getattr(mod, "sources", None)
        self.sources |= sources or {}

    def fail(self, error: BaseException) -> None:
        notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
        is_failure = isinstance(error, Exception)
        what = "The run failed" if is_failure else "The run was cancelled"
        self.failure = f"{what}: {type(error).__name__}: {error}{notes}"

    def functions(self) -> list[str]:
        """Return the names of all functions: those of the module, then others."""
        known: dict[str, None] = {}
        if self._module is not None:
            mod, adapter = self._module
            known = dict.fromkeys(adapter.functions(mod))
        return list(known | dict.fromkeys([*self._versions, *self.seconds]))

    def versions(self, function: str) -> Iterator[Version]:
        """Yield the versions of a function that were kept, the first one first.

        Of one that no pass changed it is the one that is in the module.
        """
        kept: Sequence[tuple[str | None, bytes]] = self._versions.get(function, ())
        before: ComparedText | None = None
        for after, deflated in kept:
            text = zlib.decompress(deflated).decode()
            made = ComparedText(text)
            yield Version(after, text, "" if before is None else before.diff_to(made))
            before = made
        if kept or self._module is None:
            return
        mod, adapter = self._module
        value = adapter.functions(mod).get(function)
        if value is not None:
            yield Version(None, adapter.function_text(function, value, mod), "")
