"""The codec of functions for a store on disk: a table of records in MessagePack.

It names no code. With a function there is what InferType knows of it: the entry of the
inference cache, so that a pass sees what it saw of the function that was written.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from parpass.ir.adt import Constructor
from parpass.ir.base_func import BaseFunc
from parpass.ir.global_var import GlobalVar
from parpass.ir.inference_cache import (
    cache_inference,
    cached_inference,
)
from parpass.ir.module import IRModule
from parpass.ir.serialization.records import Fault, Maker
from parpass.ir.serialization.schema import known_kinds
from parpass.ir.serialization.store_records import (
    array_record,
    kind_record,
    op_record,
    read_record,
)
from parpass.ir.serialization.table_reader import TableReader
from parpass.ir.serialization.table_writer import (
    MAX_KNOWN,
    MAX_KNOWN_BYTES,
    TableWriter,
)
from parpass.ir.serialization.value_forms import LEAVES
from parpass.ir.types import FuncType
from parpass.runtime.ndarray import NDArray
from parpass.transform import BlobSink

_MAX_BYTES = 1 << 24  # of a function with its constants, that is worth a place

_Number = Annotated[int, msgspec.Meta(ge=0)]


class _Stored(msgspec.Struct, array_like=True):
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
_decode = msgspec.msgpack.Decoder(_Stored).decode


class IRStoreCodec:
    """Encodes functions for a store on disk, and decodes them as members of a module.

    It knows the node kinds and operators that there are when it is made.

    Args:
        mod: The module.
    """

    def __init__(self, mod: IRModule) -> None:
        self._kinds = known_kinds()
        self._writer = TableWriter(self._kinds, LEAVES, kind_record, op_record)
        self._reader = TableReader()
        self._makers: dict[bytes, Maker] = {}
        global_vars = mod.global_vars_by_name
        constructors = mod.types.constructors

        def own_var(var: GlobalVar) -> GlobalVar:
            return global_vars.get(var.name_hint) or GlobalVar(var.name_hint)

        def own_constructor(one: Constructor) -> Constructor:
            return constructors.get((one.belong_to.name_hint, one.name_hint), one)

        self._reader.substitute(GlobalVar, own_var)
        self._reader.substitute(Constructor, own_constructor)

    def encode(self, function: BaseFunc, blob_sink: BlobSink) -> bytes | None:
        """Return a function as bytes; None if it is too large, or cannot be written.

        Equal functions give equal bytes, whichever types and attributes in them are
        one object.
        """
        known = cached_inference(function)

        def render_array(array: NDArray) -> bytes:
            return array_record(array, blob_sink)

        try:
            if known is None:
                records, stream, (root,) = self._writer.write([function], render_array)
                encoded = _encode(_Stored(records, stream, root))
            else:
                used = sorted(known.used_globals.items()) if known.used_globals else []
                objects = [function, *(typ for _, typ in used)]
                records, stream, (root, *numbers) = self._writer.write(
                    objects, render_array
                )
                named = [
                    (name, at) for (name, _), at in zip(used, numbers, strict=True)
                ]
                types = sorted(known.used_types.items()) if known.used_types else []
                encoded = _encode(
                    _Stored(records, stream, root, named, known.nodes, types)
                )
        except Exception:  # noqa: BLE001 -- whatever it is, it stays in memory
            return None
        return encoded if len(encoded) <= _MAX_BYTES else None

    def decode(self, encoded: bytes) -> BaseFunc:
        """Return the function that `encode` wrote.

        References to global variables and constructors are to those of the module.

        Raises:
            Exception: It is no such function.
        """
        found = _decode(encoded)
        known = self._makers
        makers = [known.get(one) or self._maker(one) for one in found.records]
        try:
            objects = self._reader.read(makers, found.stream)
        except Fault as fault:
            raise ValueError(f"row {fault.row}{fault.where}: {fault}") from None
        function = objects[found.root]
        if not isinstance(function, BaseFunc):
            raise TypeError(f"expected a function, got {type(function).__name__}")
        if found.nodes is not None:
            used = {name: objects[at] for name, at in found.used}
            if not all(isinstance(typ, FuncType) for typ in used.values()):
                raise TypeError("expected types of functions")
            cache_inference(function, used, found.nodes, dict(found.used_types))
        return function

    def _maker(self, record: bytes) -> Maker:
        made = read_record(record, self._kinds, self._reader)
        if len(record) <= MAX_KNOWN_BYTES and len(self._makers) < MAX_KNOWN:
            self._makers[record] = made
        return made
