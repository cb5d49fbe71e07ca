"""Cloudpickle's pickler, of code, of functions that are cached, of classes with slots.

From 3.1.3 on cloudpickle replaces the file name of a code object by `<dynamic-code>`.
But tracebacks, warnings and log records show the file name, and those of a serial run
show the real one. What `functools.cache` and `lru_cache` return is pickled by its name
alone, which other processes do not have for what `__main__` defines. A class with slots
becomes one without.

From Python 3.14 on annotations are evaluated when they are asked for, which fails where
they name what only type checkers see. Cloudpickle evaluates those of functions, and
leaves those of classes behind. What `dataclasses` have instead, `typing.ForwardRef`,
holds all variables of its module.

What a `lazy` statement (Python 3.15) leaves among the global names cannot be pickled.

A submodule is imported with a function that names it, but cloudpickle does not look at
the code in a function, such as a lambda's, nor at default values.
"""

from __future__ import annotations

import functools
import io
import sys
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import Any, ForwardRef, NoReturn, cast

import cloudpickle

from parpass.program_modules import is_by_value, registered_by_value
from parpass.transform.code_names import load_lazy_imports, named_submodules
from parpass.transform.code_unpickler import (
    CACHED,
    CODE_MARK,
    make_function,
    number_of,
    set_function_state,
)

_NONE: Mapping[type, Callable[[Any], Any]] = {}
_reduce_by_cloudpickle = cloudpickle.Pickler.dispatch_table[CodeType]


def _rebuild_code(make: Callable[..., CodeType], args: Any, file: str) -> CodeType:
    return make(*args).replace(co_filename=file)


def _reduce_code(code: CodeType) -> tuple[Any, ...]:
    make, args = _reduce_by_cloudpickle(code)
    return _rebuild_code, (make, args, code.co_filename)


def _rebuild_function(_imported: Any, make: Callable[..., Any], *args: Any) -> Any:
    return make(*args)


def _rebuild_forward_ref(text: str, options: Mapping[str, Any]) -> ForwardRef:
    return ForwardRef(text, **options)


def _reduce_forward_ref(ref: ForwardRef) -> tuple[Any, ...]:
    options = {
        "module": ref.__forward_module__,
        "is_argument": ref.__forward_is_argument__,
        "is_class": ref.__forward_is_class__,
    }
    return _rebuild_forward_ref, (ref.__forward_arg__, options)


def _rebuild_cached(function: Callable[..., Any], parameters: Any) -> Any:
    return functools.lru_cache(**parameters)(function)


def _reduce_cached(cached: Any) -> Any:
    """Return the reduction of a cached function: its name, or it with an empty cache.

    The name is for other processes that can import it.
    """
    name, module = getattr(cached, "__qualname__", ""), cached.__module__
    if not is_by_value(module) and _named(module, name) is cached:
        return name
    args = cached.__wrapped__, cached.cache_parameters()
    return make_function, (number_of(cached), _rebuild_cached, *args)


def _named(module: str, name: str) -> Any:
    try:
        return functools.reduce(getattr, name.split("."), sys.modules[module])
    except AttributeError:  # it is defined in a function, say
        return None


class CodePickler(cloudpickle.Pickler):
    """A pickler of code by value, where other processes cannot import it.

    Args:
        file: The file that it writes to.
        reducers: Reducers of classes, as in `copyreg`.

    Attributes:
        modules: The names of modules whose code goes by value, while it pickles.
    """

    modules: frozenset[str]

    dispatch_table = cloudpickle.Pickler.dispatch_table.new_child(
        {
            CodeType: _reduce_code,
            ForwardRef: _reduce_forward_ref,
            CACHED: _reduce_cached,
        }
    )

    def __init__(
        self, file: io.BytesIO, reducers: Mapping[type, Callable[[Any], Any]] = _NONE
    ) -> None:
        if reducers:
            # Set before, as the pickler looks it up when it is initialized.
            self.dispatch_table = self.dispatch_table.new_child(dict(reducers))
        super().__init__(file, protocol=5)
        self._file = file

    def dump(self, obj: Any) -> None:
        """Write the pickle of an object, with a mark that it may have code by value."""
        self._file.write(CODE_MARK)
        with registered_by_value() as self.modules:
            super().dump(obj)

    def reducer_override(self, obj: Any) -> Any:
        """Return the reduce value of an object; a class with slots keeps them.

        Cloudpickle makes a class without slots of it, whose instances have another
        state, which those of the class itself cannot be given.
        """
        made = self._reduced(obj)
        # Not `isinstance`, as an object may claim to be of another class.
        kind = cast("type[Any]", type(obj))
        is_whole = type(made) is tuple
        if kind is FunctionType and is_whole:
            again = load_lazy_imports(obj)
            made = _with_submodules(obj, self._reduced(obj) if again else made)
            return _with_number(obj, made)
        is_class = issubclass(kind, type)
        return _with_annotations(obj, _with_slots(obj, made)) if is_class else made

    def _reduced(self, obj: Any) -> Any:
        try:
            return super().reducer_override(obj)
        except Exception:
            error = _annotations_error(obj)
            if error is None or type(obj) is not FunctionType:
                raise
            made: Any = super().reducer_override(_without_annotations(obj))
            made[2][1]["__annotate__"] = functools.partial(_fail, error)
            return made


def _annotations_error(obj: Any) -> Exception | None:
    """Return why annotations cannot be evaluated, None if they are or have been."""
    if getattr(obj, "__annotate__", None) is not None:
        try:
            assert obj.__annotations__ is not None
        except Exception as error:  # noqa: BLE001 -- of whatever they are
            return error.with_traceback(None)
    return None


def _without_annotations(function: FunctionType) -> FunctionType:
    bare = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    for name in ("__qualname__", "__module__", "__doc__", "__kwdefaults__"):
        setattr(bare, name, getattr(function, name))
    vars(bare).update(vars(function))
    return bare


def _with_annotations(kind: Any, made: Any) -> Any:
    is_named = type(cast("object", made)) is not tuple
    if is_named or getattr(kind, "__annotate__", None) is None:
        return made  # it is found by name, or has them already
    error = _annotations_error(kind)
    if error is None:
        made[2][0]["__annotations__"] = kind.__annotations__
    else:
        made[2][0]["__annotate__"] = functools.partial(_fail, error)
    return made


def _with_submodules(function: FunctionType, made: Any) -> Any:
    modules = named_submodules(function)
    if not modules:
        return made
    make, args, *rest = made
    return _rebuild_function, (modules, make, *args), *rest


def _with_number(function: FunctionType, made: Any) -> Any:
    if (
        function.__closure__
        or function.__dict__
        or function.__defaults__
        or function.__kwdefaults__
    ):
        return made  # a pass may have changed these, and is to find what it has left
    make, args, state, items, pairs, put = made
    args = (number_of(function), make, *args)
    return make_function, args, (put, state), items, pairs, set_function_state


def _fail(error: Exception, _format: int) -> NoReturn:
    """Stand in for a function that evaluates annotations, which fails here, too."""
    raise error.with_traceback(None)


def _with_slots(kind: type, made: Any) -> Any:
    slots = vars(kind).get("__slots__")
    if slots is None or type(cast("object", made)) is not tuple:  # it is found by name
        return made
    args: list[Any] = list(made[1])
    at = next((at for at, one in enumerate(args) if type(one) is dict), None)
    if at is None:  # what a class is made with, by name
        return made
    args[at] = {**args[at], "__slots__": slots}
    return (made[0], tuple(args), *made[2:])


class ClassSharingPickler(CodePickler):
    """A pickler with a persistent ID for some classes.

    Args:
        file: As of `CodePickler`.
        reducers: As of `CodePickler`.
        share: Returns the persistent ID of a class; None if it is pickled as usual.
    """

    def __init__(
        self,
        file: io.BytesIO,
        reducers: Mapping[type, Callable[[Any], Any]],
        share: Callable[[type[Any]], Any],
    ) -> None:
        super().__init__(file, reducers)
        self._share = share

    def persistent_id(self, obj: Any) -> Any:
        # Not `isinstance`, as an object may claim to be of another class.
        is_class = issubclass(cast("type[Any]", type(obj)), type)
        return self._share(obj) if is_class else None


def dumps(value: Any, reducers: Mapping[type, Callable[[Any], Any]] = _NONE) -> bytes:
    """Pickle a value; code that other processes cannot import is pickled by value.

    Args:
        value: The value.
        reducers: Reducers of classes, as in `copyreg`.

    Raises:
        Exception: A part of the value cannot be pickled.
    """
    file = io.BytesIO()
    CodePickler(file, reducers).dump(value)
    return file.getvalue()
