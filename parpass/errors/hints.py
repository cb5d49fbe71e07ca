"""Hints: phrases of messages that name a setting, which each front end spells its way.

A call in Python is given `workers=0` where the command is given `-j0`. A message has a
`Hint` in that place; `str(error)` shows the phrase for callers in Python, and
`render_hints` those of another front end. Messages stay text for all other purposes.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, Self


class Hint(enum.Enum):
    """The key of a phrase; its value is the phrase for Python callers.

    `{0}` and so on are placeholders for subjects, in hints that have some.
    """

    SKIP_FUNCTION = "set on_failure='skip' to leave this function as it was"
    REPLAY = (
        "to reproduce it in a separate process, write a reproducer (option "
        "parpass.reproducer) and run 'parpass replay' on it"
    )
    NOT_ISOLATED = (
        "drop isolated=True if you trust the passes not to crash this process"
    )
    # A pass that ends or hangs a worker does so to the caller's process as well.
    WITHOUT_WORKERS = (
        "workers=0 runs without workers, if you trust the passes not to crash this "
        "process"
    )
    REQUEST_SERIAL = "workers=0 silences this"
    WORKER_PER_CORE = "workers=None starts one per core"
    EVERY_CORE = "workers=None uses every core"
    IN_WORKERS = "use run_pipeline with workers"
    KEEP_WORKERS = "open_runner keeps them for several runs"
    START_TIMEOUT = "set the option parpass.start_timeout"
    OPSET = "set opset="
    # The example is given twice, as Python has it, and as the command has it.
    OPEN_SHAPES = (
        "pass from_onnx lengths by dim=, or whole shapes by shape=, with your lengths "
        "instead of 1: {0}"
    )
    SHAPE_PARAMETER = "shape="
    DIM_PARAMETER = "dim="
    CONST_PARAMETER = "const="
    READ_SHAPES = (
        "pass shape= or dim= to from_onnx, or run the program by relay.create_executor"
    )
    INTERPRET = "run it by relay.create_executor"
    WITH_REMARKS = "with a RemarksInstrument"


# Text, a hint, or a hint with its subjects.
MessagePart = str | Hint | tuple[Hint, *tuple[str, ...]]


class HintedMessage(str):
    """A message with hints: a string that shows the phrases for Python callers.

    Args:
        parts: Text, hints and messages with hints, in order.

    Attributes:
        parts: The text and the hints.
    """

    __slots__ = ("parts",)

    parts: tuple[MessagePart, ...]

    def __new__(cls, *parts: MessagePart) -> Self:
        message = super().__new__(cls, "".join(_text(one) for one in parts))
        nested = (one.parts if isinstance(one, cls) else (one,) for one in parts)
        message.parts = tuple([part for several in nested for part in several])
        return message

    def __reduce__(self) -> tuple[Any, ...]:
        return HintedMessage, self.parts


class Hinted:
    """A base of errors and warnings that may be given a `HintedMessage`."""

    __slots__ = ()

    args: tuple[Any, ...]

    @property
    def hints(self) -> tuple[Hint, ...]:
        """The hints of the message, in order."""
        message = self.args[0] if self.args else ""
        if not isinstance(message, HintedMessage):
            return ()
        keys = [one[0] if isinstance(one, tuple) else one for one in message.parts]
        return tuple([one for one in keys if isinstance(one, Hint)])


def render_hints(message: object, phrases: Mapping[Hint, str]) -> str:
    """Return a message as text, with a front end's phrases for its hints.

    Args:
        message: An error, a warning or a string. Without hints this is `str(message)`.
        phrases: The phrases of the front end; hints not in it use the phrases for
            Python callers.
    """
    if isinstance(message, Hinted) and message.args:
        message = message.args[0] if message.hints else message
    if not isinstance(message, HintedMessage):
        return str(message)
    return "".join(_text(one, phrases) for one in message.parts)


def _text(part: MessagePart, phrases: Mapping[Hint, str] | None = None) -> str:
    if isinstance(part, str):
        return part
    hint, *subject = part if isinstance(part, tuple) else (part,)
    phrase = (phrases or {}).get(hint, hint.value)
    return phrase.format(*subject) if subject else phrase
