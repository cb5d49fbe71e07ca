from __future__ import annotations

import os
import select
from collections.abc import Iterator

import pytest

from parpass.runner.worker.main import spin_until_readable


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def waiting_for(number: int) -> select.poll:
    waiting = select.poll()
    waiting.register(number, select.POLLIN)
    return waiting


def test_what_is_there_is_seen_at_once(pipe: tuple[int, int]):
    reader, writer = pipe
    os.write(writer, b"x")
    assert spin_until_readable(waiting_for(reader), 0.0)


def test_what_does_not_come_is_not_looked_out_for_long(pipe: tuple[int, int]):
    assert not spin_until_readable(waiting_for(pipe[0]))
    assert not spin_until_readable(waiting_for(pipe[0]), 0.0)
