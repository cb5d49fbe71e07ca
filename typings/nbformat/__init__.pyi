from typing import Any

class NotebookNode(dict[str, Any]):
    def __getattr__(self, name: str) -> Any: ...
