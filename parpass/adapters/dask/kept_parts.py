"""Parts of calls that are sent apart and once: specs and large values, by digest."""

from __future__ import annotations

import hashlib
import threading

_MOST = 1 << 28  # bytes that a worker keeps


def digest_of(content: bytes | memoryview) -> str:
    """Return what tells some bytes from all others."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


class KeptParts:
    """What a worker has been sent, until it is too much; then the oldest goes.

    Args:
        most: How many bytes it keeps.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._parts: dict[str, bytes] = {}  # what was used last is last
        self._bytes = 0
        self._lock = threading.Lock()

    def put(self, digest: str, content: bytes) -> None:
        """Keep a part."""
        with self._lock:
            self._drop(digest)
            self._parts[digest] = content
            self._bytes += len(content)
            while self._bytes > self._most:
                self._drop(next(iter(self._parts)))

    def get(self, digest: str) -> bytes | None:
        """Return a part; None if it is not there any more."""
        with self._lock:
            found = self._parts.pop(digest, None)
            if found is not None:
                self._parts[digest] = found
            return found

    def _drop(self, digest: str) -> None:
        self._bytes -= len(self._parts.pop(digest, b""))
