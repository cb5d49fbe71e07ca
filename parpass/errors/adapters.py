"""The errors of module adapters, and the formatting of what their methods did."""

from __future__ import annotations

from parpass.errors.core import ParpassError, safe_getattr

_NOTE = "in adapter "
_MAX_VALUE_CHARS = 40  # longer values are shown by their type alone


class AdapterError(ParpassError, TypeError):
    """A method of an adapter returned an invalid value.

    If a method raises, the exception propagates unchanged, with a note that names the
    method.

    Attributes:
        adapter: The adapter's class.
        method: The method.
        expected: A description of the valid values.
        got: A description of the value it returned.
    """

    def __init__(
        self, adapter: str, method: str, expected: str, got: object, advice: str = ""
    ) -> None:
        described = describe_value(got)
        end = f"; {advice}" if advice else ""
        super().__init__(
            f"adapter '{adapter}': expected {expected} from '{method}', got "
            f"{described}{end}"
        )
        self.adapter, self.method = adapter, method
        self.expected, self.got = expected, described


class LawError(ParpassError, AssertionError):
    """A parallel run may differ from the serial run, because of an adapter.

    Raised under the option `parpass.check_contract`, and by `parpass.testing`.

    Attributes:
        adapter: The adapter's class.
        method: The methods that may be at fault.
        pass_name: The pass whose result differed; empty if no pass was involved.
        function: The function that differed; None for the whole module.
        difference: The first difference, as the adapter describes it; the serial run
            comes first.
    """

    def __init__(
        self,
        message: str,
        *,
        adapter: str,
        method: str,
        pass_name: str = "",
        function: str | None = None,
        difference: str = "",
    ) -> None:
        super().__init__(message)
        self.adapter, self.method = adapter, method
        self.pass_name, self.function = pass_name, function
        self.difference = difference


def describe_value(value: object) -> str:
    """Return a value's type, and the value itself if it is short, for a message."""
    if value is None:
        return "None"
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    if isinstance(value, type):
        return f"class {value.__name__}"
    kind = type(value).__name__
    if isinstance(value, bool | int | float | str | bytes):
        text = repr(value)
        return f"{kind} {text}" if len(text) <= _MAX_VALUE_CHARS else kind
    return kind


def method_note(adapter: str, method: str) -> str:
    return f"{_NOTE}'{adapter}', method '{method}'"


def function_note(name: str) -> str:
    """Return the note for an exception of an encoder, which does not know the name."""
    return f"on function '{name}'"


def format_with_method(error: BaseException) -> str:
    """Return an error in one line, with the adapter's method that raised it, if any."""
    notes = [str(one) for one in safe_getattr(error, "__notes__", ())]
    where = next((f" ({one})" for one in notes if one.startswith(_NOTE)), "")
    return f"{type(error).__name__}: {error}{where}"
