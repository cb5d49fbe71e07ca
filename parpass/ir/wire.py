"""Functions of the IR as bytes between our own processes.

A small function is pickled as it is. Of a larger one the nodes are pickled as a list
first. What stands before a node is in the pickler's memo already, so it does not go
down far from there. The nearest nodes come last, which is found out quickly and nearly
always good enough; where it is not, the list is in post-order, and the pickler never
recurses, however deep the expression is. What InferType knows of the function goes with
it. The values of large constants may stay outside.

Most of the bytes of a small function, and of the time that they take, are names: of
node kinds, operators, types. So many functions are encoded in one run, with one memo:
what the bytes of one tell, those after it refer to. They are decoded in the same order.
What functions of a run share, such as types and constants, they share afterwards.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

from parpass.ir.adt import Constructor, constructor_of
from parpass.ir.ledger import LedgerEntry, enter_in_ledger, ledger_entry
from parpass.ir.node import breadth_first, post_order
from parpass.ir.relay_expr import BaseFunc, GlobalVar, global_var_named
from parpass.runtime.ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from parpass.ir.adt import GlobalTypeVar
    from parpass.ir.types.ty import Type
    from parpass.runtime.source import Source
    from parpass.transform import KeepOutside

_FEW = 256  # nodes, which the pickler can go down as deep as they are
_SMALL = 100  # nodes; of more than these, names are little of what is told


def encode(function: BaseFunc, keep_outside: KeepOutside | None = None) -> bytes:
    """Return a function as bytes: a run of one, of any depth.

    Args:
        function: The function.
        keep_outside: Called with the array of each constant; see `KeepOutside`.
    """
    entry = ledger_entry(function)
    before = None
    if entry is None or entry.nodes > _FEW:
        before = breadth_first(function)[::-1]
    try:
        return FunctionPickler(keep_outside).pickled(before, function, entry)
    except RecursionError:
        before = post_order(function)
        return FunctionPickler(keep_outside).pickled(before, function, entry)


def open_encoder(
    keep_outside: KeepOutside | None = None,
) -> Callable[[BaseFunc], bytes | None]:
    """Return what encodes the functions of a run, one after the other.

    It gives None for one that is known to be large, and raises RecursionError for one
    that is deep, or what pickling raises; it is of no use then.

    Args:
        keep_outside: Called with the array of each constant; see `KeepOutside`.
    """
    pickled = FunctionPickler(keep_outside).pickled

    def encode_next(function: BaseFunc) -> bytes | None:
        entry = ledger_entry(function)
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
    """Return the function that `encode` was given; see `open_decoder`."""
    return open_decoder(encoded, outside, global_vars, constructors)()


def open_decoder(
    encoded: bytes | memoryview,
    outside: Sequence[Source] = (),
    global_vars: Mapping[str, GlobalVar] | None = None,
    constructors: Mapping[tuple[str, str], Constructor] | None = None,
) -> Callable[[], Any]:
    """Return what gives the functions of a run, each time the next one.

    Args:
        encoded: The bytes of the first functions of the run, or of all; pickle is
            spoken between our own processes only, never read from a file that others
            can write.
        outside: The sources of the arrays that were left outside, by their index.
        global_vars: The global variables of the module that the functions join;
            references to others of their names become references to them.
        constructors: Its constructors, by the names of their types and their own, for
            which the same holds.
    """
    load = _Unpickler(encoded, outside, global_vars or {}, constructors or {}).load

    def decode_next() -> Any:
        _, function, used, nodes, types = load()
        if nodes is not None:
            enter_in_ledger(function, LedgerEntry(used or {}, nodes, types or {}))
        return function

    return decode_next


def array_outside(index: int, shape: tuple[int, ...], typestr: str) -> NDArray:
    """Stand in for what a decoder takes instead: it knows where the array is."""
    raise LookupError(f"array {index} of {shape}, {typestr} was left outside")


class FunctionPickler:
    """Pickles the functions of a run.

    Args:
        keep_outside: Called with the array of each constant; see `KeepOutside`.
    """

    def __init__(self, keep_outside: KeepOutside | None) -> None:
        self._sink = _Sink()
        self._pickler = pickle.Pickler(self._sink, protocol=5)
        if keep_outside is not None:
            self._pickler.dispatch_table = {
                **copyreg.dispatch_table,
                NDArray: lambda array: _reduced(array, keep_outside),
            }

    def pickled(
        self,
        before: Sequence[Any] | None,
        function: BaseFunc,
        entry: LedgerEntry | None,
    ) -> bytes:
        """Return a function as bytes, nodes of it before it, and what is known of it.

        Raises:
            Exception: It cannot be pickled; this is of no use any more.
        """
        used, nodes, types = (None, None, None) if entry is None else entry
        told = (before, function, used or None, nodes, types or None)
        self._pickler.dump(told)
        return self._sink.taken()


class _Sink:
    """Takes what a pickler writes; apart from it, so that no cycle keeps its memo."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, part: bytes) -> None:
        self._parts.append(part)

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _reduced(array: NDArray, keep_outside: KeepOutside) -> str | tuple[Any, ...]:
    if not array.is_uniform and array.is_plain:
        index = keep_outside(array)
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
        # Not methods: this keeps what it found, and would keep itself.
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
