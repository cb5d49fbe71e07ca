"""The check that no object of a JSON text has a key twice, which msgspec reads over."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from parpass.errors import MalformedJSONError

_encode = msgspec.json.Encoder().encode


class _Rows(msgspec.Struct):
    nodes: list[msgspec.Raw]


def check_keys(text: bytes, document: Any) -> None:
    """Check the keys of a text; a repeated one is missing in what was read of it.

    Args:
        text: The text.
        document: What msgspec read of it.

    Raises:
        MalformedJSONError: A key is there twice in one object.
    """
    # What is missing has a colon. Those in strings are in both, unless they are escaped
    # in one.
    if b"\\u" not in text and text.count(b":") == _encode(document).count(b":"):
        return
    for at, row in enumerate(msgspec.json.decode(text, type=_Rows).nodes):
        _find_repeated(bytes(row), f"nodes[{at}]")
    _find_repeated(text, "JSON")


def _find_repeated(text: bytes, where: str) -> None:
    def read(pairs: list[tuple[str, Any]]) -> None:
        names: set[str] = set()
        for name, _ in pairs:
            if name in names:
                raise MalformedJSONError(
                    f"expected each key once in an object, got '{name[:80]}' again",
                    where=where,
                )
            names.add(name)

    json.loads(text, object_pairs_hook=read)
