"""An adapter as a run has it: its results are checked where they come in.

`adapter_of` returns adapters in this form to the pass manager. It checks the results on
which all others depend, so that a wrong one has one form of error everywhere (adapter,
method, what was expected, what it returned): the functions of a module are a mapping,
`is_module` accepts a new module, and a function is encoded as bytes and decoded as a
function. It also checks the kind of a function and whether it is skipped; otherwise no
pass would run on it, silently. An exception of these methods propagates unchanged, with
a note that names the method. The results of the other methods are checked by the kit,
`parpass.testing`.

Only parallel runs call `size`, `signature`, `keeps_signature` and `discard`, and no
result depends on them. If one of these advisory methods fails, the run still has the
serial run's result, and warns of each method once, at its end. Workers send such
violations to the coordinator.

An adapter without a codec gets one here, which knows the modules of its run.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import Any, TypeVar, cast

from parpass.errors import AdapterError, ArgumentError, ParpassError
from parpass.errors.adapters import describe_value, method_note
from parpass.errors.core import add_note, safe_getattr
from parpass.transform.adapter import (
    FoundMutability,
    ModuleAdapter,
    Mutability,
    keep_inline,
    own_copy,
)
from parpass.transform.capture.recorder import (
    start_body,
    start_recording,
    stop_body,
    stop_recording,
)
from parpass.transform.codecs import BatchCodec
from parpass.transform.member_codec import MemberCodec
from parpass.transform.program_format import ProgramFormat
from parpass.transform.violations import note_violations

_MAX_CACHED = 64  # adapters

# Expected results, for messages.
FUNCTION = "a function that 'is_function' accepts"
_MODULE = "a module that 'is_module' accepts"
_BOOL = "True or False"
_NO_RETURN = "is a 'return' missing?"

_FormatT = TypeVar("_FormatT", bound=ProgramFormat)

# By the `id` of the adapter, which the value keeps alive.
_known: dict[int, CheckedAdapter] = {}


class CheckedAdapter:
    """An adapter with checks of the results that others depend on.

    Args:
        adapter: The adapter.
        members: The codec of its functions; None if the adapter has one.

    Attributes:
        unchecked: The adapter.
        stated: The values of its attributes when this was made.

    Raises:
        ArgumentError: `adapter` is not an adapter.
        AdapterError: An attribute of it is invalid.
    """

    def __init__(self, adapter: ModuleAdapter, members: MemberCodec | None) -> None:
        check_attributes(adapter)
        self.unchecked = adapter
        self.stated = _stated(adapter)
        # Read for each function and pass.
        self.consumes_functions = adapter.consumes_functions
        self.round_trip_between_passes = adapter.round_trip_between_passes
        self._members = members
        self._codec: Any = adapter if members is None else members
        self.mutability = self._run_mutability()
        self._attaches: bool | None = None
        self._makes_new_modules = False

    def _run_mutability(self) -> Mutability | None:
        given = self.unchecked.mutability
        if given is None or self.consumes_functions:
            return None
        if not isinstance(given, FoundMutability):
            return given
        members = self._members
        codec: Any = members or self

        def decode(encoded: bytes, mod: Any) -> Any:
            return codec.decode_function(encoded, (), mod)

        if members is not None:
            return FoundMutability(members.encode_here, decode)
        return FoundMutability(
            lambda function: self.encode_function(function, keep_inline),
            decode,
            is_pickled=False,
        )

    def functions(self, mod: Any) -> Mapping[str, Any]:
        if self._members is not None:
            self._members.note(mod)
        found = self._call("functions", mod)
        if isinstance(found, Mapping):
            return cast("Mapping[str, Any]", found)
        raise self._error("functions", "a mapping of functions by name", found)

    def is_module(self, value: Any) -> bool:
        return self._bool("is_module", value)

    def with_functions(self, mod: Any, functions: Mapping[str, Any]) -> Any:
        return self._module("with_functions", mod, functions)

    def replace_functions(self, mod: Any, changed: Mapping[str, Any]) -> Any:
        return self._module("replace_functions", mod, changed)

    def read_only(self, mod: Any, functions: Mapping[str, Any], reader: str) -> Any:
        return self._module("read_only", mod, functions, reader)

    def encode_shell(self, mod: Any) -> bytes:
        method, encode = "encode_shell", self.unchecked.encode_shell
        return self._bytes(method, self.apart(method, encode, mod))

    def decode_shell(self, encoded: bytes) -> Any:
        method, decode = "decode_shell", self.unchecked.decode_shell
        made = self.apart(method, decode, encoded)
        if not self.is_module(made):
            raise self._error(method, _MODULE, made)
        return self._noted_module(made)

    def encode_function(self, function: Any, blob_sink: Any) -> bytes:
        self.check_function(function)
        method, encode = "encode_function", self._codec.encode_function
        return self._bytes(method, self.apart(method, encode, function, blob_sink))

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Any], mod: Any
    ) -> Any:
        method, decode = "decode_function", self._codec.decode_function
        return self._function(method, self.apart(method, decode, encoded, sources, mod))

    def is_function(self, value: Any) -> bool:
        return self._bool("is_function", value)

    def kind_of(self, function: Any) -> str | None:
        kind = self._of_function("kind_of", function)
        if kind is None or isinstance(kind, str):
            return kind
        raise self._error("kind_of", "a str or None", kind)

    def is_skipped(self, function: Any) -> bool:
        found = self._of_function("is_skipped", function)
        if found is True or found is False:
            return found
        raise self._error("is_skipped", _BOOL, found, _NO_RETURN)

    def size(self, function: Any, limit: int) -> int:
        expected = "an int of 0 or more"
        return self._advice("size", 1, _is_size, expected, function, limit)

    def signature(self, function: Any) -> Any | None:
        return self._advice("signature", None, None, "a comparable value", function)

    def keeps_signature(self, before: Any, after: Any) -> bool:
        return self._advice("keeps_signature", False, _is_bool, _BOOL, before, after)

    def discard(self, function: Any) -> None:
        self._advice("discard", None, None, "nothing", function)

    def function_text(self, name: str, function: Any, mod: Any) -> str:
        # Of a copy, as `with_functions` may set what functions know of their module.
        shown = own_copy(cast("ModuleAdapter", self), function, mod)
        return self.unchecked.function_text(name, shown, mod)

    def programs(self, mod: Any) -> ProgramFormat:
        found: object = self._call("programs", mod)
        return cast("ProgramFormat", self if found is self.unchecked else found)

    def __getattr__(self, name: str) -> Any:
        if name == "unchecked":  # not set yet
            raise AttributeError(name)
        found = getattr(self.unchecked, name)
        is_method = callable(found) and hasattr(ModuleAdapter, name)
        return functools.partial(self._noted, name, found) if is_method else found

    @property
    def has_codec(self) -> bool:
        """Whether the adapter overrides the codec of functions."""
        return self._members is None

    @property
    def cuts_modules(self) -> bool:
        """Whether functions of the run refer to their module, which is not encoded."""
        return self._members is not None and self._members.cuts

    def cuts(self, value: Any) -> bool:
        """Return whether a value is a module that is not encoded with its functions."""
        return self._members is not None and self._members.knows(value)

    def attaches_functions(self, mod: Any) -> bool:
        """Return whether `with_functions` accesses the functions.

        Then it may set what they know of their module.
        """
        if self._attaches is None:
            try:
                self.unchecked.with_functions(mod, {"kit": _Untouchable()})
                self._attaches = False
            except Exception:  # noqa: BLE001 -- whatever it did with what is none
                self._attaches = True
        return self._attaches

    def check_new_module(self, mod: Any) -> None:
        """Check, once, that `with_functions` leaves a module as it is.

        It is tried on a copy: one that changes its argument would take the functions
        out of the module that the user passed in.

        Raises:
            AdapterError: It returns its argument.
        """
        if self._makes_new_modules:
            return
        try:
            given = copy.copy(mod)
            made = self.unchecked.with_functions(given, {})
        except Exception:  # noqa: BLE001 -- the run comes to it, and says more
            return
        if made is given and given is not mod and self.unchecked.functions(mod):
            raise self._error(
                "with_functions",
                "a new module, and an unchanged argument",
                made,
                "put the functions into a copy of the module",
            )
        self._makes_new_modules = True

    def check_function(self, function: Any, error: Exception | None = None) -> None:
        """Raise an error, from `error`, if `functions` returned no function."""
        fault = function_fault(cast("ModuleAdapter", self), function)
        if fault is not None:
            raise fault from error

    def _call(self, method: str, *args: Any) -> Any:
        return self._noted(method, getattr(self.unchecked, method), *args)

    def _noted(
        self, method: str, call: Callable[..., Any], *args: Any, **options: Any
    ) -> Any:
        try:
            return call(*args, **options)
        except Exception as error:
            note_method(error, self.unchecked, method)
            raise

    def apart(self, method: str, call: Callable[..., Any], *args: Any) -> Any:
        """Call the codec, which a serial run neither calls nor sees anything of.

        Pipelines in it are nested ones, and what they emit is dropped.
        """
        body, recorder = start_body(True), start_recording(None)
        try:
            return call(*args)
        except Exception as error:
            note_method(error, self.unchecked, method)
            raise
        finally:
            stop_recording(recorder)
            stop_body(body)

    def _advice(
        self,
        method: str,
        substitute: Any,
        is_right: Callable[[Any], bool] | None,
        expected: str,
        *args: Any,
    ) -> Any:
        """Return the result of an advisory method; the substitute if it fails."""
        try:
            result: object = getattr(self.unchecked, method)(*args)
        except (MemoryError, ParpassError):
            raise  # not the adapter's fault
        except Exception as error:  # noqa: BLE001 -- the run warns of it at its end
            result = error
        else:
            if is_right is None or is_right(result):
                return result
        fault = function_fault(cast("ModuleAdapter", self), args[0])
        violation = fault or self._error(method, expected, result)
        note_violations([violation])
        return substitute

    # This one, and the next, are called for each function and pass.

    def _bool(self, method: str, value: Any) -> bool:
        try:
            found = getattr(self.unchecked, method)(value)
        except Exception as error:
            note_method(error, self.unchecked, method)
            raise
        if found is True or found is False:
            return found
        raise self._error(method, _BOOL, found, _NO_RETURN)

    def _of_function(self, method: str, function: Any) -> Any:
        try:
            return getattr(self.unchecked, method)(function)
        except Exception as error:
            self.check_function(function, error)
            note_method(error, self.unchecked, method)
            raise

    def _module(self, method: str, *args: Any) -> Any:
        """Return the module that a method makes, or a mapping of functions to read."""
        # The base class implements some methods by another one, which is then named.
        reported = method if overrides(self.unchecked, method) else "with_functions"
        made: Any = self._noted(reported, getattr(self.unchecked, method), *args)
        is_right = self.is_module(made)
        if not is_right and isinstance(made, Mapping):
            is_right = self.is_module({})  # functions to read, where a dict is a module
        if not is_right:
            raise self._error(reported, _MODULE, cast("object", made))
        return self._noted_module(made)

    def _noted_module(self, mod: Any) -> Any:
        if self._members is not None:
            self._members.note(mod)
        return mod

    def _function(self, method: str, found: Any) -> Any:
        if self.is_function(found):
            return found
        raise self._error(method, FUNCTION, found)

    def _bytes(self, method: str, found: Any) -> bytes:
        if type(found) is bytes:
            return found
        raise self._error(method, "bytes", found, "encode text with text.encode()")

    def _error(
        self, method: str, expected: str, got: object, advice: str = ""
    ) -> AdapterError:
        return AdapterError(adapter_name(self.unchecked), method, expected, got, advice)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.unchecked, self.stated)


class _BatchAdapter(CheckedAdapter):
    """The checked form of an adapter whose functions are encoded in batches.

    `batches` is the adapter itself, or the codec that it gets here.
    """

    def __init__(
        self,
        adapter: ModuleAdapter,
        members: MemberCodec | None,
        batches: BatchCodec | MemberCodec,
    ) -> None:
        super().__init__(adapter, members)
        self._batches = batches

    def open_encoder(self, blob_sink: Any) -> Callable[[Any], bytes | None]:
        return _CheckedEncoder(self._batches.open_encoder(blob_sink), self)

    def open_decoder(
        self, encoded: bytes | memoryview, sources: Sequence[Any], mod: Any
    ) -> Callable[[], Any]:
        decode = self._batches.open_decoder(encoded, sources, mod)
        is_own = self._batches is not self._members
        method = "open_decoder" if is_own else "decode_function"
        return lambda: self._function(method, self.apart(method, decode))


class _CheckedEncoder:
    """An encoder of a batch that encodes functions alone, and as bytes."""

    def __init__(
        self, encode: Callable[[Any], bytes | None], adapter: CheckedAdapter
    ) -> None:
        self._encode, self._adapter = encode, adapter

    @property
    def shared_bytes(self) -> int:
        return getattr(self._encode, "shared_bytes", 0)

    def __call__(self, function: Any) -> bytes | None:
        self._adapter.check_function(function)
        found = self._adapter.apart("open_encoder", self._encode, function)
        if found is None or type(found) is bytes:
            return found
        name = adapter_name(self._adapter.unchecked)
        raise AdapterError(name, "open_encoder", "a callable that returns bytes", found)


def _is_size(value: Any) -> bool:
    """Return whether a value is an int of 0 or more, possibly one of numpy."""
    if value.__class__ is int:
        return value >= 0
    try:
        return not isinstance(value, bool) and operator.index(value) >= 0
    except TypeError:
        return False


def _is_bool(value: Any) -> bool:
    return value.__class__ is bool


class _Untouchable:
    """A value that stands for a function; any access to it raises."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(name)


def adapter_name(adapter: ModuleAdapter) -> str:
    return type(unchecked(adapter)).__qualname__


def checked(adapter: ModuleAdapter) -> ModuleAdapter:
    known = _known.get(id(adapter))
    # An attribute may have been set since, as the advice of a `LawError` says.
    if known is None or known.stated != _stated(adapter):
        if len(_known) == _MAX_CACHED:
            _known.clear()  # workers receive a new adapter for each run
        known = _known[id(adapter)] = _create(adapter)
    return cast("ModuleAdapter", known)


def for_run(adapter: ModuleAdapter) -> ModuleAdapter:
    """Return the checked form of an adapter for one run.

    It is a new one if the adapter does not state its mutability: it then knows the
    modules of the run, and the time that their copies took.
    """
    known = checked(unchecked(adapter))
    if not isinstance(known.mutability, FoundMutability):
        return known
    return cast("ModuleAdapter", _create(unchecked(adapter)))


def _create(adapter: ModuleAdapter) -> CheckedAdapter:
    has_codec = overrides(adapter, "encode_function")
    has_codec = has_codec or overrides(adapter, "decode_function")
    members = None if has_codec else MemberCodec()
    batches = adapter if isinstance(adapter, BatchCodec) else members
    if batches is None:
        return CheckedAdapter(adapter, members)
    return _BatchAdapter(adapter, members, batches)


def _stated(adapter: ModuleAdapter) -> Mapping[str, bool | str | None]:
    """Return the attributes of an adapter in a form that processes can compare."""
    mutability = adapter.mutability
    return {
        "consumes_functions": adapter.consumes_functions,
        "round_trip_between_passes": adapter.round_trip_between_passes,
        "mutability": None if mutability is None else type(mutability).__qualname__,
    }


def _restore(
    adapter: ModuleAdapter, stated: Mapping[str, bool | str | None]
) -> CheckedAdapter:
    """Return the checked form of an adapter that another process has pickled.

    Raises:
        AdapterError: Its attributes differ here. They were set on its class, which
            this process has imported as it is defined.
    """
    here = _stated(adapter)
    for name, there in stated.items():
        if here[name] != there:
            raise AdapterError(
                adapter_name(adapter),
                name,
                f"{there}, its value in the process that runs the pipeline,",
                getattr(adapter, name),
                "set it on the adapter, or in the definition of its class",
            )
    return _create(adapter)


def unchecked(adapter: _FormatT) -> _FormatT:
    """Return the adapter of a checked form; any other value unchanged."""
    found: object = adapter
    if isinstance(found, CheckedAdapter):
        return cast("_FormatT", found.unchecked)
    return adapter


def overrides(adapter: ModuleAdapter, method: str) -> bool:
    own = getattr(unchecked(adapter), method)
    return getattr(own, "__func__", own) is not getattr(ModuleAdapter, method)


def function_fault(
    adapter: ModuleAdapter, function: Any, name: str | None = None
) -> AdapterError | None:
    """Return the error for a value of `functions` if it is no function, else None."""
    try:
        is_function = adapter.is_function(function)
    except Exception:  # noqa: BLE001 -- it is raised where the result is needed
        return None
    if is_function:
        return None
    expected = FUNCTION if name is None else f"{FUNCTION} for '{name}'"
    return AdapterError(adapter_name(adapter), "functions", expected, function)


def note_method(error: Exception, adapter: ModuleAdapter, method: str) -> None:
    """Add a note that names the method to an exception that it raised, once."""
    note = method_note(adapter_name(adapter), method)
    if note not in safe_getattr(error, "__notes__", ()):
        add_note(error, note)


def check_attributes(adapter: ModuleAdapter) -> None:
    """Check that a value is an adapter, with attributes of the right kinds.

    Raises:
        ArgumentError: It is no adapter.
        AdapterError: An attribute of it is wrong.
    """
    given = cast("object", adapter)
    if not isinstance(given, ModuleAdapter):
        got = describe_value(given)
        advice = f"; create one: {given.__name__}()" if isinstance(given, type) else ""
        raise ArgumentError(
            f"expected a ModuleAdapter for an adapter, got {got}{advice}"
        )
    name = adapter_name(adapter)
    _check_types(adapter, name)
    for attribute in ("consumes_functions", "round_trip_between_passes"):
        value = getattr(adapter, attribute)
        if value.__class__ is not bool:
            raise AdapterError(name, attribute, "True or False", value)
    mutability: object = adapter.mutability
    if mutability is not None and not all(
        callable(getattr(mutability, method, None))
        for method in ("fingerprint", "to_change")
    ):
        expected = "None, or an object with 'fingerprint' and 'to_change'"
        raise AdapterError(name, "mutability", expected, mutability)


def _check_types(adapter: ModuleAdapter, name: str) -> None:
    """Check the types that the methods need which the adapter does not override."""
    modules: object = getattr(adapter, "module_type", None)
    functions: object = getattr(adapter, "function_type", None)
    if not (overrides(adapter, "is_module") or isinstance(modules, type)):
        advice = "set it, or override 'is_module'"
        raise AdapterError(name, "module_type", "the class of modules", modules, advice)
    if not (overrides(adapter, "with_functions") or _has_functions(modules)):
        expected = "a dataclass with a field 'functions'"
        advice = "for other modules, override 'functions' and 'with_functions'"
        raise AdapterError(name, "module_type", expected, modules, advice)
    is_kind = isinstance(functions, type | UnionType)
    if not (overrides(adapter, "is_function") or is_kind):
        expected = "a class of functions, or a union of classes,"
        advice = "set it, or override 'is_function'"
        raise AdapterError(name, "function_type", expected, functions, advice)


def _has_functions(kind: object) -> bool:
    """Return whether a class is a dataclass with a field `functions`."""
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        return False
    return any(one.name == "functions" for one in dataclasses.fields(kind))
