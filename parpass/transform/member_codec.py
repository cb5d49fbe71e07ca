"""Pickling of functions that refer to their module: the codec of adapters without one.

Where an operation knows its function, and a function its module, to pickle one function
would pickle the module. So a reference to a module is left out: it is decoded as one to
the module that the function is decoded into. The modules that this is done for are
those that a run is given or makes, known as objects: a module that is nested in a
function is a part of it.
"""

from __future__ import annotations

import copyreg
import io
import pickle
import threading
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, cast

from parpass.program_modules import is_by_value, modules_by_value
from parpass.source import Source
from parpass.transform.by_value import pickle_by_name
from parpass.transform.code_unpickler import (
    CACHED,
    CODE_MARK,
    CodeUnpickler,
    has_code,
    unpickle,
)
from parpass.transform.codecs import BlobSink
from parpass.transform.identity_memo import IdentityMemo

_PROTOCOL = 5  # of pickle


class _Decoding(threading.local):
    """The context of decoding in this thread: the module, and code by its number."""

    mod: Any = None
    code: Sequence[Any] = ()


_decoding = _Decoding()


def _module_of_member() -> Any:
    return _decoding.mod


def _code_of_member(number: int) -> Any:
    return _decoding.code[number]


class _NumberingPickler(pickle.Pickler):
    reduce_code: Callable[[Any], Any]

    def reducer_override(self, obj: Any) -> Any:
        # Its own functions are found by name.
        is_code = isinstance(obj, (type, FunctionType, CACHED))
        if is_code and obj is not _code_of_member:
            return self.reduce_code(obj)
        return NotImplemented


class MemberCodec:
    """The codec of the functions of one run.

    `cuts` is whether a function has referred to its module.
    """

    def __init__(self) -> None:
        self._modules: IdentityMemo[bool] = IdentityMemo()
        self._types: set[type[Any]] = set()
        # Classes and functions that have no name in an imported module.
        self._code: list[Any] | None = None
        self._code_numbers: dict[int, int] = {}
        self.cuts = False

    def note(self, mod: Any) -> None:
        """Note that a value is a module of the run."""
        # Functions that refer to one that cannot be noted are encoded with it.
        if not self.knows(mod) and self._modules.put(mod, True):
            self._types.add(cast("type[Any]", type(mod)))

    def knows(self, value: Any) -> bool:
        """Return whether a value is a module of the run."""
        return self._modules.get(value) is not None

    def encode_function(self, function: Any, blob_sink: BlobSink) -> bytes:
        """Pickle a function without its module, as a batch of one."""
        return self.open_encoder(blob_sink)(function)

    def encode_by_name(self, function: Any) -> bytes:
        """Pickle a function with all code by its name in an imported module."""
        return self._dump(pickle.Pickler, function)

    def open_encoder(self, blob_sink: BlobSink) -> BatchEncoder:
        """Return an encoder of a batch, which contains a class by value once."""
        del blob_sink
        return BatchEncoder(self, self._reducers())

    def open_decoder(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: Any
    ) -> Callable[[], Any]:
        """Return a decoder of the functions of a batch, one by one."""
        del sources
        file, classes = io.BytesIO(encoded), list[Any]()

        def decode() -> Any:
            start = file.tell()
            # A new one each time: functions do not share what is in them.
            if not has_code(encoded[start : start + len(CODE_MARK)]):
                return pickle.Unpickler(file).load()  # from a process of parpass
            return _BatchUnpickler(file, classes).load()

        return lambda: self._decoding_into(mod, decode)

    def encode_here(self, function: Any) -> bytes:
        """Pickle a function without its module, for this process alone.

        It may refer to classes and functions that have no name in an imported module.
        """
        if self._code is None:
            try:
                return self.encode_by_name(function)
            except (pickle.PicklingError, AttributeError):
                self._code = []
        return self._dump(self._numbering_pickler, function)

    def _dump(self, kind: Callable[..., pickle.Pickler], function: Any) -> bytes:
        file = io.BytesIO()
        pickler = kind(file, _PROTOCOL)
        pickler.dispatch_table = {**copyreg.dispatch_table, **self._reducers()}
        pickler.dump(function)
        return file.getvalue()

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: Any
    ) -> Any:
        if has_code(encoded):
            return self.open_decoder(encoded, sources, mod)()
        # Each copy for a pass comes here, and a decoder takes as long as its content.
        return self._decoding_into(mod, lambda: pickle.loads(encoded))

    def _decoding_into(self, mod: Any, decode: Callable[[], Any]) -> Any:
        outer = _decoding.mod, _decoding.code
        _decoding.mod, _decoding.code = mod, self._code or ()
        try:
            return decode()
        finally:
            _decoding.mod, _decoding.code = outer

    def _numbering_pickler(self, file: io.BytesIO, protocol: int) -> pickle.Pickler:
        pickler = _NumberingPickler(file, protocol)
        pickler.reduce_code = self._reduce_code
        return pickler

    def _reduce_code(self, code: Any) -> Any:
        assert self._code is not None
        number = self._code_numbers.setdefault(id(code), len(self._code))
        if number == len(self._code):
            self._code.append(code)
        return _code_of_member, (number,)

    def _reducers(self) -> Mapping[type, Callable[[Any], Any]]:
        """Return the reducers of objects of the classes of modules, for pickle."""
        return dict.fromkeys(self._types, self._reduce)

    def _reduce(self, value: Any) -> Any:
        """Return the reduction of an object of the class of a module."""
        if self.knows(value):
            self.cuts = True
            return _module_of_member, ()
        registered = copyreg.dispatch_table.get(cast("type[Any]", type(value)))
        return (
            value.__reduce_ex__(_PROTOCOL) if registered is None else registered(value)
        )


class BatchEncoder:
    """Pickles the functions of a batch, each alone except for classes by value.

    A class of `__main__` takes far longer to pickle than a small function of it, so the
    first function that needs it has it, and those after it a number.

    Args:
        codec: The codec.
        reducers: The reducers of objects of the classes of modules.

    Attributes:
        shared_bytes: The bytes of classes so far.
    """

    def __init__(
        self, codec: MemberCodec, reducers: Mapping[type, Callable[[Any], Any]]
    ) -> None:
        self.shared_bytes = 0
        self._codec, self._reducers = codec, reducers
        self._modules = modules_by_value()
        self._kinds: list[type[Any]] = []
        self._numbers: dict[int, int] = {}  # of these, by `id`

    def __call__(self, function: Any) -> bytes:
        """Return a function as bytes."""
        encoded = pickle_by_name(function, self._codec.encode_by_name, self._modules)
        if encoded is not None:
            return encoded
        # It loads cloudpickle, which takes longer than all other imports here.
        from parpass.transform.code_pickler import ClassSharingPickler

        file = io.BytesIO()
        ClassSharingPickler(file, self._reducers, self._share).dump(function)
        return file.getvalue()

    def _share(self, kind: type[Any]) -> int | tuple[bytes] | None:
        """Return the number of a class, or the class as bytes the first time."""
        if not is_by_value(kind.__module__, self._modules):
            return None
        number = self._numbers.get(id(kind))
        if number is not None:
            return number
        # It is loaded by now.
        from parpass.transform.code_pickler import dumps

        packed = dumps(kind, self._reducers)
        self._numbers[id(kind)] = len(self._kinds)
        self._kinds.append(kind)
        self.shared_bytes += len(packed)
        return (packed,)


class _BatchUnpickler(CodeUnpickler):
    """Unpickles what `BatchEncoder` has pickled; `classes` are those so far."""

    def __init__(self, file: io.BytesIO, classes: list[Any]) -> None:
        super().__init__(file)
        self._classes = classes

    def persistent_load(self, pid: Any, /) -> Any:
        if isinstance(pid, tuple):
            (packed,) = cast("tuple[bytes]", pid)
            self._classes.append(unpickle(packed))
            return self._classes[-1]
        return self._classes[pid]
