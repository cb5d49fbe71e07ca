from types import TracebackType
from typing import Any, Self

class _ThreadpoolLimiter:
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

class ThreadpoolController:
    def limit(
        self,
        *,
        limits: int | dict[str, int] | None = None,
        user_api: str | None = None,
    ) -> _ThreadpoolLimiter: ...
    def info(self) -> list[dict[str, Any]]: ...
