"""What users' rules of layouts answer: `relay.transform.infer_layout_utils`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from parpass.relay.op.declaration.layout import Layout


class InferCorrectLayoutOutput(NamedTuple):
    """The layouts in which an operator goes on.

    Attributes:
        input_layouts: Those of its arguments; None where that does not matter.
        output_layouts: Those of its results.
        new_attrs: Its attributes.
    """

    input_layouts: Sequence[Layout | None]
    output_layouts: Sequence[Layout | None]
    new_attrs: Any
