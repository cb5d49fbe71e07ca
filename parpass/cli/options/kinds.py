"""The kinds of values that options take."""

from __future__ import annotations

import re
from typing import Any

import click


class ExecutorURL(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """The URL of an executor, `SCHEME://...`."""

    name = "url"
    _form = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.*")

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        if not self._form.fullmatch(str(value)):
            self.fail(f"expected SCHEME://..., got '{value}'")
        return str(value)


# Before click 8.4 the class takes no arguments.
class ByteSize(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """A number of bytes, such as `4096`, `512M` or `1.5G`.

    Its units are powers of `kilo`: 1024, as of memory, or 1000, as of files.
    """

    name = "bytes"
    _form = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:i?B)?|B)?", re.IGNORECASE)

    def __init__(self, kilo: int = 1024) -> None:
        self._kilo = kilo

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        found = self._form.fullmatch(str(value).strip())
        unit = ((found and found[2]) or "").upper()
        scale = self._kilo ** " KMGT".find(unit or " ")
        size = round(float(found[1]) * scale) if found else 0
        if size <= 0:
            self.fail(f"expected bytes such as 4096, 512M or 2G, got '{value}'")
        return size


class InputShape(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """The shape of an input, `NAME:1,3,224,224`; `?` is a dimension of any length."""

    name = "shape"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[Any, ...]]:
        name, _, text = str(value).rpartition(":")
        sizes = [one.strip() for one in text.strip("[]()").split(",") if one.strip()]
        if not name or not all(one == "?" or one.isdecimal() for one in sizes):
            self.fail(f"expected NAME:1,3,224,224, with ? for any size, got '{value}'")
        from parpass.relay import Any as UnknownDim

        return name, tuple(UnknownDim() if one == "?" else int(one) for one in sizes)


class Length(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """The length of a dimension, `NAME=1`."""

    name = "length"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        name, _, text = str(value).rpartition("=")
        if not name or not text.isdecimal():
            self.fail(f"expected NAME=1, or '*=1' for all, got '{value}'")

        return name, int(text)


class NamedValue(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """The value of an input, `NAME=VALUE`: a path of an .npy file, or JSON."""

    name = "value"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Any]:
        from parpass.cli.files.arrays import named_value

        return named_value(str(value), param)
