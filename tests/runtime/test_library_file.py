"""The digest of library files tells damage of all kinds."""

from __future__ import annotations

import numpy as np
import pytest

from parpass.runtime.library_file import library_digest

PAGE = 64 << 10
# With a rest. No `bytes`, which workers of all other tests would take over.
DATA = bytearray(np.random.default_rng(0).bytes((5 << 20) + 3 * PAGE + 77))


def digest(data: bytes | bytearray) -> bytes:
    return library_digest(memoryview(data))


def changed(at: int, by: int) -> bytearray:
    return DATA[:at] + bytes([DATA[at] ^ by]) + DATA[at + 1 :]


@pytest.mark.parametrize("size", [0, 1, 7, 8, PAGE, PAGE + 1, 1 << 20, len(DATA)])
def test_it_is_that_of_the_bytes_and_of_how_many_there_are(size: int):
    data = DATA[:size]
    assert digest(data) == digest(bytes(data))
    assert len({digest(data), digest(data + b"\0"), digest(data + bytes(PAGE))}) == 3


@pytest.mark.parametrize("at", [0, 8191, (1 << 20) - 1, 4 << 20, len(DATA) - 1])
def test_a_flipped_bit_is_told(at: int):
    assert digest(changed(at, 1)) != digest(DATA) != digest(changed(at, 0x80))


def test_flipped_signs_do_not_make_up_for_each_other():
    for other in (8, PAGE, PAGE + 8):
        data = bytearray(DATA)
        for at in (7, 7 + other):
            data[at] ^= 0x80
        assert digest(bytes(data)) != digest(DATA)


@pytest.mark.parametrize("other", [PAGE, 1 << 20, 4 << 20])
def test_pages_that_changed_places_are_told(other: int):
    data = bytearray(DATA)
    data[:PAGE], data[other : other + PAGE] = data[other : other + PAGE], data[:PAGE]
    assert digest(bytes(data)) != digest(DATA)
    data[:PAGE] = data[other : other + PAGE] = bytes(PAGE)
    assert digest(bytes(data)) != digest(DATA)
