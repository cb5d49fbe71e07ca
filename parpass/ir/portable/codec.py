"""The codec of functions for a store on disk."""

from __future__ import annotations

import pickle
from typing import Annotated

import msgspec

from parpass.diagnostic import Span
from parpass.ir.adt import Constructor
from parpass.ir.inference_cache import (
    InferenceRecord,
    cache_inference,
    cached_inference,
)
from parpass.ir.module import IRModule
from parpass.ir.portable.table_reader import TableReader
from parpass.ir.portable.table_writer import TableWriter
from parpass.ir.serialization.schema import known_kinds
from parpass.ir.type_structure import digest, is_complete
from parpass.ir.typed_expr import BaseFunc, GlobalVar
from parpass.ir.types import FuncType
from parpass.transform import BlobSink
from parpass.transform.relative_lines import (
    ABSOLUTE,
    ElsewhereError,
    LineBase,
    RelativeLines,
)

_MAX_BYTES = 1 << 24  # of a function with its constants, that is worth a place

_Number = Annotated[int, msgspec.Meta(ge=0)]


class _Portable(msgspec.Struct, array_like=True):
    """A function.

    Attributes:
        records: The records of its objects.
        stream: The objects; see `TableWriter`.
        root: The number of the function.
        used: The numbers of the types of the functions that it refers to, by name.
        nodes: How many nodes it has; None if InferType has not returned it.
        used_types: Digests of the types that it refers to, by name.
    """

    records: list[bytes]
    stream: list[_Number]
    root: _Number
    used: list[tuple[str, _Number]] = []
    nodes: int | None = None
    used_types: list[tuple[str, bytes]] = []


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Portable).decode


class IRPortableCodec:
    """Encodes functions for a store on disk, and decodes them as members of a module.

    It knows the node kinds and operators that there are when it is made.

    Args:
        mod: The module.
    """

    def __init__(self, mod: IRModule) -> None:
        kinds = known_kinds()
        self._writer = TableWriter(kinds)
        self._reader = TableReader(kinds)
        self._global_vars = global_vars = mod.global_vars_by_name
        constructors = mod.types.constructors

        def own_var(var: GlobalVar) -> GlobalVar:
            return global_vars.get(var.name_hint) or GlobalVar(var.name_hint)

        def own_constructor(one: Constructor) -> Constructor:
            return constructors.get((one.belong_to.name_hint, one.name_hint), one)

        self._reader.substitute(GlobalVar, own_var)
        self._reader.substitute(Constructor, own_constructor)

    def encode(
        self, function: BaseFunc, blob_sink: BlobSink, lines: LineBase = ABSOLUTE
    ) -> bytes | None:
        """Return a function as bytes; None if it is too large, or not portable.

        Equal functions give equal bytes, whichever types and attributes in them are
        one object.

        Args:
            function: The function.
            blob_sink: Takes large values.
            lines: Is asked for each span, and told of each reference to a function.

        Raises:
            ElsewhereError: `lines` has no base for a span.
        """
        known = cached_inference(function)
        try:
            if known is None:
                records, stream, (root,) = self._writer.write(
                    [function], blob_sink, lines
                )
                encoded = _encode(_Portable(records, stream, root))
            else:
                used = sorted(known.used_globals.items()) if known.used_globals else []
                objects = [function, *(typ for _, typ in used)]
                records, stream, (root, *numbers) = self._writer.write(
                    objects, blob_sink, lines
                )
                named = [
                    (name, at) for (name, _), at in zip(used, numbers, strict=True)
                ]
                types = sorted(known.used_types.items()) if known.used_types else []
                encoded = _encode(
                    _Portable(records, stream, root, named, known.nodes, types)
                )
        except ElsewhereError:
            raise
        except Exception:  # noqa: BLE001 -- whatever it is, it stays in memory
            return None
        return encoded if len(encoded) <= _MAX_BYTES else None

    def decode(self, encoded: bytes, lines: RelativeLines | None = None) -> BaseFunc:
        """Return the function that `encode` wrote.

        References to global variables and constructors are to those of the module.

        Args:
            encoded: The bytes.
            lines: Where the function is; None if its lines are absolute.

        Raises:
            Exception: It is no such function.
        """
        found = _decode(encoded)
        objects = self._reader.read(found.records, found.stream, lines)
        function = objects[found.root]
        if not isinstance(function, BaseFunc):
            raise TypeError(f"expected a function, got {type(function).__name__}")
        if found.nodes is not None:
            used = {name: objects[at] for name, at in found.used}
            if not all(isinstance(typ, FuncType) for typ in used.values()):
                raise TypeError("expected types of functions")
            record = InferenceRecord(used, found.nodes, dict(found.used_types))
            cache_inference(function, record)
        return function

    def encode_reference(self, name: str) -> bytes:
        """Encode the type of a global variable."""
        var = self._global_vars.get(name)
        if var is None:
            return b"?"
        known = var.checked_type_
        if known is None:
            return b""
        return digest(known) if is_complete(known) else pickle.dumps(known, protocol=5)

    def place_in(self, function: BaseFunc) -> Span | None:
        """Return the place of the function itself."""
        return getattr(function, "span", None)

    def place_of(self, name: str) -> Span | None:
        """Return the place of a global variable; None if it is not known."""
        var = self._global_vars.get(name)
        return None if var is None else var.span
