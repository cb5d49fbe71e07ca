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

Functions are encoded by the adapter's codec, or by one that it gets here if it has
none, which knows the modules of its run (`MemberCodec`).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import UnionType
from typing import Any, NamedTuple, TypeVar, cast

from parpass.errors import AdapterError, ParpassError
from parpass.errors.adapters import method_note
from parpass.errors.core import add_note, safe_getattr
from parpass.errors.warning import AdapterWarning, warn
from parpass.transform.adapter import ModuleAdapter, keep_inline
from parpass.transform.capture.recorder import (
    start_body,
    start_recording,
    stop_body,
    stop_recording,
)
from parpass.transform.codecs import BatchCodec
from parpass.transform.member_codec import MemberCodec
from parpass.transform.mutability import (
    FoundMutability,
    RunMutability,
    StatedMutability,
    own_copy,
)
from parpass.transform.program_format import ProgramFormat

_FormatT = TypeVar("_FormatT", bound=ProgramFormat)


class Rule(NamedTuple):
    """The rule of a method: what it may return.

    Attributes:
        expected: A description, for messages.
        kinds: The classes of values.
        is_right: Whether a value of these is one; None if all are.
        advice: What to do about one that is not.
    """

    expected: str
    kinds: type | UnionType
    is_right: Callable[[Any], bool] | None = None
    advice: str = ""

    def allows(self, value: Any) -> bool:
        is_right = self.is_right
        return isinstance(value, self.kinds) and (is_right is None or is_right(value))


def _is_size(value: Any) -> bool:
    """Return whether a value is an int of 0 or more, possibly one of numpy."""
    if value.__class__ is int:
        return value >= 0
    try:
        return not isinstance(value, bool) and operator.index(value) >= 0
    except TypeError:
        return False


FUNCTION = "a function that 'is_function' accepts"
_MODULE = "a module that 'is_module' accepts"
_SAME_RESULT = "the result is still that of a serial run, but the run may be slower"

_FUNCTIONS = Rule("a mapping of functions by name", Mapping)
_BOOL = Rule("True or False", bool, advice="is a 'return' missing?")
_KIND = Rule("a str or None", str | None)
_BYTES = Rule("bytes", bytes, advice="encode text with text.encode()")
_CHUNK = Rule("a callable that returns bytes", bytes | None)

_OF_FUNCTIONS = ("kind_of", "is_skipped")  # which fail for what is no function


def _checked(method: str, rule: Rule) -> Callable[[CheckedAdapter, Any], Any]:
    """Return a method with a check of its result; it may run for each function."""
    kinds = rule.kinds  # all that these rules say

    def call(self: CheckedAdapter, value: Any) -> Any:
        try:
            found = getattr(self.unchecked, method)(value)
        except Exception as error:
            if method in _OF_FUNCTIONS:
                self.check_function(value, error)
            note_method(error, self.unchecked, method)
            raise
        return found if isinstance(found, kinds) else self.right(method, rule, found)

    return call


def _making(method: str) -> Callable[..., Any]:
    """Return a method that makes a module, or a mapping of functions to read."""

    def call(self: CheckedAdapter, *args: Any) -> Any:
        try:
            made: Any = getattr(self.unchecked, method)(*args)
        except Exception as error:
            note_method(error, self.unchecked, _implementing(self.unchecked, method))
            raise
        is_right = self.is_module(made)
        if not is_right and isinstance(made, Mapping):
            is_right = self.is_module({})  # functions to read, where a dict is a module
        if not is_right:
            reported = _implementing(self.unchecked, method)
            raise self.error(reported, _MODULE, cast("object", made))
        return self.noted_module(made)

    return call


def _implementing(adapter: ModuleAdapter, method: str) -> str:
    # The base class implements some methods by this one.
    return method if overrides(adapter, method) else "with_functions"


def _advisory(method: str, substitute: Any, rule: Rule) -> Callable[..., Any]:
    """Return a method of which the substitute is the result, if it fails."""

    def call(self: CheckedAdapter, *args: Any) -> Any:
        try:
            result: object = getattr(self.unchecked, method)(*args)
        except (MemoryError, ParpassError):
            raise  # not the adapter's fault
        except Exception as error:  # noqa: BLE001 -- the run warns of it at its end
            result = error
        else:
            if rule.allows(result):
                return result
        own = cast("ModuleAdapter", self)
        fault = function_fault(own, args[0])
        note_violations(own, [fault or self.error(method, rule.expected, result)])
        return substitute

    return call


class CheckedAdapter:
    """An adapter with checks of the results that others depend on.

    Args:
        adapter: The adapter.

    Attributes:
        unchecked: The adapter.
        members: The codec that it gets here; None if it has one.
        violations: The first error of each advisory method that failed, by method.
    """

    def __init__(self, adapter: ModuleAdapter) -> None:
        self.unchecked = adapter
        self.violations: dict[str, AdapterError] = {}
        # Read for each function and pass.
        self.consumes_functions = adapter.consumes_functions
        self.round_trip_between_passes = adapter.round_trip_between_passes
        has_codec = overrides(adapter, "encode_function")
        has_codec = has_codec or overrides(adapter, "decode_function")
        self.members = None if has_codec else MemberCodec()
        self.mutability: RunMutability | None = None
        given = adapter.mutability
        if isinstance(given, FoundMutability) and not self.consumes_functions:
            self.mutability = FoundMutability(self.members or self)
        elif given is not None and not self.consumes_functions:
            self.mutability = StatedMutability(given)

    is_module = _checked("is_module", _BOOL)
    is_function = _checked("is_function", _BOOL)
    kind_of = _checked("kind_of", _KIND)
    is_skipped = _checked("is_skipped", _BOOL)
    _functions = _checked("functions", _FUNCTIONS)
    with_functions = _making("with_functions")
    replace_functions = _making("replace_functions")
    read_only = _making("read_only")
    size = _advisory("size", 1, Rule("an int of 0 or more", object, _is_size))
    signature = _advisory("signature", None, Rule("a comparable value", object))
    keeps_signature = _advisory("keeps_signature", False, _BOOL)
    discard = _advisory("discard", None, Rule("nothing", object))

    def functions(self, mod: Any) -> Mapping[str, Any]:
        return self._functions(self.noted_module(mod))

    def encode_shell(self, mod: Any) -> bytes:
        found = self.apart("encode_shell", self.unchecked.encode_shell, mod)
        return self.right("encode_shell", _BYTES, found)

    def decode_shell(self, encoded: bytes) -> Any:
        made = self.apart("decode_shell", self.unchecked.decode_shell, encoded)
        if not self.is_module(made):
            raise self.error("decode_shell", _MODULE, made)
        return self.noted_module(made)

    def encode_function(self, function: Any, blob_sink: Any) -> bytes:
        self.check_function(function)
        encode = (self.members or self.unchecked).encode_function
        found = self.apart("encode_function", encode, function, blob_sink)
        return self.right("encode_function", _BYTES, found)

    def encode_here(self, function: Any) -> bytes:
        """Encode a function for a copy in this process."""
        return self.encode_function(function, keep_inline)

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Any], mod: Any
    ) -> Any:
        decode = (self.members or self.unchecked).decode_function
        return self._decoded("decode_function", decode, encoded, sources, mod)

    def open_encoder(self, blob_sink: Any) -> Callable[[Any], bytes | None]:
        """Return the encoder of a batch, which stays empty if there are none."""
        batches = self.members or self.unchecked
        if not isinstance(batches, BatchCodec):
            return lambda _: None
        return _CheckedEncoder(batches.open_encoder(blob_sink), self)

    def open_decoder(
        self, encoded: bytes | memoryview, sources: Sequence[Any], mod: Any
    ) -> Callable[[], Any]:
        batches = cast("BatchCodec", self.members or self.unchecked)
        decode = batches.open_decoder(encoded, sources, mod)
        method = "decode_function" if self.members else "open_decoder"
        return lambda: self._decoded(method, decode)

    def function_text(self, name: str, function: Any, mod: Any) -> str:
        # Of a copy, as `with_functions` may set what functions know of their module.
        shown = own_copy(cast("ModuleAdapter", self), function, mod)
        return self.unchecked.function_text(name, shown, mod)

    def programs(self, mod: Any) -> ProgramFormat:
        found: object = self._noted("programs", self.unchecked.programs, mod)
        return cast("ProgramFormat", self if found is self.unchecked else found)

    def __getattr__(self, name: str) -> Any:
        if name == "unchecked":  # not set yet
            raise AttributeError(name)
        found = getattr(self.unchecked, name)
        is_method = callable(found) and hasattr(ModuleAdapter, name)
        return functools.partial(self._noted, name, found) if is_method else found

    def check_function(self, function: Any, error: Exception | None = None) -> None:
        """Raise an error, from `error`, if `functions` returned no function."""
        fault = function_fault(cast("ModuleAdapter", self), function)
        if fault is not None:
            raise fault from error

    def right(self, method: str, rule: Rule, found: Any) -> Any:
        if rule.allows(found):
            return found
        raise self.error(method, rule.expected, found, rule.advice)

    def noted_module(self, mod: Any) -> Any:
        """Return a module of the run, for the codec to know it."""
        if self.members is not None:
            self.members.note(mod)
        return mod

    def _decoded(self, method: str, decode: Callable[..., Any], *args: Any) -> Any:
        found = self.apart(method, decode, *args)
        if self.is_function(found):
            return found
        raise self.error(method, FUNCTION, found)

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
            return self._noted(method, call, *args)
        finally:
            stop_recording(recorder)
            stop_body(body)

    def error(
        self, method: str, expected: str, got: object, advice: str = ""
    ) -> AdapterError:
        return AdapterError(adapter_name(self.unchecked), method, expected, got, advice)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.unchecked, _stated(self.unchecked))


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
        return self._adapter.right("open_encoder", _CHUNK, found)


def adapter_name(adapter: ModuleAdapter) -> str:
    return type(unchecked(adapter)).__qualname__


def checked(adapter: ModuleAdapter) -> ModuleAdapter:
    """Return a new checked form of an adapter, for one run.

    It knows the modules of the run, and the time that copies of functions took.
    """
    return cast("ModuleAdapter", CheckedAdapter(unchecked(adapter)))


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
    return CheckedAdapter(adapter)


def unchecked(adapter: _FormatT) -> _FormatT:
    """Return the adapter of a checked form; any other value unchanged."""
    found: object = adapter
    if isinstance(found, CheckedAdapter):
        return cast("_FormatT", found.unchecked)
    return adapter


def members_of(adapter: ModuleAdapter) -> MemberCodec | None:
    """Return the codec that a checked form gave an adapter without one."""
    return cast("CheckedAdapter", adapter).members


def violations_of(adapter: ModuleAdapter) -> dict[str, AdapterError]:
    """Return the first error of each advisory method that failed in a run."""
    return cast("CheckedAdapter", adapter).violations


def note_violations(adapter: ModuleAdapter, violations: Iterable[AdapterError]) -> None:
    """Add violations, possibly of a worker, to those of the run."""
    known = violations_of(adapter)
    for violation in violations:
        known.setdefault(violation.method, violation)


def warn_of_violations(adapter: ModuleAdapter) -> None:
    """Warn of advisory methods that failed, at the end of a run that did not."""
    for violation in violations_of(adapter).values():
        warn(f"{violation}; {_SAME_RESULT}", AdapterWarning)


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
