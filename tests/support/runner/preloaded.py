"""A module that takes down which signals were blocked when it was loaded."""

from __future__ import annotations

import signal

BLOCKED = signal.pthread_sigmask(signal.SIG_BLOCK, ())
