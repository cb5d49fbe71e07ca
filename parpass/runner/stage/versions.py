"""Versions of the functions of a stage: each at the start of each step, on demand.

A pass that reads another function gets it as the earlier passes returned it. Making
that version is expensive, and passes mostly need the signature of a callee, which
passes seldom change. So signatures are assumed to be those at the start of the stage,
and the functions that relied on that are recorded (optimistic validation). If the
signature of a function changes after all, its dependents run again, and from then on
the function is unstable: its signature is computed
(`outcomes.StageOutcomes.invalidate_dependents`).
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Collection, Generator, Sequence
from typing import Any, cast

from parpass.program_modules import is_of_program
from parpass.runner.ipc.function_outcome import (
    FunctionOutcome,
    Read,
    ReadKind,
    listed_reads,
)
from parpass.runner.ipc.status_board import Phase, StatusSlot
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.analysis_manager import AnalysisManager
from parpass.transform.budget import uncounted
from parpass.transform.mutability import is_value


class FunctionVersions:
    """Makes versions of functions, and records which the running pass relies on.

    Args:
        names: The names of all functions, in module order.
        load: Returns a function as it was at the start of the stage.
        run_step: Runs a step, by index, on a function of a name, without effects.
        slot: The status slot of a worker; None in the process of the caller.
        analyses: Knows whether an analysis is being computed, for others to get.
        steps: How many steps there are.
        unstable: The names of functions that are not assumed to keep their signatures.
        records_reads: Whether reads of passes are recorded, too.

    Attributes:
        index: The functions by name.
        made: The versions, by function and step.
        dependencies: Those of the function, or the version of another function, that is
            being made; with what passes read, which is inherited in the same way.
        running_on: The function that a pass runs on.
    """

    def __init__(
        self,
        adapter: ModuleAdapter,
        names: Sequence[str],
        load: Callable[[str], Any],
        run_step: Callable[[int, str, Any], Any],
        slot: StatusSlot | None,
        analyses: AnalysisManager,
        *,
        steps: int,
        unstable: Collection[str],
        records_reads: bool,
    ) -> None:
        self._adapter, self._load, self._slot = adapter, load, slot
        self._run_step, self._steps, self._analyses = run_step, steps, analyses
        self.index = {name: at for at, name in enumerate(names)}
        self._unstable = frozenset(unstable)
        self._records_reads = records_reads
        self._modules = set(sys.modules) if records_reads else set[str]()
        self.running_on: str | None = None
        self.dependencies: set[int | Read] = set()
        self._inherited: dict[tuple[str, int], set[int | Read]] = {}  # by readers
        self._signatures: dict[str, Any] = {}
        self.made: dict[tuple[str, int], Any] = {}

    def close(self) -> None:
        """Drop the interpreter, which has this."""
        del self._run_step

    def note(self, kind: ReadKind, name: str = "") -> None:
        """Note a read of a pass, if reads are recorded.

        To look up the name of the function that it runs on is no read: InferType does.
        """
        if not self._records_reads:
            return
        is_own = kind is ReadKind.NAME and name == self.running_on
        if not is_own or self._analyses.is_of_module:  # others get that, too
            self.dependencies.add((kind, name))

    def signature(self, name: str, at: int) -> Any | None:
        if self._assumes_stable_signature(name, at):
            if name not in self._signatures:
                first = self._adapter.signature(self._load_on_demand(name, at))
                self._signatures[name] = first
            self.note(ReadKind.SIGNATURE, name)
            if self._signatures[name] is not None:
                self.dependencies.add(self.index[name])
                return self._signatures[name]
        return self._adapter.signature(self.version(name, at))

    def _assumes_stable_signature(self, name: str, at: int) -> bool:
        is_known = name not in self.index or (name, at) in self.made
        return not is_known and name not in self._unstable

    def version(self, name: str, at: int) -> Any:
        """Return a function at the start of step `at`; run earlier steps if needed.

        Raises:
            KeyError: There is no function of that name.
        """
        if name not in self.index:
            self.note(ReadKind.NAME, name)
            raise KeyError(name)
        self.note(ReadKind.FUNCTION, name)
        key, versions = (name, at), self.made
        if key not in versions:
            self._make_version(name, at)
        inherited = self._inherited.get(key)
        if inherited:
            self.dependencies |= inherited
        return versions[key]

    def _make_version(self, name: str, at: int) -> None:
        versions = self.made
        known = next((i for i in range(at, 0, -1) if (name, i) in versions), 0)
        if (name, known) not in versions:
            versions[name, known] = self._load_on_demand(name, at)
        for step in range(known, at):
            with self._tracking_dependencies(name, step), self._on_demand(name, step):
                versions[name, step + 1] = self._run_step(
                    step, name, versions[name, step]
                )

    def read_original(self, name: str) -> Any | None:
        """Return a function at the start of the stage, if that was read and is a value.

        None if no pass has read it, or if one that runs on it may change it in place.
        """
        known = self.made.get((name, 0))
        is_usable = known is not None and is_value(self._adapter, known)
        return known if is_usable else None

    @contextlib.contextmanager
    def _tracking_dependencies(self, name: str, step: int) -> Generator[None]:
        """Record the dependencies of a version; its readers inherit them."""
        outer = self.dependencies
        self.dependencies = set(self._inherited.get((name, step), ()))
        try:
            yield
            if self.dependencies:
                self._inherited[name, step + 1] = self.dependencies
        finally:
            outer |= self.dependencies
            self.dependencies = outer

    def _load_on_demand(self, name: str, at: int) -> Any:
        with self._on_demand(name, at, Phase.UNPICKLE):
            return self._load(name)

    @contextlib.contextmanager
    def _on_demand(
        self, name: str, step: int, phase: Phase = Phase.PASS
    ) -> Generator[None]:
        """Record work on demand, and do not charge the current pass for the block."""
        outer = None
        if self._slot is not None:
            outer = self._slot.enter(self.index[name], step, phase)
        try:
            with uncounted():
                yield
        finally:
            if self._slot is not None and outer is not None:
                self._slot.leave(outer)

    def is_cached(self, name: str, function: Any) -> bool:
        """Return whether a function is one of its versions, which passes may read."""
        made = self.made
        return any(made.get((name, at)) is function for at in range(self._steps + 1))

    def put_dependencies(
        self, found: Collection[int | Read], outcome: FunctionOutcome
    ) -> None:
        """Put what was recorded of a function into its outcome."""
        if not self._records_reads:
            outcome.dependencies = cast("set[int]", found)
            return
        outcome.dependencies = [one for one in found if isinstance(one, int)]
        reads = [one for one in found if isinstance(one, tuple)]
        self._note_imports()
        imports = [(ReadKind.IMPORT, name) for name in sorted(_imported)]
        outcome.reads = (*listed_reads(reads), *imports)

    def _note_imports(self) -> None:
        """Note which modules of the program were loaded since the stage began."""
        if len(sys.modules) != len(self._modules):
            new = sys.modules.keys() - self._modules
            self._modules |= new
            _imported.update(name for name in new if is_of_program(name))


# The modules of the program that passes have loaded in this process, while they ran.
_imported: set[str] = set()
