"""What a user's pass raises, found by workers under this name."""


class UserError(Exception):
    """An exception class of a user; it has a field."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message, code)
        self.code = code
