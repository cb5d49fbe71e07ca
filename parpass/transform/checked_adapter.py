"""The checked form of an adapter: the only place where its results are checked.

`adapter_of` returns adapters in this form to the pass manager, so that a wrong result
has one form of error everywhere: adapter, method, what was expected, what it returned.
An exception of a method propagates unchanged, with a note that names the method.

Some methods are called by parallel runs only, and no result depends on them: `size`,
`signature`, `keeps_signature`, `discard`. If one of these advisory methods fails, a
parallel run has the serial run's result nevertheless, and warns at its end of each
method once. A worker sends the violations that it has recorded to the coordinator.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from parpass.errors import AdapterError, ArgumentError, ParpassError
from parpass.errors.adapters import describe_value, method_note
from parpass.errors.core import add_note, safe_getattr
from parpass.errors.warning import AdapterWarning, warn
from parpass.transform.adapter import BatchCodec, ModuleAdapter, Mutability
from parpass.transform.adapter_rules import (
    ADVISORY_RULES,
    BOOL_RULE,
    FORMAT_RULE,
    FUNCTION,
    KIND,
    RULES,
    TRUSTED_DEFAULTS,
    Rule,
)
from parpass.transform.program_format import ProgramFormat

_MAX_CACHED = 64  # adapters
# The attributes that an adapter has in a worker as in the coordinator.
_STATED = ("consumes_functions", "round_trip_between_passes", "mutability")

_SAME_RESULT = "the result is that of a serial run, but may have taken longer"

_Method = Callable[..., Any]
_FormatT = TypeVar("_FormatT", bound=ProgramFormat)

# By the `id` of the adapter, which the value keeps alive.
_known: dict[int, CheckedAdapter] = {}


class CheckedAdapter:
    """A proxy of an adapter that checks its results, with all methods of an adapter.

    Args:
        adapter: The adapter.

    Attributes:
        unchecked: The adapter.
        violations: The first error of each advisory method that failed, by method.

    Raises:
        ArgumentError: It is no adapter.
        AdapterError: An attribute of it is wrong.
    """

    def __init__(self, adapter: ModuleAdapter) -> None:
        check_attributes(adapter)
        self.unchecked = adapter
        self._raw: Any = adapter  # untyped: results need not have their declared types
        self.violations: dict[str, AdapterError] = {}
        self.consumes_functions = adapter.consumes_functions
        self.round_trip_between_passes = adapter.round_trip_between_passes
        self.ir_name, self.suffixes = adapter.ir_name, adapter.suffixes
        self.line_comment = adapter.line_comment
        self.mutability = adapter.mutability
        if self.mutability is not None:
            self.mutability = _CheckedMutability(self, self.mutability)
        for method, rule in RULES.items():
            trusted = method in TRUSTED_DEFAULTS and not overrides(adapter, method)
            found = getattr(adapter, method)
            setattr(self, method, found if trusted else self._checked(method, rule))
        for method, (substitute, is_right, expected) in ADVISORY_RULES.items():
            trusted = method in TRUSTED_DEFAULTS and not overrides(adapter, method)
            advisory = self._advisory(method, substitute, is_right, expected)
            setattr(self, method, getattr(adapter, method) if trusted else advisory)

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The adapter's class, so that `isinstance` is that of the adapter."""
        return type(self.unchecked)

    # These three are called for each function and pass: no closure, for speed.

    def kind_of(self, function: Any) -> str | None:
        """Return the kind of a function; see `ModuleAdapter`."""
        try:
            kind = self._raw.kind_of(function)
        except Exception as error:
            self._check_function(function, error)
            note_method(error, self.unchecked, "kind_of")
            raise
        if kind is None or isinstance(kind, str):
            return kind
        raise AdapterError(adapter_name(self.unchecked), "kind_of", KIND, kind)

    def is_skipped(self, function: Any) -> bool:
        """Return whether passes leave a function unchanged; see `ModuleAdapter`."""
        try:
            is_skipped = self._raw.is_skipped(function)
        except Exception as error:
            self._check_function(function, error)
            note_method(error, self.unchecked, "is_skipped")
            raise
        if is_skipped is False or is_skipped is True:
            return is_skipped
        raise self._no_bool("is_skipped", is_skipped)

    def is_function(self, value: Any) -> bool:
        """Return whether a value is a function; see `ModuleAdapter`."""
        try:
            is_function = self._raw.is_function(value)
        except Exception as error:
            note_method(error, self.unchecked, "is_function")
            raise
        if is_function is True or is_function is False:
            return is_function
        raise self._no_bool("is_function", is_function)

    def _check_function(self, function: Any, error: Exception | None = None) -> None:
        """Raise an error, from `error`, if what `functions` returned is no function."""
        fault = function_fault(cast("ModuleAdapter", self), function)
        if fault is not None:
            raise fault from error

    def _no_bool(self, method: str, got: object) -> AdapterError:
        rule = BOOL_RULE
        name = adapter_name(self.unchecked)
        return AdapterError(name, method, rule.expected, got, rule.advice)

    def programs(self, mod: Any) -> ProgramFormat:
        """Return the program format of a module; see `ModuleAdapter`."""
        found: object = self._checked("programs", FORMAT_RULE)(mod)
        return cast("ProgramFormat", self if found is self.unchecked else found)

    def __getattr__(self, name: str) -> Any:
        if name == "unchecked":  # not set yet
            raise AttributeError(name)
        return getattr(self.unchecked, name)  # further attributes of the adapter

    def _checked(self, method: str, rule: Rule) -> _Method:
        adapter, kinds, is_right = self.unchecked, rule.kinds, rule.is_right
        checked_adapter = cast("ModuleAdapter", self)
        reported = method
        if rule.reported_as and not overrides(adapter, method):
            reported = rule.reported_as

        def checked_method(*args: Any, **options: Any) -> Any:
            if rule.takes_function:
                self._check_function(args[0])
            try:
                # Looked up at each call, as the attribute may be set anew.
                result = getattr(adapter, method)(*args, **options)
            except Exception as error:
                note_method(error, adapter, reported)
                raise
            if result.__class__ in kinds:
                return result
            if is_right is not None and is_right(result, checked_adapter):
                return result
            name = adapter_name(adapter)
            raise AdapterError(name, reported, rule.expected, result, rule.advice)

        return checked_method

    def _advisory(
        self,
        method: str,
        substitute: Any,
        is_right: Callable[[Any], bool],
        expected: str,
    ) -> _Method:
        adapter = self.unchecked
        name = adapter_name(adapter)

        def advisory_method(*args: Any) -> Any:
            try:
                result: object = getattr(adapter, method)(*args)
            except (MemoryError, ParpassError):
                raise  # not the adapter's fault
            except Exception as error:  # noqa: BLE001 -- the run warns of it at its end
                result = error
            else:
                if is_right(result):
                    return result
            fault = function_fault(cast("ModuleAdapter", self), args[0])
            violation = fault or AdapterError(name, method, expected, result)
            self.violations.setdefault(violation.method, violation)
            return substitute

        return advisory_method

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.unchecked, _stated(self.unchecked))


class _CheckedBatchAdapter(CheckedAdapter):
    """The checked form of an adapter that has a `BatchCodec`."""

    def open_encoder(self, blob_sink: Any) -> Callable[[Any], bytes | None]:
        encode = cast("BatchCodec", self.unchecked).open_encoder(blob_sink)
        name = adapter_name(self.unchecked)

        def encoded(function: Any) -> bytes | None:
            self._check_function(function)
            found: object = encode(function)
            if found is None or type(found) is bytes:
                return found
            raise AdapterError(
                name, "open_encoder", "a callable that gives bytes", found
            )

        return encoded

    def open_decoder(
        self, encoded: Any, sources: Sequence[Any], mod: Any
    ) -> Callable[[], Any]:
        adapter = self.unchecked
        decode = cast("BatchCodec", adapter).open_decoder(encoded, sources, mod)
        is_function, name = self.is_function, adapter_name(adapter)

        def decoded() -> Any:
            found = decode()
            if is_function(found):
                return found
            expected = "a callable that gives functions"
            raise AdapterError(name, "open_decoder", expected, found)

        return decoded


class _CheckedMutability:
    def __init__(self, adapter: CheckedAdapter, mutability: Mutability) -> None:
        self._adapter, self._inner = adapter, mutability

    def fingerprint(self, function: Any) -> Any:
        try:
            return self._inner.fingerprint(function)
        except Exception as error:
            note_method(error, self._adapter.unchecked, "mutability.fingerprint")
            raise

    def to_change(self, function: Any) -> Any:
        adapter, method = self._adapter.unchecked, "mutability.to_change"
        try:
            given = self._inner.to_change(function)
        except Exception as error:
            note_method(error, adapter, method)
            raise
        if given is function or self._adapter.is_function(given):
            return given
        raise AdapterError(adapter_name(adapter), method, FUNCTION, given)


def adapter_name(adapter: ModuleAdapter) -> str:
    """Return the name of an adapter's class, for messages."""
    return type(unchecked(adapter)).__qualname__


def checked(adapter: ModuleAdapter) -> ModuleAdapter:
    """Return the checked form of an adapter.

    Raises:
        ArgumentError: It is no adapter.
        AdapterError: An attribute of it is wrong.
    """
    known = _known.get(id(adapter))
    # An attribute may have been set since, as the advice of a `LawError` says.
    if known is None or (
        known.consumes_functions is not adapter.consumes_functions
        or known.round_trip_between_passes is not adapter.round_trip_between_passes
        or (known.mutability is None) is not (adapter.mutability is None)
    ):
        if len(_known) == _MAX_CACHED:
            _known.clear()  # workers receive a new adapter for each run
        known = _known[id(adapter)] = _create(adapter)
    return cast("ModuleAdapter", known)


def _create(adapter: ModuleAdapter) -> CheckedAdapter:
    has_batches = isinstance(adapter, BatchCodec)
    return (_CheckedBatchAdapter if has_batches else CheckedAdapter)(adapter)


def _stated(adapter: ModuleAdapter) -> tuple[bool, bool, str | None]:
    """Return what the attributes of an adapter say, for another process."""
    mutability = adapter.mutability
    kind = None if mutability is None else type(mutability).__qualname__
    return adapter.consumes_functions, adapter.round_trip_between_passes, kind


def _restore(adapter: ModuleAdapter, stated: Sequence[Any]) -> CheckedAdapter:
    """Return the checked form of an adapter that another process has pickled.

    Raises:
        AdapterError: Its attributes differ here. They were set on its class, which
            this process has imported as it is defined.
    """
    for name, there, here in zip(_STATED, stated, _stated(adapter), strict=True):
        if here != there:
            raise AdapterError(
                adapter_name(adapter),
                name,
                f"{there}, as in the process that runs the pipeline,",
                getattr(adapter, name),
                "set it on the adapter, or where its class is defined",
            )
    return _create(adapter)


def unchecked(adapter: _FormatT) -> _FormatT:
    """Return the adapter of a checked form; any other value unchanged."""
    found: object = adapter
    if isinstance(found, CheckedAdapter):
        return cast("_FormatT", found.unchecked)
    return adapter


def overrides(adapter: ModuleAdapter, method: str) -> bool:
    """Return whether an adapter overrides a method of the base class."""
    own = getattr(unchecked(adapter), method)
    return getattr(own, "__func__", own) is not getattr(ModuleAdapter, method)


def function_fault(
    adapter: ModuleAdapter, function: Any, name: str | None = None
) -> AdapterError | None:
    """Return the error for a value of `functions` that is no function; None if it is.

    Args:
        adapter: The adapter.
        function: The value.
        name: The name that it has in the module, if that is known.
    """
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
        message = "expected a ModuleAdapter for an adapter, got "
        if isinstance(given, type):
            name = given.__name__
            raise ArgumentError(f"{message}class {name}; make one, as in {name}()")
        raise ArgumentError(message + describe_value(given))
    name = adapter_name(adapter)
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


def take_violations(adapter: ModuleAdapter) -> list[AdapterError]:
    """Return and clear the recorded errors of advisory methods."""
    found: object = adapter
    taken: list[AdapterError] = []
    if isinstance(found, CheckedAdapter):
        with contextlib.suppress(KeyError):  # another thread takes them, too
            while found.violations:
                taken.append(found.violations.popitem()[1])
    return taken


def add_violations(adapter: ModuleAdapter, violations: Sequence[AdapterError]) -> None:
    """Record errors of advisory methods that another process recorded."""
    found: object = adapter
    if isinstance(found, CheckedAdapter):
        for violation in violations:
            found.violations.setdefault(violation.method, violation)


class warning_of_violations:  # noqa: N801 -- used like a function, as contextlib's own
    """A context manager around a run: warns of failed advisory methods at its end.

    If the run fails, it does not warn. It is no generator, as contextlib writes to
    exceptions that pass through one, and some exceptions are frozen.

    Args:
        adapter: The adapter.
    """

    def __init__(self, adapter: ModuleAdapter) -> None:
        self._adapter = adapter

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, *_: object) -> None:
        violations = take_violations(self._adapter)
        for violation in violations if kind is None else ():
            warn(f"{violation}; {_SAME_RESULT}", AdapterWarning)
