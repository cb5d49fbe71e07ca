"""The digest by which a library file is checked for damage, where all of it is read.

Weights are hundreds of megabytes, of which SHA-256 takes one in a second and core, and
zlib's CRC-32 more than two. So each page has its CRC-32, which tells any change within
32 bits in a row, and all but one of 2**32 others; the digest is the SHA-256 of these.
It keeps nobody from writing another library with a digest of its own, as no digest
would.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from concurrent.futures import ThreadPoolExecutor

_PAGE = 64 << 10  # bytes
_PIECE = 64 * _PAGE  # what a thread takes at a time


def digest_of(data: memoryview) -> bytes:
    """Return the digest of what is before it in a file, in 32 bytes.

    It is computed by as many threads as there are cores, since zlib does not hold
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
    pages = range(0, len(piece), _PAGE)
    sums = [zlib.crc32(piece[at : at + _PAGE]) for at in pages]
    return b"".join(one.to_bytes(4, "little") for one in sums)
