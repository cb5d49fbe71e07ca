"""The instrument protocol: the base class, and TVM's decorator `pass_instrument`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar, cast, overload

from parpass.errors import ArgumentError
from parpass.fork_safety import cached_property
from parpass.remark import Remark
from parpass.transform import PassInfo
from parpass.transform.capture.change import FunctionChange
from parpass.transform.instrument_hooks import Hooks

_HOOK_NAMES = (
    "enter_pass_ctx",
    "exit_pass_ctx",
    "should_run",
    "run_before_pass",
    "run_after_pass",
    "run_after_failed_pass",
    "on_remark",
    "on_function_changed",
)


ClassT = TypeVar("ClassT", bound=type)


class PassInstrument:
    """Watches passes; pass instances to `PassContext(instruments=[...])`.

    Override the hooks that you need; all are optional. Define them in the class: hooks
    set on an instance have no effect. They run in the caller's process, one at a time,
    in the order of a serial run. A hook that receives the module may change it in
    place, as in TVM; later passes see the change.

    Attributes:
        observes_ir: Whether the hooks around passes look at the module. Set it to False
            for an instrument that does not: its hooks then receive None for the module,
            and the runner may run several function passes without a barrier.
        watched_passes: Globs of the passes whose changes `on_function_changed`
            receives; `UnrollLoop` also matches `tir.UnrollLoop`.
        watched_functions: Globs of the functions whose changes it receives.
    """

    observes_ir: ClassVar[bool] = True
    watched_passes: Sequence[str] = ("*",)
    watched_functions: Sequence[str] = ("*",)

    @cached_property
    def bound_hooks(self) -> Hooks:
        """The hooks that the class overrides, bound to this instance."""
        kind = type(self)
        found = {hook: inspect.getattr_static(kind, hook) for hook in _HOOK_NAMES}
        bound = {
            hook: own.__get__(self, kind) if hasattr(own, "__get__") else own
            for hook, own in found.items()
            if own is not vars(PassInstrument)[hook]
        }
        wanted = tuple(self.watched_passes), tuple(self.watched_functions)
        return Hooks(self.name, self.observes_ir, **bound, wanted=wanted)

    @property
    def name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    def enter_pass_ctx(self) -> None:
        """Called when the context is entered."""

    def exit_pass_ctx(self) -> None:
        """Called when the context is left, whether or not an error left it."""

    def should_run(self, mod: Any, info: PassInfo) -> bool:
        """Return whether to run the pass; one veto is enough.

        Not called for passes in the context's `required_pass`.
        """
        del mod, info
        return True

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Called before a pass, with its input module."""

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Called after a pass, with its output module."""

    def run_after_failed_pass(self, mod: Any, info: PassInfo, error: Exception) -> None:
        """Called instead of `run_after_pass` if the pass, one in it or a hook raised.

        Each `run_before_pass` that returned is followed by exactly one `run_after_pass`
        or `run_after_failed_pass`. `mod` is the input module of the pass.
        """

    def on_remark(self, info: PassInfo, remark: Remark) -> None:
        """Called for each remark of a pass, when the pass has run on all functions.

        Called before `run_after_pass` or `run_after_failed_pass`, with the same `info`:
        if the body of a function pass ran another pass that made the remark, `info` is
        the outer pass's. If no instrument of a context overrides this hook, passes
        record no remarks.
        """

    def on_function_changed(self, info: PassInfo, change: FunctionChange) -> None:
        """Called for each function that a pass changed, added or removed, in order.

        Called before `run_after_pass`. The changes of a pass include those of the
        restoring pass that runs after it. Workers compare and print, so watching adds
        no barrier. The text of a function that cannot be printed is the reason. A pass
        that fails has no changes. If no instrument of a context overrides this hook,
        nothing is compared.
        """

    def __str__(self) -> str:
        return self.name


@overload
def pass_instrument(pi_cls: ClassT) -> ClassT: ...
@overload
def pass_instrument(pi_cls: None = None) -> Callable[[ClassT], ClassT]: ...
def pass_instrument(pi_cls: Any = None) -> Any:
    """Turn a class with some of the hooks into an instrument class; a decorator.

    The new class derives from both.

    Raises:
        ArgumentError: The argument is not a class.
    """
    if pi_cls is None:
        return pass_instrument
    if not inspect.isclass(pi_cls):
        raise ArgumentError(f"pi_cls must be a class, got {pi_cls!r}")
    user_class = cast("type[Any]", pi_cls)
    if issubclass(user_class, PassInstrument):
        return user_class
    members = {
        "__doc__": user_class.__doc__,
        "__module__": user_class.__module__,
        "__qualname__": user_class.__qualname__,
    }
    return type(user_class.__name__, (user_class, PassInstrument), members)
