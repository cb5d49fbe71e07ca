from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from parpass.runner.ipc.blob_server import BlobClient, BlobServer, socket_path
from parpass.runner.ipc.shared_dir import Extent, SharedDirectory, StorageError


@pytest.fixture
def path() -> Iterator[str]:
    folder = SharedDirectory()
    found = socket_path(folder)
    assert found is not None
    yield found
    folder.remove()


@pytest.fixture
def client() -> Iterator[BlobClient]:
    client = BlobClient()
    yield client
    client.close()


class Asked:
    """Takes down what is asked for."""

    def __init__(self) -> None:
        self.for_: list[Extent] = []

    def __call__(self, ref: Extent) -> None:
        self.for_.append(ref)


def test_a_request_is_answered_once_the_value_is_written(path: str, client: BlobClient):
    asked = Asked()
    server = BlobServer(path, asked)
    refs = [Extent("one", 1 << 40, 3), Extent("another", 0, 8)]
    for ref in refs:
        client.request(path, ref)
    server.close()
    assert asked.for_ == refs


def test_a_request_fails_if_there_is_no_room(path: str, client: BlobClient):
    def answer(ref: Extent) -> None:
        raise StorageError("full")

    server = BlobServer(path, answer)
    with pytest.raises(OSError, match="no room for a large value"):
        client.request(path, Extent("one", 0, 8))
    server.close()


def test_a_request_without_a_thread_fails_and_others_are_answered(
    path: str, client: BlobClient, monkeypatch: pytest.MonkeyPatch
):
    asked = Asked()
    server = BlobServer(path, asked)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(ConnectionError):
            client.request(path, Extent("one", 0, 8))
    other = BlobClient()
    other.request(path, Extent("one", 8, 8))
    other.close()
    server.close()
    assert asked.for_ == [Extent("one", 8, 8)]
