"""A child that is forked while another thread is in the midst of something."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Self

_SECONDS = 100  # that a child, or a thread, may take
_MOMENT_SECONDS = 0.05  # for which a thread stays where it is


class _Midst:
    """A thread that is in the midst of something for a moment.

    Attributes:
        is_over: Whether the moment is over.
    """

    def __init__(self, work: Callable[[Callable[[], None]], object]) -> None:
        self.is_over = False
        self._is_there = threading.Event()
        self._thread = threading.Thread(target=work, args=(self._stay,))

    def _stay(self) -> None:
        if threading.current_thread() is self._thread and not self._is_there.is_set():
            self._is_there.set()
            threading.Event().wait(_MOMENT_SECONDS)
            self.is_over = True

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._is_there.wait(_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(_SECONDS)
        assert not self._thread.is_alive()


def forked_in_the_midst(
    work: Callable[[Callable[[], None]], object], what: Callable[[], object]
) -> bool:
    """Return whether a child does something that is forked in the midst of the same.

    Args:
        work: What a thread does, which calls what it is given in the midst of it.
        what: What the child does, when that is over; it returns whether it was done.
    """
    with _Midst(work) as midst:
        child = os.fork()
        if not child:
            answer = 1
            try:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(_SECONDS)  # ends it, wherever it is
                answer = 0 if midst.is_over and what() else 1
            finally:
                os._exit(answer)
    return os.waitpid(child, 0)[1] == 0
