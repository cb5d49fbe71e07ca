"""What is in the way of running a stage in workers, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.errors import RuntimeUseError, SlowerRunWarning, UnpicklablePassWarning
from parpass.errors.warning import warn
from parpass.runner.executor import NoWorkersError
from parpass.runner.report.account import Account
from parpass.runner.report.figures import Reason
from parpass.runner.travel.folder import StorageError
from parpass.runner.travel.pickling import why_not_picklable
from parpass.runner.travel.shipment import UnloadableError, UnsendableError
from parpass.runner.travel.snapshot import Snapshot
from parpass.tables import keep_back, program_entries
from parpass.transform import Pass

_TOLD = {
    Reason.NO_ROOM: (
        "there is no room to share bytes with the workers ({})",
        "; enlarge /dev/shm, or set TMPDIR to a folder with room",
    ),
    Reason.UNSENDABLE: ("the workers cannot be sent {}", ""),
    Reason.UNLOADABLE: ("the workers cannot load {}", ""),
    Reason.NO_PROCESSES: ("no processes can be started ({})", ""),
}

REASONS: dict[type[Exception], Reason] = {
    StorageError: Reason.NO_ROOM,
    UnsendableError: Reason.UNSENDABLE,
    NoWorkersError: Reason.NO_PROCESSES,
}
BE_SENT, BE_LOADED = "be sent to the workers", "be loaded by the workers"


def why_not_sent(
    steps: Sequence[Pass], snapshot: Snapshot, error: Exception
) -> list[str | None]:
    """Return what is in the way of sending each pass; None for those that can go.

    Raises:
        RuntimeUseError: The settings cannot travel.
    """
    reason = snapshot.why_not_picklable()
    if reason is not None:
        raise RuntimeUseError(
            f"the settings cannot be sent to the workers: {reason}"
        ) from error
    return [why_not_picklable(step, step.info.name) for step in steps]


def why_not_loaded(steps: int, error: UnloadableError) -> list[str | None]:
    """Return the same of loading them, if it is one of them that cannot be loaded."""
    reasons: list[str | None] = [None] * steps
    if error.step is not None:
        reasons[error.step] = error.why
    return reasons


def is_kept_back(error: UnloadableError) -> bool:
    """Have what was registered, and cannot be loaded, stay; return whether that helps.

    The workers do without, while nobody asks for it.
    """
    stuck = [one for one in program_entries() if str(one) == error.entry]
    for entry in stuck:
        keep_back(entry, error.why)
    return any(entry.has_state for entry in stuck)


def check_not_isolated(
    steps: Sequence[Pass], reasons: Sequence[str | None], what: str, *, isolated: bool
) -> None:
    """Check that passes which cannot go to workers may run here.

    Raises:
        RuntimeUseError: The run is isolated, and there are some.
    """
    if not isolated:
        return
    for step, reason in zip(steps, reasons, strict=True):
        if reason is not None:
            raise _not_isolated(f"pass '{step.info.name}' cannot {what}: {reason}")


def tell_of_passes(
    steps: Sequence[Pass], reasons: Sequence[str | None], what: str, account: Account
) -> None:
    """Warn that passes run here, and take it down."""
    for step, reason in zip(steps, reasons, strict=False):
        name = step.info.name
        account.stays(name, str(reason))
        warn(
            f"pass '{name}' cannot {what}, so it runs in this process: {reason}",
            UnpicklablePassWarning,
        )


def tell_of_run(reason: Reason, detail: str, *, isolated: bool) -> None:
    """Warn that all that is left of a run is done here.

    Raises:
        RuntimeUseError: The run is isolated.
    """
    told, advice = _TOLD[reason]
    told = told.format(detail)
    if isolated:
        raise _not_isolated(told)
    warn(
        f"{told}, so the rest of this run stays in this process{advice}",
        SlowerRunWarning,
    )


def _not_isolated(why: str) -> RuntimeUseError:
    return RuntimeUseError(
        f"an isolated run has all function passes in workers, and {why}; mend "
        "that, or run without isolated=True"
    )
