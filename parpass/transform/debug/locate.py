"""Pass locator: names by which another process finds passes again."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, cast

import cloudpickle

from parpass.errors import ReproducerError, UnprintablePassError
from parpass.transform.pass_registry import register_pass, registered_passes
from parpass.transform.passes import Pass
from parpass.transform.pipeline.printer import registered_name


class PassLocator:
    """Names passes, and collects the modules to load in order to find them by name.

    Attributes:
        modules: The names of modules; of the main script, its path.
        unregistered: `module:name` of passes that are not registered, by given name.
    """

    def __init__(self) -> None:
        self.modules: dict[str, None] = {}
        self.unregistered: dict[str, str] = {}

    def name_of(self, pass_: Pass) -> str:
        """Return the name of a pass for pipeline text.

        Raises:
            UnprintablePassError: It is not registered, and it is neither a class at the
                top level of a module nor created there by a decorator.
        """
        made_by: Any = pass_.factory or type(pass_)
        made_from: Any = getattr(pass_, "pass_func", made_by)
        module: str = getattr(made_from, "__module__", "__main__")
        self.add_module(module)
        try:
            return registered_name(pass_)
        except UnprintablePassError:
            name: str = getattr(made_from, "__qualname__", "")
            found = getattr(sys.modules.get(module), name, None)
            if found is not pass_ and found is not type(pass_):
                raise
        self.unregistered[name] = f"{_import_name(module)}:{name}"
        return name

    def place_of(self, instrument: Any) -> str:
        """Return the location of the class of an instrument, as `module:name`.

        Raises:
            UnprintablePassError: It is not at the top level of a module, or needs
                arguments.
        """
        kind = cast("type[Any]", type(instrument))
        module, name = kind.__module__, kind.__qualname__
        problem = ""
        if getattr(sys.modules.get(module), name, None) is not kind:
            problem = "is not at the top level of a module"
        try:
            inspect.signature(kind).bind()
        except TypeError as error:
            problem = f"cannot be made without arguments: {error}"
        if problem:
            raise UnprintablePassError(f"instrument '{name}' {problem}", pass_name=name)
        self.add_module(module)
        return f"{_import_name(module)}:{name}"

    def add_module(self, module: str) -> None:
        if module.partition(".")[0] != "parpass":
            self.modules[_import_name(module)] = None


_files: dict[str, Any] = {}  # the modules that were loaded from files, by path


def _import_name(module: str) -> str:
    """Return the name or path by which `load_module` finds a module."""
    if module == "__main__":
        script = getattr(sys.modules[module], "__file__", None)
        return module if script is None else str(Path(script).resolve())
    paths = (path for path, one in _files.items() if one.__name__ == module)
    return next(paths, module)


def load_module(name: str) -> Any:
    """Return a module by its name, or by the path of its file, loaded once.

    Raises:
        ReproducerError: There is none.
        Exception: What it raises while it is loaded.
    """
    if name.endswith(".py"):
        return _load_file(Path(name).resolve())
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ReproducerError(
            f"there is no module '{error.name}'; give the path of its file, or run "
            "'python -m parpass' where it can be imported"
        ) from None


def _load_file(path: Path) -> Any:
    if str(path) in _files:
        return _files[str(path)]
    name = path.stem
    while name in sys.modules:
        name += "_"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ReproducerError(f"there is no file '{path}' to load")
    module = module_from_spec(spec)
    sys.modules[name] = _files[str(path)] = module
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # for what it imports, as a script may
    # Other processes cannot import it by its name, so its passes travel whole.
    cloudpickle.register_pickle_by_value(module)
    spec.loader.exec_module(module)
    return module


def register_located(unregistered: dict[str, str]) -> None:
    """Register passes by the names that `PassLocator` gave them.

    Raises:
        ReproducerError: A pass is not where it was.
    """
    for name, place in unregistered.items():
        if name in registered_passes():
            continue
        register_pass(name)(load_object(place))


def load_object(place: str) -> Any:
    """Return what is at a place that `PassLocator` named.

    Raises:
        ReproducerError: It is not there now.
    """
    module, _, attribute = place.rpartition(":")
    found = getattr(load_module(module), attribute, None)
    if found is None:
        raise ReproducerError(f"module '{module}' has no '{attribute}' now")
    return found
