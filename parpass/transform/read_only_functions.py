"""The functions of a module as a pass on functions is given them: to read.

What is written to them would be there for later functions in a serial run, and lost in
a parallel one, so it is refused alike in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from parpass.errors import ReadOnlyModuleError


class RefusesWrites:
    """A base of mappings; those methods of a dict raise that write.

    Attributes:
        reader: The name of the pass.
    """

    reader: str

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise ReadOnlyModuleError.of(self.reader, "write to")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def copy(self: Any) -> dict[str, Any]:
        """Return all functions as a dict, which may be written to."""
        return dict(self)

    __copy__ = copy

    def __reduce__(self: Any) -> tuple[Any, ...]:
        """Pickle a copy."""
        return dict, (dict(self),)


class ReadOnlyFunctions(RefusesWrites, dict[str, Any]):
    """The functions of a module at the start of a pass, in a serial run.

    Args:
        functions: The functions.
        reader: The name of the pass.
    """

    def __init__(self, functions: Mapping[str, Any], reader: str) -> None:
        super().__init__(functions)
        self.reader = reader
