"""The recorder of a pass body: diagnostics, remarks, counters, changed functions."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

from parpass.diagnostic import Diagnostic, DiagnosticContext, DiagnosticLevel
from parpass.remark import Remark
from parpass.transform.capture.change import AnyChange
from parpass.transform.variable_setting import setting

_in_function_pass: ContextVar[bool] = ContextVar(
    "parpass_in_function_pass", default=False
)
_recorder: ContextVar[Recorder | None] = ContextVar("parpass_recorder", default=None)


class Recorded(Protocol):
    """The effects that a pass recorded, here or in a worker."""

    @property
    def diagnostics(self) -> Sequence[Diagnostic]: ...
    @property
    def remarks(self) -> Sequence[Remark]: ...
    @property
    def changes(self) -> Sequence[AnyChange]: ...
    @property
    def counted(self) -> Mapping[str, int] | None: ...


class Recorder:
    """Records the diagnostics, remarks and counters of a pass body.

    One is created for each body, and most bodies emit nothing, so its parts are created
    on first use.

    Attributes:
        analyses: The `AnalysisManager` of the run; None if no results are kept.
        module: The module that the pass runs on.
        function_name: The function that a function pass is running on.
        diagnostics_before: The number of diagnostics of the pass before this body, as
            far as it is known in this process.
        remarks_before: As `diagnostics_before`.
        changes: The changes of functions that instruments want to get.
    """

    __slots__ = (
        "_counters",
        "_diag_ctx",
        "analyses",
        "changes",
        "diagnostics_before",
        "function_name",
        "module",
        "pass_name",
        "remarks",
        "remarks_before",
    )

    def __init__(
        self,
        module: Any,
        pass_name: str | None = None,
        analyses: Any = None,
    ) -> None:
        self.module = module
        self.analyses = analyses
        self.pass_name = pass_name
        self._diag_ctx: DiagnosticContext | None = None
        self._counters: Counter[str] | None = None
        self.function_name: str | None = None
        self.diagnostics_before = 0
        self.remarks: Sequence[Remark] = ()
        self.remarks_before = 0
        self.changes: Sequence[AnyChange] = ()

    @property
    def diag_ctx(self) -> DiagnosticContext:
        if self._diag_ctx is None:
            # A body that renders ends by an error; its diagnostics are rendered later.
            self._diag_ctx = DiagnosticContext(self.module, _deferred)
        return self._diag_ctx

    @property
    def counters(self) -> Counter[str]:
        if self._counters is None:
            self._counters = Counter()
        return self._counters

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        return () if self._diag_ctx is None else self._diag_ctx.diagnostics

    @property
    def counted(self) -> Mapping[str, int] | None:
        return self._counters

    @property
    def diagnostic_count(self) -> int:
        return self.diagnostics_before + len(self.diagnostics)

    @property
    def remark_count(self) -> int:
        return self.remarks_before + len(self.remarks)

    @property
    def is_empty(self) -> bool:
        return not (self.diagnostics or self.remarks or self._counters or self.changes)

    def nested(self) -> Recorder:
        """Return a recorder for a part of the body; see `take_over`."""
        made = Recorder(self.module, self.pass_name, self.analyses)
        made.function_name = self.function_name
        made.diagnostics_before = self.diagnostic_count
        made.remarks_before = self.remark_count
        return made

    def add_remarks(self, remarks: Iterable[Remark]) -> None:
        """Add remarks of the body, or of a pass that it ran."""
        if not isinstance(self.remarks, list):
            self.remarks = []
        self.remarks.extend(remarks)

    def take_over(self, other: Recorded) -> None:
        """Add what was recorded on a part, such as one function, after what is here."""
        if other.diagnostics:
            self.diag_ctx.diagnostics.extend(other.diagnostics)
        if other.remarks:
            self.add_remarks(other.remarks)
        if other.changes:
            if not isinstance(self.changes, list):
                self.changes = []
            self.changes.extend(other.changes)
        if other.counted:
            self.counters.update(other.counted)


def has_error(diagnostics: Iterable[Diagnostic]) -> bool:
    """Return whether one of these is an error: it ends the run after the pass."""
    return any(one.level == DiagnosticLevel.ERROR for one in diagnostics)


def _deferred(_diag_ctx: DiagnosticContext) -> None:
    pass


current_recorder = _recorder.get
recording = functools.partial(setting, _recorder)  # for a block
# Its two halves, for code that runs for each pass: no frame, for speed.
start_recording = _recorder.set
stop_recording = _recorder.reset

# Whether this is called from the body of a function pass. Nested passes of such a body
# are not shown to instruments: they run in workers.
inside_function_pass = _in_function_pass.get
# For a block.
function_pass_body = functools.partial(setting, _in_function_pass, True)
# Its two halves, likewise.
start_body = _in_function_pass.set
stop_body = _in_function_pass.reset
