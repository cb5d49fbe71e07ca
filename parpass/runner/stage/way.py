"""How far one function is in a stage: what becomes of it, step by step."""

from __future__ import annotations

import copy
from typing import Any

from parpass.runner.travel.function_outcome import FunctionOutcome
from parpass.transform.saying.interception import Tape


class Way:
    """The way of one function through the steps of a stage.

    Args:
        name: The function's.
        begun: What became of it in the steps that it has been through already.

    Attributes:
        name: The same as the argument.
        outcome: What has become of it so far.
        original: The function as it was when the stage began, if it began here.
        tape: Takes down what is emitted on the way.
    """

    __slots__ = ("name", "original", "outcome", "tape")

    def __init__(self, name: str, begun: FunctionOutcome | None = None) -> None:
        self.name = name
        self.outcome = FunctionOutcome(None) if begun is None else copy.copy(begun)
        self.original: Any = None
        self.tape: Tape | None = None
