from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from parpass.runner.travel.folder import Folder, StorageError
from parpass.runner.travel.value_server import ValueClient, ValueServer, socket_path


@pytest.fixture
def path() -> Iterator[str]:
    folder = Folder()
    found = socket_path(folder)
    assert found is not None
    yield found
    folder.remove()


@pytest.fixture
def client() -> Iterator[ValueClient]:
    client = ValueClient()
    yield client
    client.close()


class Asked:
    """Takes down what is asked for."""

    def __init__(self) -> None:
        self.for_: list[tuple[int, int]] = []

    def __call__(self, offset: int, length: int) -> None:
        self.for_.append((offset, length))


def test_who_asks_is_answered_when_the_value_is_written_down(
    path: str, client: ValueClient
):
    asked = Asked()
    server = ValueServer(path, asked)
    client.ask(path, 1 << 40, 3)
    client.ask(path, 0, 8)
    server.close()
    assert asked.for_ == [(1 << 40, 3), (0, 8)]


def test_who_asks_learns_that_there_is_no_room(path: str, client: ValueClient):
    def answer(offset: int, length: int) -> None:
        raise StorageError("full")

    server = ValueServer(path, answer)
    with pytest.raises(OSError, match="no room for a large value"):
        client.ask(path, 0, 8)
    server.close()


def test_who_asks_when_there_can_be_no_thread_is_told_and_others_are_answered(
    path: str, client: ValueClient, monkeypatch: pytest.MonkeyPatch
):
    asked = Asked()
    server = ValueServer(path, asked)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(ConnectionError):
            client.ask(path, 0, 8)
    other = ValueClient()
    other.ask(path, 8, 8)
    other.close()
    server.close()
    assert asked.for_ == [(8, 8)]
