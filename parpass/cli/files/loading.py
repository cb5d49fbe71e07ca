"""Loading what programs register: passes, IRs, operators."""

from __future__ import annotations

import atexit
import gc
import traceback

from parpass.errors import ReproducerError
from parpass.transform.debug.origin import load_module


def load(name: str) -> None:
    """Import a module, or run a file, that registers passes.

    Raises:
        ReproducerError: There is none, or it failed, whatever it raised.
    """
    atexit.unregister(gc.freeze)  # what it leaves open is closed when it is freed
    try:
        load_module(name)
    except ReproducerError:
        raise
    except (Exception, SystemExit) as error:
        what = "".join(traceback.format_exception_only(error)).strip()
        raise ReproducerError(
            f"'{name}' cannot be loaded: {what}{_place(error)}"
        ) from error


def _place(error: BaseException) -> str:
    """Return where it was raised, unless the message shows that."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) or not frames:
        return ""
    return f"\n  at {frames[-1].filename}:{frames[-1].lineno}"
