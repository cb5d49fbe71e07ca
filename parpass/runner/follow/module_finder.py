"""The import of the program's modules in workers, as the program has them.

A worker imports a module when it is first asked for, and keeps it. Whenever it imports
one that the program has loaded (`modules`), it is the same version, or an error: the
file may have changed since. The worker then sets the plain values of the module. What
the program reloads, or removes and imports again, a worker that has loaded it before
does, too: a new process would have new modules throughout, where the program still has
old ones beside them.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from parpass.errors.adapters import format_with_method
from parpass.program_modules import DelegatingFinder
from parpass.replicated_tables import record_missing
from parpass.runner.follow.modules import ModuleState
from parpass.runner.follow.plain_values import PlainValues, sync_values


class ChangedSourceError(Exception):
    def __str__(self) -> str:
        return (
            f"the file of module '{self.args[0]}' has changed since it was loaded; "
            "reload it"
        )


class _ProgramFinder(DelegatingFinder):
    """Finds modules of the program in a worker, as other finders do, and checks them.

    It comes first in `sys.meta_path`.
    """

    state = ModuleState({}, {}, {})

    def __init__(self) -> None:
        self._executing = _Executing()

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if name not in self.state.values:
            return None
        others = [one for one in sys.meta_path if one is not self]
        finders = [one for one in others if hasattr(one, "find_spec")]
        specs = (one.find_spec(name, path, target) for one in finders)
        spec = next((one for one in specs if one is not None), None)
        if spec is None:
            return None
        source = self.state.sources.get(name)
        if source is not None and not source.is_of(spec.origin):
            error = ChangedSourceError(name)
            record_missing(f"the module '{name}'", str(error))  # a body may catch it
            raise error
        if hasattr(spec.loader, "exec_module"):
            spec.loader = _FollowingLoader(
                spec.loader, self.state.values, self._executing
            )
        return spec


class _Executing(threading.local):
    """The modules that a thread is executing, and those that these have imported."""

    def __init__(self) -> None:
        self.depth = 0
        self.names: list[str] = []


class _FollowingLoader(Loader):
    """Executes a module with its own loader, and then sets its plain values.

    That waits for the end of the outermost import: a module that computes values from
    those of a module that it imports gets those that the import gave.
    """

    def __init__(self, loader: Any, values: PlainValues, executing: _Executing) -> None:
        self._loader, self._values, self._executing = loader, values, executing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)  # such as `get_data`

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__spec__.loader = module.__loader__ = self._loader
        executing = self._executing
        executing.depth += 1
        executing.names.append(module.__name__)
        try:
            self._loader.exec_module(module)
            _find_submodules(module)
        finally:
            executing.depth -= 1
            if not executing.depth:
                sync_values(self._values, executing.names)
                executing.names = []


_FINDER = _ProgramFinder()
_synced_reloads: dict[str, int] = {}  # reloads that this worker has repeated
FOLLOWING_FILE = _FollowingLoader.exec_module.__code__.co_filename  # in tracebacks


def _find_submodules(module: ModuleType) -> None:
    """Let a package, in a worker, find the submodules that the program has loaded.

    An import sets a submodule in its package for all, so a module may use `a.b` and
    import `a` alone. A worker imports it when it is asked for.
    """
    variables: dict[str, Any] = getattr(module, "__dict__", {})
    own = variables.get("__getattr__")
    if "__path__" in variables and not isinstance(own, _Submodules):
        variables["__getattr__"] = _Submodules(module, own)


class _Submodules:
    """The `__getattr__` of a package: its own one if it has any, then submodules."""

    def __init__(self, package: ModuleType, own: Callable[[str], Any] | None) -> None:
        self._package, self._own = package, own

    def __call__(self, name: str) -> Any:
        package = self._package.__name__
        missing = AttributeError(
            f"module {package!r} has no attribute {name!r}",
            name=name,
            obj=self._package,
        )
        if self._own is not None:
            try:
                return self._own(name)
            except AttributeError as error:
                missing = error
        module = f"{package}.{name}"
        if module in _FINDER.state.values:
            try:
                return importlib.import_module(module)
            except Exception as error:  # noqa: BLE001 -- a module may raise any
                # The program has it, so what a body makes of this does not count.
                record_missing(f"the module '{module}'", format_with_method(error))
        raise missing


def follow_modules(state: ModuleState) -> None:
    """Set the modules of this process, a worker, to those of the coordinator."""
    _FINDER.state = state
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    for name, reload in state.reloads.items():
        if _synced_reloads.get(name, 0) < reload.times:
            module = sys.modules.get(name)
            if module is not None and reload.anew:
                del sys.modules[name]
                importlib.import_module(name)
            elif module is not None:
                importlib.reload(module)
            _synced_reloads[name] = reload.times
    sync_values(state.values)
