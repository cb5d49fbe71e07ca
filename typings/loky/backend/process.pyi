from collections.abc import Callable, Mapping, Sequence
from multiprocessing.process import BaseProcess
from typing import Any

class LokyProcess(BaseProcess):
    def __init__(
        self,
        group: None = ...,
        target: Callable[..., object] | None = ...,
        name: str | None = ...,
        args: Sequence[Any] = ...,
        kwargs: Mapping[str, Any] = ...,
        daemon: bool | None = ...,
        init_main_module: bool = ...,
        env: Mapping[str, str] | None = ...,
    ) -> None: ...
