"""How objects are pickled, put back: Dask registers that for all exceptions."""

from __future__ import annotations

import contextlib
import copyreg
from collections.abc import Generator


@contextlib.contextmanager
def reducers_put_back() -> Generator[None]:
    """Put back what is registered meanwhile with `copyreg`."""
    before = dict(copyreg.dispatch_table)
    try:
        yield
    finally:
        copyreg.dispatch_table.clear()
        copyreg.dispatch_table.update(before)
