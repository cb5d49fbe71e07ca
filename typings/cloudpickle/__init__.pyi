import pickle
from collections import ChainMap
from collections.abc import Callable
from io import BytesIO
from types import ModuleType
from typing import Any

class Pickler(pickle.Pickler):
    dispatch_table: ChainMap[Any, Callable[[Any], Any]]  # pyright: ignore[reportIncompatibleVariableOverride]
    def __init__(self, file: BytesIO, protocol: int | None = ...) -> None: ...

def dumps(obj: Any, protocol: int | None = ...) -> bytes: ...
def register_pickle_by_value(module: ModuleType) -> None: ...
def list_registry_pickle_by_value() -> set[str]: ...
