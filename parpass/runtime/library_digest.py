"""The digest by which a library file is checked, as fast as memory is read.

A file is read whole when it is loaded, and weights are hundreds of megabytes, of which
SHA-256 takes one in a second and core. So it takes sums instead, of which each byte is
in two: bytes are words of 64 bits, in rows; what is digested are the sums of each row
and of each column, modulo 2**64, chunk by chunk. So a change in up to three words of a
chunk is always told, whatever they are, and so are rows that have changed places; any
other change is told unless it happens to keep all sums. This tells damage. It keeps
nobody from writing another library with a digest of its own, as no digest would.
"""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

_ROW = 4096  # bytes
_CHUNK = 256 * _ROW  # is in a processor's cache for both sums
_PIECE = 4 * _CHUNK  # what a thread takes at a time


def digest_of(data: memoryview) -> bytes:
    """Return the digest of what is before it in a file, in 32 bytes.

    It is computed by as many threads as there are cores, since numpy adds without
    Python's lock.
    """
    pieces = [data[at : at + _PIECE] for at in range(0, len(data), _PIECE)]
    told = hashlib.sha256(len(data).to_bytes(8, "little"))
    if len(pieces) <= 1:
        found = map(_sums, pieces)
    else:
        with ThreadPoolExecutor(min(len(pieces), os.cpu_count() or 1)) as threads:
            found = threads.map(_sums, pieces)
    for sums in found:
        told.update(sums)
    return told.digest()


def _sums(piece: memoryview) -> bytes:
    whole = len(piece) // _ROW * _ROW
    parts: list[bytes | memoryview] = []
    for at in range(0, whole, _CHUNK):
        words = np.frombuffer(piece[at : min(at + _CHUNK, whole)], "<u8")
        rows = words.reshape(-1, _ROW // words.itemsize)
        parts += [rows.sum(axis, "<u8").tobytes() for axis in (0, 1)]
    return b"".join([*parts, piece[whole:]])
