"""Instruments for tests: they log their calls, and may veto or raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parpass.instrument import PassInstrument
from parpass.remark import Remark
from parpass.transform import Pass, PassContext, PassInfo
from parpass.transform.capture.change import FunctionChange


class Log(PassInstrument):
    """Logs each call as `[LABEL]HOOK[ PASS]`.

    Args:
        label: Comes first, to tell instruments apart.
        log: Where to append, to share it.
        at: Called with the hook's name, the module and the pass's name, to look, or to
            raise; what it returns is the answer of `should_run`.
    """

    def __init__(
        self,
        label: str = "",
        log: list[str] | None = None,
        at: Callable[[str, Any, str], Any] | None = None,
    ) -> None:
        super().__init__()
        self.label = label
        self.log: list[str] = [] if log is None else log
        self._at = at

    def enter_pass_ctx(self) -> None:
        self._take("enter")

    def exit_pass_ctx(self) -> None:
        self._take("exit")

    def should_run(self, mod: Any, info: PassInfo) -> bool:
        answer = self._take("should", mod, info.name)
        return True if self._at is None else answer

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        self._take("before", mod, info.name)

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        self._take("after", mod, info.name)

    def run_after_failed_pass(self, mod: Any, info: PassInfo, error: Exception) -> None:
        self._take("failed", mod, info.name)

    def _take(self, hook: str, mod: Any = None, pass_name: str = "") -> Any:
        self.log.append(f"{self.label}{hook} {pass_name}".rstrip())
        return True if self._at is None else self._at(hook, mod, pass_name)


def raising_at(hook: str, pass_name: str = "") -> Callable[[str, Any, str], bool]:
    """Return a callable for `Log` that raises at one hook, of one pass if named."""

    def at(seen: str, _mod: Any, seen_pass: str) -> bool:
        if seen == hook and pass_name in ("", seen_pass):
            raise LookupError(f"{hook} fails")
        return True

    return at


def vetoing(*pass_names: str) -> Callable[[str, Any, str], bool]:
    """Return a callable for `Log` that vetoes passes."""
    return lambda _hook, _mod, pass_name: pass_name not in pass_names


class Blind(PassInstrument):
    """Logs names only, and does not look at the IR, so that stages are fused."""

    observes_ir = False

    def __init__(self) -> None:
        super().__init__()
        self.log: list[str] = []
        self.modules: list[Any] = []

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        self.modules.append(mod)
        self.log.append(f"before {info.name}")

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        self.modules.append(mod)
        self.log.append(f"after {info.name}")

    def run_after_failed_pass(self, mod: Any, info: PassInfo, error: Exception) -> None:
        self.log.append(f"failed {info.name}")


class RemarkLog(Blind):
    """Logs remarks, too, which passes are therefore asked for.

    Args:
        at: Called with each remark, to raise.
    """

    def __init__(self, at: Callable[[Remark], object] = id) -> None:
        super().__init__()
        self.remarks: list[Remark] = []
        self._at = at

    def on_remark(self, info: PassInfo, remark: Remark) -> None:
        self.log.append(f"remark of {info.name}: {remark}")
        self.remarks.append(remark)
        self._at(remark)


class ChangeLog(Blind):
    """Logs changes of functions, too, which are therefore looked for.

    Args:
        passes: Globs of the passes.
        functions: Globs of the functions.
    """

    def __init__(self, passes: str = "*", functions: str = "*") -> None:
        super().__init__()
        self.watched_passes, self.watched_functions = (passes,), (functions,)
        self.changes: list[FunctionChange] = []

    def on_function_changed(self, info: PassInfo, change: FunctionChange) -> None:
        texts = f"{change.before!r} to {change.after!r}"
        self.log.append(f"{info.name} {change.verb} {change.function}: {texts}")
        self.changes.append(change)


class InfoLog(PassInstrument):
    """Keeps the PassInfo of each pass that begins, and the modules around it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[PassInfo] = []
        self.before: list[Any] = []
        self.after: list[Any] = []

    @property
    def names(self) -> list[str]:
        return [info.name for info in self.seen]

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        self.seen.append(info)
        self.before.append(mod)

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        self.after.append(mod)


def serially(mod: Any, root: Pass) -> Any:
    """Run a pass as `Runner.run_sync` does, without a runner."""
    return root(mod)


def told(run: Any, mod: Any, root: Pass, log: Blind, **config: Any) -> list[str]:
    """Return what a log was told of a run, and the `ValueError` that ended it.

    Args:
        run: `serially`, or the method of a runner.
        mod: The module.
        root: The pass.
        log: The instrument.
        config: The options.
    """
    with PassContext(instruments=[log], opt_level=3, config=config):
        try:
            run(mod, root)
        except ValueError as error:
            log.log.append(str(error))
    return log.log
