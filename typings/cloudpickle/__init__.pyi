import pickle
from collections import ChainMap
from collections.abc import Callable
from types import ModuleType
from typing import Any

class Pickler(pickle.Pickler):
    dispatch_table: ChainMap[Any, Callable[[Any], Any]]  # pyright: ignore[reportIncompatibleVariableOverride]
    def reducer_override(self, obj: Any) -> Any: ...

def dumps(obj: Any, protocol: int | None = ...) -> bytes: ...
def register_pickle_by_value(module: ModuleType) -> None: ...
