"""A global for passes of other modules to change."""

KEPT: list[str] = []
