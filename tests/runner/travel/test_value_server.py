from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from parpass.runner.travel.folder import Folder, Ref, StorageError
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
        self.for_: list[Ref] = []

    def __call__(self, ref: Ref) -> None:
        self.for_.append(ref)


def test_who_asks_is_answered_when_the_value_is_written_down(
    path: str, client: ValueClient
):
    asked = Asked()
    server = ValueServer(path, asked)
    refs = [Ref("one", 1 << 40, 3), Ref("another", 0, 8)]
    for ref in refs:
        client.ask(path, ref)
    server.close()
    assert asked.for_ == refs


def test_who_asks_learns_that_there_is_no_room(path: str, client: ValueClient):
    def answer(ref: Ref) -> None:
        raise StorageError("full")

    server = ValueServer(path, answer)
    with pytest.raises(OSError, match="no room for a large value"):
        client.ask(path, Ref("one", 0, 8))
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
            client.ask(path, Ref("one", 0, 8))
    other = ValueClient()
    other.ask(path, Ref("one", 8, 8))
    other.close()
    server.close()
    assert asked.for_ == [Ref("one", 8, 8)]
