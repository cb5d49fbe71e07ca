"""The places of the functions of a shared library, by the tables of its loader.

By the System V ABI, generic part, chapter 5.
"""

from __future__ import annotations

import struct

_DYNAMIC_SEGMENT = 2
_HASH, _STRINGS, _SYMBOLS = 4, 5, 6  # tags of the dynamic section
_SEGMENT = struct.Struct("<IIQQQQQQ")
_ENTRY = struct.Struct("<qQ")
_SYMBOL = struct.Struct("<IBBHQQ")


def exported_functions(code: bytes) -> dict[str, tuple[int, int]]:
    """Return offset and size, in bytes, of the functions of a library by symbol.

    Args:
        code: A library of `elf_linker.link`: what is in memory is in the file at the
            same offset.
    """
    segments, count = struct.unpack_from("<Q", code, 32)[0], code[56]
    rows = _SEGMENT.iter_unpack(code[segments : segments + count * _SEGMENT.size])
    begin, size = next((r[2], r[5]) for r in rows if r[0] == _DYNAMIC_SEGMENT)
    tags = dict[int, int](_ENTRY.iter_unpack(code[begin : begin + size]))
    number = struct.unpack_from("<II", code, tags[_HASH])[1]
    symbols = code[tags[_SYMBOLS] : tags[_SYMBOLS] + number * _SYMBOL.size]
    found: dict[str, tuple[int, int]] = {}
    for name, _, _, section, offset, length in _SYMBOL.iter_unpack(symbols):
        if section:  # others are from outside
            at = tags[_STRINGS] + name
            found[code[at : code.index(b"\0", at)].decode()] = offset, length
    return found
