"""Makes one shared library of objects, for Linux on x86-64, without a linker.

The library has three parts, each loaded for what it needs: headers, names and
constants, to be read; code; what the loader writes to, addresses. Objects may use each
other's functions, and those of C's mathematics: the loader enters the addresses of
these in a table, through which calls jump. By the System V ABI, generic part, chapter
5, and its supplement for AMD64, chapter 4.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from parpass.errors import CodeGenError
from parpass.target.elf_object import (
    EXECUTABLE,
    WRITABLE,
    ElfObject,
    Relocation,
    Section,
    read_object,
)

_PAGE = 4096
_READ, _RUN, _WRITE = "read", "run", "write"  # the parts, in the order of the file

# Kinds of relocations, by AMD64's numbers.
_64, _PC32, _PLT32, _GOTPCREL, _PC64 = 1, 2, 4, 9, 24
_GOTPCRELX, _REX_GOTPCRELX = 41, 42
_OF_TABLE = (_GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX)
_GLOB_DAT, _RELATIVE = 6, 8  # those that are the loader's

_HEADER_SIZE, _SEGMENT_SIZE, _SEGMENTS = 64, 56, 5
_SYMBOL = struct.Struct("<IBBHQQ")
_DYNAMIC = struct.Struct("<qQ")
_JUMP = 8  # bytes of a jump through the table, with what fills it up


class _Placed(NamedTuple):
    """A section of an object, and where it is in memory, which is where in the file."""

    section: Section
    address: int


class _Names:
    """A table of strings, each ended by a zero."""

    def __init__(self) -> None:
        self.data = bytearray(1)

    def add(self, name: str) -> int:
        at = len(self.data)
        self.data += name.encode() + b"\0"
        return at


def link(objects: Iterable[bytes], exported: Sequence[str]) -> bytes:
    """Return a shared library.

    Args:
        objects: The objects, in ELF.
        exported: The functions that can be looked up in it.

    Raises:
        CodeGenError: An object has what this cannot link, or a function is not there.
    """
    return _Library([read_object(one) for one in objects], exported).image()


class _Library:
    def __init__(self, objects: Sequence[ElfObject], exported: Sequence[str]) -> None:
        self._objects, self._exported = objects, exported
        self._sizes: dict[str, int] = {}  # of global functions, for profilers
        self._globals = self._defined()
        self._imported = self._used_from_outside()
        # What a table has the addresses of: functions from outside, then others.
        self._slots: dict[str, int] = {
            name: at for at, name in enumerate(self._imported)
        }
        self._relocations: list[tuple[int, int, int, int]] = []
        self._image = bytearray()
        self._placed: dict[tuple[int, int], _Placed] = {}

    def _defined(self) -> dict[str, tuple[int, int, int]]:
        found: dict[str, tuple[int, int, int]] = {}
        for number, one in enumerate(self._objects):
            for symbol in one.symbols:
                if symbol.is_global and symbol.section:
                    if symbol.name in found:
                        raise CodeGenError(f"two objects define '{symbol.name}'")
                    found[symbol.name] = number, symbol.section, symbol.value
                    self._sizes[symbol.name] = symbol.size
        missing = [name for name in self._exported if name not in found]
        if missing:
            raise CodeGenError(f"no object defines '{missing[0]}', which is exported")
        return found

    def _used_from_outside(self) -> list[str]:
        found: dict[str, None] = {}
        for one in self._objects:
            for section in one.sections.values():
                for relocation in section.relocations:
                    symbol = one.symbols[relocation.symbol]
                    if not symbol.section and symbol.name not in self._globals:
                        found[symbol.name] = None
        return list(found)

    def image(self) -> bytes:
        """Return the file."""
        names = _Names()
        needed = names.add("libm.so.6") if self._imported else 0
        name_of = {one: names.add(one) for one in (*self._imported, *self._exported)}
        tables = self._size_of_tables(len(names.data))
        self._image = bytearray(_HEADER_SIZE + _SEGMENT_SIZE * _SEGMENTS + tables)
        self._place(_READ)
        code = self._next_part()
        self._place(_RUN)
        jumps = self._reserve(_JUMP * len(self._imported), 16)
        data = self._next_part()
        dynamic = self._reserve(_DYNAMIC.size * 16, 16)
        table = self._reserve(8 * (len(self._imported) + self._most_slots()), 8)
        self._place(_WRITE)
        self._table, self._jumps = table, jumps
        self._relocate()
        self._write_jumps()
        for at, _ in enumerate(self._imported):
            self._relocations.append((table + 8 * at, _GLOB_DAT, at + 1, 0))
        self._write_tables(names, name_of, needed, dynamic)
        self._write_headers(code, data, dynamic)
        return bytes(self._image)

    # Where things are.

    def _reserve(self, size: int, alignment: int) -> int:
        at = -(-len(self._image) // alignment) * alignment
        self._image.extend(bytes(at + size - len(self._image)))
        return at

    def _next_part(self) -> int:
        return self._reserve(0, _PAGE)

    def _place(self, part: str) -> None:
        for number, one in enumerate(self._objects):
            for index, section in one.sections.items():
                if _part_of(section) == part:
                    at = self._reserve(len(section.data), section.alignment)
                    self._image[at : at + len(section.data)] = section.data
                    self._placed[number, index] = _Placed(section, at)

    def _address(self, number: int, symbol: int) -> int | None:
        """Return where a symbol of an object is; None if it is outside."""
        found = self._objects[number].symbols[symbol]
        if found.section:
            return self._placed[number, found.section].address + found.value
        if found.name in self._globals:
            owner, section, value = self._globals[found.name]
            return self._placed[owner, section].address + value
        return None

    def _most_slots(self) -> int:
        return sum(
            one.kind in _OF_TABLE
            for each in self._objects
            for section in each.sections.values()
            for one in section.relocations
        )

    # What depends on that.

    def _relocate(self) -> None:
        for (number, _), (section, address) in self._placed.items():
            for one in section.relocations:
                self._apply(number, one, address + one.offset)

    def _apply(self, number: int, one: Relocation, place: int) -> None:
        name = self._objects[number].symbols[one.symbol].name
        target = self._address(number, one.symbol)
        if one.kind == _64 and target is not None:
            self._relocations.append((place, _RELATIVE, 0, target + one.addend))
            return
        if one.kind in _OF_TABLE:
            self._put(place, self._slot(name, target) + one.addend - place)
        elif one.kind in (_PC32, _PLT32):
            if target is None:
                target = self._jumps + _JUMP * self._slots[name]
            self._put(place, target + one.addend - place)
        elif one.kind == _PC64 and target is not None:
            struct.pack_into("<q", self._image, place, target + one.addend - place)
        else:
            raise CodeGenError(
                f"cannot link: a relocation of kind {one.kind} to '{name}' is none "
                "of those that position-independent code needs"
            )

    def _slot(self, name: str, target: int | None) -> int:
        """Return where the table has the address of a symbol."""
        if name not in self._slots:
            self._slots[name] = len(self._slots)
            assert target is not None  # those from outside are there already
            at = self._table + 8 * self._slots[name]
            self._relocations.append((at, _RELATIVE, 0, target))
        return self._table + 8 * self._slots[name]

    def _put(self, place: int, value: int) -> None:
        if not -(1 << 31) <= value < 1 << 31:
            raise CodeGenError("cannot link: the library is larger than 2 GB")
        struct.pack_into("<i", self._image, place, value)

    def _write_jumps(self) -> None:
        for at in range(len(self._imported)):
            place = self._jumps + _JUMP * at
            self._image[place : place + 2] = b"\xff\x25"  # jmp *offset(%rip)
            self._put(place + 2, self._table + 8 * at - (place + 6))

    # What the loader reads.

    def _size_of_tables(self, names: int) -> int:
        """Return at least how many bytes they take."""
        symbols = 1 + len(self._imported) + len(self._exported)
        addresses = sum(
            one.kind == _64
            for each in self._objects
            for section in each.sections.values()
            for one in section.relocations
        )
        relocations = len(self._imported) + addresses + self._most_slots()
        buckets = 2 + symbols + symbols
        return 24 * (symbols + relocations) + 4 * buckets + names + 64

    def _write_tables(
        self, names: _Names, name_of: dict[str, int], needed: int, dynamic: int
    ) -> None:
        at = _HEADER_SIZE + _SEGMENT_SIZE * _SEGMENTS
        symbols, order = [_SYMBOL.pack(0, 0, 0, 0, 0, 0)], [""]
        for name in self._imported:
            symbols.append(_SYMBOL.pack(name_of[name], 0x12, 0, 0, 0, 0))
            order.append(name)
        for name in self._exported:
            owner, section, value = self._globals[name]
            address = self._placed[owner, section].address + value
            size = self._sizes[name]
            symbols.append(_SYMBOL.pack(name_of[name], 0x12, 0, 1, address, size))
            order.append(name)
        relocations = [
            struct.pack("<QQq", place, symbol << 32 | kind, addend)
            for place, kind, symbol, addend in self._relocations
        ]
        parts = [b"".join(symbols), b"".join(relocations), _hash_table(order)]
        places: list[int] = []
        for part in (*parts, bytes(names.data)):
            at = -(-at // 8) * 8
            places.append(at)
            self._image[at : at + len(part)] = part
            at += len(part)
        entries = [
            *([(1, needed)] if needed else []),
            (4, places[2]),  # DT_HASH
            (5, places[3]),  # DT_STRTAB
            (6, places[0]),  # DT_SYMTAB
            (7, places[1]),  # DT_RELA
            (8, 24 * len(relocations)),
            (9, 24),
            (10, len(names.data)),
            (11, _SYMBOL.size),
            (30, 8),  # DT_FLAGS: all addresses are entered when it is loaded
            (0, 0),
        ]
        for number, entry in enumerate(entries):
            _DYNAMIC.pack_into(self._image, dynamic + _DYNAMIC.size * number, *entry)

    def _write_headers(self, code: int, data: int, dynamic: int) -> None:
        size = len(self._image)
        struct.pack_into(
            *("<16sHHIQQQIHHHHHH", self._image, 0),
            *(b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, _HEADER_SIZE, 0, 0),
            *(_HEADER_SIZE, _SEGMENT_SIZE, _SEGMENTS, 0, 0, 0),
        )
        segments = [
            (1, 4, 0, code, _PAGE),
            (1, 5, code, data - code, _PAGE),
            (1, 6, data, size - data, _PAGE),
            (2, 6, dynamic, _DYNAMIC.size * 16, 8),
            (0x6474E551, 6, 0, 0, 16),  # PT_GNU_STACK: no code on the stack
        ]
        for number, (kind, flags, at, length, alignment) in enumerate(segments):
            struct.pack_into(
                *("<IIQQQQQQ", self._image, _HEADER_SIZE + _SEGMENT_SIZE * number),
                *(kind, flags, at, at, at, length, length, alignment),
            )


def _part_of(section: Section) -> str:
    if section.flags & EXECUTABLE:
        return _RUN
    return _WRITE if section.flags & WRITABLE else _READ


def _hash_table(names: Sequence[str]) -> bytes:
    """Return the table by which the loader finds symbols, by their index."""
    count = len(names)
    buckets, chains = [0] * count, [0] * count
    for index in range(1, count):
        bucket = _hash(names[index]) % count
        chains[index], buckets[bucket] = buckets[bucket], index
    return struct.pack(f"<{2 + 2 * count}I", count, count, *buckets, *chains)


def _hash(name: str) -> int:
    found = 0
    for byte in name.encode():
        found = (found << 4) + byte
        high = found & 0xF0000000
        found = (found ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return found
