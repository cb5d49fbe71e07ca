"""The wire form of functions: bytes for messages between processes of one program.

A small function is pickled as it is. Of a larger one the nodes are pickled first, as a
list: a node finds its predecessors in the pickler's memo, so the recursion stays
shallow. The list is breadth-first reversed, which is fast to compute and nearly always
sufficient; otherwise it is in post-order, and the pickler never recurses, however deep
the expression is. The function's entry of the inference cache is encoded with it. The
values of large constants may be left outside (`BlobSink`).

Most of a small function's bytes, and of their time, are names: of node kinds,
operators, types. So functions are encoded in batches with one memo: later functions
refer to the names in the bytes of earlier ones. A batch is decoded in the order of
encoding. Values shared within a batch, such as types and constants, stay shared.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

from parpass.ir.adt import Constructor, constructor_of
from parpass.ir.base_func import BaseFunc
from parpass.ir.global_var import GlobalVar, global_var_named
from parpass.ir.inference_cache import (
    InferenceRecord,
    cache_inference,
    cached_inference,
)
from parpass.ir.node import breadth_first, post_order
from parpass.runtime.ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from parpass.ir.adt import GlobalTypeVar
    from parpass.ir.types import Type
    from parpass.source import Source
    from parpass.transform import BlobSink

_FEW = 256  # nodes, which the pickler can go down as deep as they are
_SMALL = 100  # nodes; in a larger function names are a small part of the bytes


def encode(
    function: BaseFunc,
    blob_sink: BlobSink | None = None,
    names: set[str] | None = None,
) -> bytes:
    """Encode one function of any depth, as a batch of one.

    Args:
        function: The function.
        blob_sink: Called with the array of each constant; see `BlobSink`.
        names: The names of the functions that it refers to are added.
    """
    entry = cached_inference(function)
    before = None
    if entry is None or entry.nodes > _FEW:
        before = breadth_first(function)[::-1]
    try:
        return FunctionPickler(blob_sink, names).pickled(before, function, entry)
    except RecursionError:
        before = post_order(function)
        return FunctionPickler(blob_sink, names).pickled(before, function, entry)


def open_encoder(
    blob_sink: BlobSink | None = None,
) -> Callable[[BaseFunc], bytes | None]:
    """Return an encoder of the functions of a batch, called for one after the other.

    It returns None for a function that is known to be large, and raises RecursionError
    for a deep one, or any error of pickle; it must not be used after an error.

    Args:
        blob_sink: Called with the array of each constant; see `BlobSink`.
    """
    pickled = FunctionPickler(blob_sink).pickled

    def encode_next(function: BaseFunc) -> bytes | None:
        entry = cached_inference(function)
        if entry is not None and entry.nodes > _SMALL:
            return None
        # To count the nodes of one that is not typed would take half as long as this.
        return pickled(None, function, entry)

    return encode_next


def decode(
    encoded: bytes | memoryview,
    outside: Sequence[Source] = (),
    global_vars: Mapping[str, GlobalVar] | None = None,
    constructors: Mapping[tuple[str, str], Constructor] | None = None,
) -> Any:
    """Decode a function encoded by `encode`; see `open_decoder`."""
    return open_decoder(encoded, outside, global_vars, constructors)()


def open_decoder(
    encoded: bytes | memoryview,
    outside: Sequence[Source] = (),
    global_vars: Mapping[str, GlobalVar] | None = None,
    constructors: Mapping[tuple[str, str], Constructor] | None = None,
) -> Callable[[], Any]:
    """Return a decoder that gives the next function of a batch at each call.

    Args:
        encoded: The bytes of the first functions of the batch, or of all. They are
            pickles: only for messages between processes of one program, never for a
            file that others can write.
        outside: The sources of the arrays left outside, by index.
        global_vars: The global variables of the module that the functions join;
            references to others of their names become references to them.
        constructors: Its constructors, by the names of type and constructor;
            references are redirected in the same manner.
    """
    load = _Unpickler(encoded, outside, global_vars or {}, constructors or {}).load

    def decode_next() -> Any:
        _, function, used, nodes, types = load()
        if nodes is not None:
            cache_inference(function, used, nodes, types)
        return function

    return decode_next


def array_outside(index: int, shape: tuple[int, ...], typestr: str) -> NDArray:
    """Stand in for what a decoder takes instead: it knows where the array is."""
    raise LookupError(f"array {index} of {shape}, {typestr} was left outside")


class FunctionPickler:
    """Pickles the functions of a batch.

    Args:
        blob_sink: Called with the array of each constant; see `BlobSink`.
        names: The names of the functions that they refer to are added.
    """

    def __init__(
        self, blob_sink: BlobSink | None, names: set[str] | None = None
    ) -> None:
        self._sink = _Sink()
        self._pickler = pickle.Pickler(self._sink, protocol=5)
        if blob_sink is not None or names is not None:
            self._pickler.dispatch_table = _reductions(blob_sink, names)

    def pickled(
        self,
        before: Sequence[Any] | None,
        function: BaseFunc,
        entry: InferenceRecord | None,
    ) -> bytes:
        """Encode a function, preceded by nodes of it, with its cache entry.

        Raises:
            Exception: It cannot be pickled; the pickler must not be used any more.
        """
        used, nodes, types = (None, None, None) if entry is None else entry
        self._pickler.dump((before, function, used or None, nodes, types or None))
        return self._sink.taken()


class _Sink:
    """Collects a pickler's output; apart from it, so that no cycle keeps the memo."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, part: bytes) -> None:
        self._parts.append(part)

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _reductions(
    blob_sink: BlobSink | None, names: set[str] | None
) -> dict[type, Callable[[Any], Any]]:
    found: dict[type, Callable[[Any], Any]] = {**copyreg.dispatch_table}
    if blob_sink is not None:
        found[NDArray] = lambda array: _reduced(array, blob_sink)
    if names is not None:

        def named(var: GlobalVar) -> Any:
            names.add(var.name_hint)
            return var.__reduce__()

        found[GlobalVar] = named
    return found


def _reduced(array: NDArray, blob_sink: BlobSink) -> str | tuple[Any, ...]:
    if not array.is_uniform and array.is_plain:
        index = blob_sink(array)
        if index is not None:
            return array_outside, (index, array.shape, array.typestr)
    return array.__reduce__()


class _Unpickler(pickle.Unpickler):
    def __init__(
        self,
        encoded: bytes | memoryview,
        outside: Sequence[Source],
        global_vars: Mapping[str, GlobalVar],
        constructors: Mapping[tuple[str, str], Constructor],
    ) -> None:
        super().__init__(io.BytesIO(encoded))
        # Not methods: the unpickler keeps what it found, and would keep itself.
        self._own = {
            global_var_named: partial(_global_var, global_vars),
            constructor_of: partial(_constructor, constructors),
            array_outside: partial(_array, outside),
        }

    def find_class(self, module_name: str, global_name: str) -> Any:
        found = super().find_class(module_name, global_name)
        return self._own.get(found, found) if type(found) is FunctionType else found


def _global_var(global_vars: Mapping[str, GlobalVar], name: str) -> GlobalVar:
    known = global_vars.get(name)
    return GlobalVar(name) if known is None else known


def _constructor(
    constructors: Mapping[tuple[str, str], Constructor],
    name: str,
    inputs: tuple[Type, ...],
    belong_to: GlobalTypeVar,
    tag: int,
) -> Constructor:
    known = constructors.get((belong_to.name_hint, name))
    return constructor_of(name, inputs, belong_to, tag) if known is None else known


def _array(
    outside: Sequence[Source], index: int, shape: tuple[int, ...], typestr: str
) -> NDArray:
    source = outside[index]
    if source.original is not None:
        return source.original
    return NDArray.from_source(source, shape, typestr)
