"""Source files as the functions of a module, and the adapter of such modules."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from parpass.spi import BlobSink, ModuleAdapter, Source, StoreCodec, register_adapter


class CodemodFailure(msgspec.Struct, frozen=True):
    """A failure that leaves a file unchanged.

    Attributes:
        message: The type and the text of the error, as in tracebacks.
        line: The line in the file, from 1; None if unknown.
        column: The column, from 1; None if unknown.
        raised_at: The innermost line of the codemod itself, as `FILE:LINE, in NAME`;
            empty if there is none.
        traceback: The whole traceback; empty if nothing was raised.
    """

    message: str
    line: int | None = None
    column: int | None = None
    raised_at: str = ""
    traceback: str = ""


class SourceFile(msgspec.Struct, frozen=True):
    """The content of a file, and the messages of codemods about it.

    Attributes:
        filename: The absolute path.
        data: The bytes, in the encoding of the file.
        module: The dotted name by which the file is imported; None if unknown.
        package: The dotted name of its package; None if unknown.
        warnings: The warnings of codemods.
        skipped: The reason why a codemod skipped the file; empty if there is none.
        failure: The reason why the file could not be transformed; None if it could.
    """

    filename: str
    data: bytes
    module: str | None = None
    package: str | None = None
    warnings: tuple[str, ...] = ()
    skipped: str = ""
    failure: CodemodFailure | None = None


@dataclass(frozen=True)
class Sources:
    """A module: files by the paths that messages call them by."""

    functions: Mapping[str, SourceFile]


def _encode(file: SourceFile) -> bytes:
    """Encode a file: a line of JSON, and its content.

    Names of files are bytes, so this text and messages may have lone surrogates. The
    standard library's JSON has them; MessagePack's text does not.
    """
    plain = msgspec.to_builtins(file, builtin_types=(bytes,))
    data: bytes = plain.pop("data")
    return json.dumps(plain).encode() + b"\n" + data


def _decode(encoded: bytes | memoryview) -> SourceFile:
    plain, _, data = bytes(encoded).partition(b"\n")
    return msgspec.convert({**json.loads(plain), "data": data}, SourceFile)


class _SourceCodec:
    """The codec of files for a store on disk; a failure is not for one."""

    def encode(self, function: SourceFile, blob_sink: BlobSink) -> bytes | None:
        """Return a file as bytes; None if it has a failure."""
        del blob_sink
        return None if function.failure is not None else _encode(function)

    def decode(self, encoded: bytes) -> SourceFile:
        """Return the file that was encoded."""
        return _decode(encoded)


class SourcesAdapter(ModuleAdapter):
    """The adapter of source files; the unit of size is the byte."""

    module_type = Sources
    function_type = SourceFile
    mutability = None  # files are frozen

    def size(self, function: SourceFile, limit: int) -> int:
        """Return the length of a file."""
        return min(len(function.data), limit)

    def function_text(self, name: str, function: SourceFile, mod: Sources) -> str:
        """Return the text of a file, as far as it is UTF-8."""
        del name, mod
        return function.data.decode("utf-8", "backslashreplace")

    def encode_function(self, function: SourceFile, blob_sink: BlobSink) -> bytes:
        """Encode a file."""
        del blob_sink
        return _encode(function)

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: Any
    ) -> SourceFile:
        """Decode a file."""
        del sources, mod
        return _decode(encoded)

    def store_codec(self, mod: Sources) -> StoreCodec:
        """Return the codec of files for a store on disk."""
        del mod
        return _SourceCodec()


register_adapter(
    Sources, SourcesAdapter(), passes_in=["parpass.integrations.codemod.codemod_pass"]
)
