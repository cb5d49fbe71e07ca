"""The module adapter of xDSL's modules."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.context import Context

from parpass.adapters.xdsl.box import Box
from parpass.adapters.xdsl.modules import XDSLModule
from parpass.adapters.xdsl.text_box import packed, unpacked
from parpass.adapters.xdsl.xdsl_passes import Verify
from parpass.transform import (
    KeepOutside,
    ModuleAdapter,
    Pass,
    Source,
)
from parpass.transform.textual import first_difference

_VERIFY = Verify()


class XDSLAdapter(ModuleAdapter):
    """Handles `XDSLModule`s; see `parpass.transform.ModuleAdapter` for the methods.

    Boxes are values, so there is no `mutability`: what a pass changes is its own.
    """

    def functions(self, mod: XDSLModule) -> Mapping[str, Box]:
        """Return the boxes."""
        return mod.boxes

    def with_functions(
        self, mod: XDSLModule, functions: Mapping[str, Box]
    ) -> XDSLModule:
        """Return a module with these boxes."""
        return dataclasses.replace(mod, boxes=functions)

    def is_module(self, value: Any) -> bool:
        """Return whether this is a module of boxes."""
        return isinstance(value, XDSLModule)

    def is_function(self, value: Any) -> bool:
        """Return whether this is a box."""
        return isinstance(value, Box)

    def size(self, function: Box, limit: int) -> int:
        """Return about how many operations there are, by the number of bytes."""
        return min(function.size, limit)

    def signature(self, function: Box) -> bytes:
        """Return the function without its body."""
        return function.signature

    def difference(self, before: Box, after: Box) -> str | None:
        """Return the first line in which the texts of two functions differ."""
        if before == after:
            return None
        in_text = first_difference(before.text, after.text)
        return in_text or "what texts do not show: locations, or the order of uses"

    def restoring_pass(self, kind: str) -> Pass:
        """Return what verifies a function."""
        return _VERIFY

    def encode_function(self, function: Box, keep_outside: KeepOutside) -> bytes:
        """Return a box as bytes."""
        return packed(function)

    def decode_function(
        self, encoded: bytes | memoryview, outside: Sequence[Source], mod: XDSLModule
    ) -> Box:
        """Return a box from bytes; its operations are made when a pass takes them."""
        return unpacked(encoded, mod.environment)

    def worker_environment(self, mod: XDSLModule) -> Context:
        """Return what passes ask for dialects, which takes a while to load."""
        return mod.environment.context()

    def encode_shell(self, mod: XDSLModule) -> bytes:
        """Return all but the boxes as bytes."""
        fields = mod.shell, mod.environment, mod.is_checked, mod.has_resources
        return pickle.dumps(fields, protocol=5)

    def decode_shell(self, encoded: bytes) -> XDSLModule:
        """Return a module without boxes."""
        return XDSLModule({}, *pickle.loads(encoded))  # written by a coordinator
