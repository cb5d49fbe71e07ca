from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

_T = TypeVar("_T")

class ProcessPoolExecutor(Executor):
    def __init__(
        self,
        max_workers: int | None = ...,
        job_reducers: Mapping[type, Any] | None = ...,
        result_reducers: Mapping[type, Any] | None = ...,
        timeout: float | None = ...,
        context: Any = ...,
        initializer: Callable[..., Any] | None = ...,
        initargs: tuple[Any, ...] = ...,
        env: Mapping[str, str] | None = ...,
    ) -> None: ...
    def submit(
        self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any
    ) -> Future[_T]: ...
    def shutdown(self, wait: bool = ..., kill_workers: bool = ...) -> None: ...

def cpu_count(only_physical_cores: bool = ...) -> int: ...
