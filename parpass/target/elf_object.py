"""Reads objects in ELF, 64 bits, as LLVM writes them: sections, symbols, relocations.

By the System V ABI, chapters 4 and 5 of its generic part.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from parpass.errors import CodeGenError

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")

_PROGBITS, _SYMTAB, _RELA, _NOBITS = 1, 2, 4, 8
_ALLOCATED = 2
_FIRST_RESERVED = 0xFF00
_UNWINDING = ".eh_frame"  # for debuggers; no exception passes through a kernel
WRITABLE, EXECUTABLE = 1, 4


class Relocation(NamedTuple):
    """A place that depends on where things are in the end.

    Attributes:
        offset: In its section.
        kind: The machine's number of what is to be done.
        symbol: The index of the symbol that is meant.
        addend: A number to be added.
    """

    offset: int
    kind: int
    symbol: int
    addend: int


class Symbol(NamedTuple):
    """A name, or a place without one.

    Attributes:
        name: The name.
        section: The index of its section; 0 if it is defined elsewhere.
        value: Where it is in the section.
        is_global: Whether other objects may use it.
        size: How many bytes it has; 0 if that is not known.
    """

    name: str
    section: int
    value: int
    is_global: bool
    size: int = 0


class Section(NamedTuple):
    """Bytes that are in memory when the program runs.

    Attributes:
        name: Its name.
        flags: `WRITABLE`, `EXECUTABLE`.
        alignment: In bytes.
        data: The bytes.
        relocations: Its places that are not known yet.
    """

    name: str
    flags: int
    alignment: int
    data: bytes
    relocations: list[Relocation]


class ElfObject(NamedTuple):
    """An object.

    Attributes:
        sections: Those that are in memory, by index.
        symbols: All, by index.
    """

    sections: dict[int, Section]
    symbols: list[Symbol]


def read_object(data: bytes) -> ElfObject:
    """Return what an object has.

    Raises:
        CodeGenError: It is none of ELF with 64 bits, little-endian.
    """
    if data[:6] != b"\x7fELF\x02\x01":
        raise CodeGenError("expected an object in ELF of 64 bits, got something else")
    header = _HEADER.unpack_from(data)
    at, size, count, names_at = header[6], header[11], header[12], header[13]
    rows: list[tuple[int, ...]] = [
        _SECTION.unpack_from(data, at + size * one) for one in range(count)
    ]
    names = _bytes(data, rows[int(names_at)])
    sections: dict[int, Section] = {}
    for index, row in enumerate(rows):
        name = _name(names, row[0])
        if row[2] & _ALLOCATED and name != _UNWINDING:
            sections[index] = Section(
                name, row[2], max(1, row[8]), _bytes(data, row), []
            )
    symbols: list[Symbol] = []
    for row in rows:
        if row[1] == _SYMTAB:
            symbols = _symbols(_bytes(data, row), _bytes(data, rows[row[6]]))
        elif row[1] == _RELA and row[7] in sections:
            sections[row[7]].relocations.extend(_relocations(_bytes(data, row)))
    return ElfObject(sections, symbols)


def _bytes(data: bytes, row: tuple[int, ...]) -> bytes:
    if row[1] == _NOBITS:
        return bytes(row[5])
    return data[row[4] : row[4] + row[5]]


def _name(names: bytes, at: int) -> str:
    return names[at : names.index(b"\0", at)].decode()


def _symbols(data: bytes, names: bytes) -> list[Symbol]:
    found: list[Symbol] = []
    rows: Iterable[tuple[int, ...]] = _SYMBOL.iter_unpack(data)
    for name, info, _, section, value, size in rows:
        section = 0 if section >= _FIRST_RESERVED else section
        is_global = info >> 4 != 0
        found.append(Symbol(_name(names, name), section, value, is_global, size))
    return found


def _relocations(data: bytes) -> list[Relocation]:
    return [
        Relocation(offset, info & 0xFFFFFFFF, info >> 32, addend)
        for offset, info, addend in _RELOCATION.iter_unpack(data)
    ]
