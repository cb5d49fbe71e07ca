"""Library files: code, weights, and a manifest that is read before any of it is used.

A file is the code, a shared library of its system; then weights, each at the start of a
page so that it can be mapped; then a manifest in JSON; then a trailer: a magic word,
the position of the manifest, and the digest of everything before it. So a damaged or
incomplete file, or one for another machine, is rejected with a reason before its code
is loaded. It is not proven harmless: loading a library runs its code.

Weights are hundreds of megabytes, of which SHA-256 takes one for each second and core,
and zlib's CRC-32 more than two. So each page has its CRC-32, which detects any change
within 32 consecutive bits, and all but one of 2**32 others; the digest is the SHA-256
of these. It is no protection against a forged library, which no digest is.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import platform
import struct
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, cast

import numpy as np

from parpass.atomic_files import atomic_write
from parpass.errors import (
    CPUFeatureError,
    DamagedLibraryError,
    ForeignLibraryError,
    LibraryError,
)
from parpass.errors.core import quoted
from parpass.runtime.cpu_features import architecture, host_features
from parpass.runtime.dtypes import numpy_dtype
from parpass.runtime.manifest_schema import check_manifest
from parpass.runtime.ndarray import NDArray
from parpass.runtime.signature import Signature

_CRC_PAGE = 64 << 10  # bytes
_CRC_BLOCK = 64 * _CRC_PAGE  # what a thread takes at a time


def library_digest(data: memoryview) -> bytes:
    """Return the digest of what is before it in a file, in 32 bytes.

    It is computed by as many threads as there are cores, since zlib does not hold
    Python's lock.
    """
    pieces = [data[at : at + _CRC_BLOCK] for at in range(0, len(data), _CRC_BLOCK)]
    told = hashlib.sha256(len(data).to_bytes(8, "little"))
    if len(pieces) <= 1:
        found = map(_page_crcs, pieces)
    else:
        with ThreadPoolExecutor(min(len(pieces), os.cpu_count() or 1)) as threads:
            found = threads.map(_page_crcs, pieces)
    for sums in found:
        told.update(sums)
    return told.digest()


def _page_crcs(piece: memoryview) -> bytes:
    pages = range(0, len(piece), _CRC_PAGE)
    sums = [zlib.crc32(piece[at : at + _CRC_PAGE]) for at in pages]
    return b"".join(one.to_bytes(4, "little") for one in sums)


ABI = 2  # of kernels and of this format; another number is refused

_MAGIC = b"PARPASS\x01"
_TRAILER = struct.Struct("<8sQQ32s")
_PAGE = 4096


class Manifest(NamedTuple):
    """The manifest of a library.

    Attributes:
        target: The text of the target that its code is for.
        architecture: The architecture of the machine, which must be that of the loader.
        system: The operating system, likewise.
        features: The features of the processor that its code uses.
        functions: Its functions by name.
        entry: The name of the function that calling the library calls.
        versions: The versions of the tools that built it, for people.
        format: The format of its code: `so`, a shared library of the system; or `tar`,
            objects that LLVM loads.
        graph: The graph of a network in TVM's JSON; its weights are in the library.
        module_name: The name of the network in the library.
        numpy_functions: Functions that are not machine code, as JSON of Relay, by name.
            To run them needs more of parpass than the rest does.
    """

    target: str
    architecture: str
    system: str
    features: tuple[str, ...]
    functions: dict[str, Signature]
    entry: str = ""
    versions: Mapping[str, str] = {}
    format: str = "so"
    graph: str = ""
    module_name: str = "default"
    numpy_functions: Mapping[str, str] = {}


class LibraryImage(NamedTuple):
    """A library, checked.

    Attributes:
        manifest: What it says of itself.
        code: Its code.
        weights: Arrays by name; those of a file are mapped.
    """

    manifest: Manifest
    code: bytes
    weights: Mapping[str, NDArray] = {}


def this_system() -> str:
    """Return the name of the system, as manifests have it."""
    return platform.system().lower()


def write_library(path: str | os.PathLike[str], image: LibraryImage) -> None:
    """Write a library to a file, which is there whole or not at all.

    A library that was loaded from a file of that name before stays as it is.

    Raises:
        OSError: The file cannot be written.
    """
    with atomic_write(path) as file:
        file.writelines(_parts(image))
        file.flush()
        whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        file.write(library_digest(memoryview(whole)))


def _parts(image: LibraryImage) -> Iterator[bytes | memoryview]:
    """Yield all of a file but the digest of it."""
    yield image.code
    at, told = len(image.code), list[dict[str, Any]]()
    begin, places = weights_begin(image), places_of(image.weights)[0]
    for name, array in image.weights.items():
        place = begin + places[name]
        yield bytes(place - at)
        about = {"name": name, "dtype": array.dtype, "shape": list(array.shape)}
        told.append({**about, "at": place})
        yield array.raw()
        at = place + array.nbytes
    functions = {n: one.export() for n, one in image.manifest.functions.items()}
    said = {
        **image.manifest._asdict(),
        "abi": ABI,
        "code": len(image.code),
        "functions": functions,
        "weights": told,
    }
    manifest = json.dumps(said, sort_keys=True).encode()
    yield manifest
    yield _TRAILER.pack(_MAGIC, at, len(manifest), b"")[:-32]


def weights_begin(image: LibraryImage) -> int:
    """Return where in its file the weights of a library begin: at a page."""
    return _at_page(len(image.code))


def places_of(weights: Mapping[str, NDArray]) -> tuple[dict[str, int], int]:
    """Return where weights are, in bytes from the first one, and how long all are."""
    at, found = 0, dict[str, int]()
    for name, array in weights.items():
        found[name] = _at_page(at)
        at = found[name] + array.nbytes
    return found, at


def _at_page(at: int) -> int:
    return -(-at // _PAGE) * _PAGE


def read_library(path: str | os.PathLike[str]) -> LibraryImage:
    """Return the library of a file, its weights mapped.

    Raises:
        LibraryError: The file cannot be read.
        DamagedLibraryError: It is no library, is not whole, or was changed.
        ForeignLibraryError: It is of another version of the format, or for another
            machine; `CPUFeatureError` if that has what this processor has not.
    """
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < _TRAILER.size:
                raise _not_whole(path)
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise LibraryError(f"library '{path}' cannot be read: {error}") from None
    said = _manifest(mapped, path)
    functions = {n: Signature.restored(one) for n, one in said["functions"].items()}
    manifest = Manifest(
        *(said["target"], said["architecture"], said["system"]),
        *(tuple(said["features"]), functions, said["entry"], said["versions"]),
        *(said["format"], said["graph"], said["module_name"], said["numpy_functions"]),
    )
    weights = {one["name"]: _mapped_array(mapped, one) for one in said["weights"]}
    return LibraryImage(manifest, mapped[: said["code"]], weights)


def _not_whole(path: Any) -> DamagedLibraryError:
    return DamagedLibraryError(
        f"'{path}' is no library of parpass, or its end is missing; copy or build it "
        "again"
    )


def _manifest(mapped: mmap.mmap, path: Any) -> dict[str, Any]:
    end = len(mapped) - _TRAILER.size
    magic, at, size, digest = _TRAILER.unpack_from(mapped, end)
    if magic[:7] != _MAGIC[:7] or at + size != end:
        raise _not_whole(path)
    if magic != _MAGIC:
        raise ForeignLibraryError(
            f"library '{path}' is of format {magic[7]}, expected {_MAGIC[7]}; build it "
            "by this version of parpass"
        )
    if library_digest(memoryview(mapped)[: end + _TRAILER.size - 32]) != digest:
        raise DamagedLibraryError(
            f"library '{path}' was changed after it was written: its digest is not "
            "that of its bytes; copy or build it again"
        )
    try:
        said: Any = json.loads(mapped[at : at + size])
        if type(said) is dict:
            _check_abi(cast("dict[str, Any]", said), path)
        manifest = check_manifest(said, at)
    except (RecursionError, ValueError) as error:
        raise DamagedLibraryError(
            f"library '{path}' is none that parpass wrote: {error}; build it again"
        ) from None
    _check_machine(manifest, path)
    return manifest


def _check_abi(said: dict[str, Any], path: Any) -> None:
    if said.get("abi") != ABI:
        raise ForeignLibraryError(
            f"library '{path}' is of ABI {said.get('abi')}, expected {ABI}; build it "
            "by this version of parpass"
        )


def _check_machine(said: dict[str, Any], path: Any) -> None:
    wanted = (said["architecture"], said["system"])
    here = (architecture(), this_system())
    if wanted != here:
        raise ForeignLibraryError(
            f"library '{path}' is for {' on '.join(wanted)}, and this is "
            f"{' on '.join(here)}; build it for target 'llvm' here"
        )
    missing = tuple(sorted({*said["features"]} - host_features()))
    if missing:
        raise CPUFeatureError(
            f"library '{path}' is for target '{said['target']}', and this processor "
            f"has no {quoted(missing)}; build it here, or for a target without",
            missing,
        )


def _mapped_array(mapped: mmap.mmap, about: dict[str, Any]) -> NDArray:
    dtype, shape = numpy_dtype(about["dtype"]), tuple(about["shape"])
    count = int(np.prod(shape, dtype=np.int64))
    flat = np.frombuffer(mapped, dtype, count, about["at"])
    return NDArray(flat.reshape(shape))
