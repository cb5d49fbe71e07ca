"""Passes travel to each worker once: they are named by a digest of what is sent.

Unpickling them takes long where they bring tables, or their code, and the same pipeline
is run again and again. What a pass writes to itself is none of its options, so one that
was seen to do so is not kept.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence

from parpass.errors import InternalError
from parpass.runtime.packing import pack_by_value, unpack_message
from parpass.runtime.store import Folder
from parpass.transform import Pass

_MOST = 32  # stages whose passes a worker keeps

_PREFIX = "passes-"
_DIGEST_BYTES = 16


class PassesOfRun:
    """What a run has published, on the coordinator's side.

    Args:
        folder: The run's folder.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._published: set[str] = set()

    def publish(self, steps: Sequence[Pass]) -> tuple[str, int]:
        """Return the digest of passes, and how many bytes were written for them.

        Together, for they may share what they refer to.

        Raises:
            Exception: One of them cannot be pickled.
        """
        packed = pack_by_value(steps)
        digest = hashlib.blake2b(packed, digest_size=_DIGEST_BYTES).hexdigest()
        if digest in self._published:
            return digest, 0
        self._folder.publish(_PREFIX + digest, packed)
        self._published.add(digest)
        return digest, len(packed)


class KnownPasses:
    """The passes that this process was sent, those last that were used last."""

    def __init__(self) -> None:
        self._known: dict[str, Sequence[Pass]] = {}
        self._lock = threading.Lock()

    def get(self, digest: str, folder: Folder) -> Sequence[Pass]:
        """Return passes, from the run's folder if they are not known."""
        with self._lock:
            steps = self._known.pop(digest, None)
        if steps is None:
            steps = self.load(digest, folder)
        with self._lock:
            self._known[digest] = steps
            while len(self._known) > _MOST:
                del self._known[next(iter(self._known))]
        return steps

    def load(self, digest: str, folder: Folder) -> Sequence[Pass]:
        """Return passes as they were sent."""
        published = folder.read(_PREFIX + digest)
        if published is None:
            raise InternalError("a stage came before its passes")
        return unpack_message(published)

    def forget(self, digest: str) -> None:
        """Have passes be sent again."""
        with self._lock:
            self._known.pop(digest, None)
