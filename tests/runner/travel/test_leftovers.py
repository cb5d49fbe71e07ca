"""What runs left behind is removed, and what is in use is not."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from parpass.runner.travel.leftovers import claim, remove_abandoned


def test_a_socket_does_not_keep_an_abandoned_folder(tmp_path: Path):
    folder = tmp_path / "left"
    folder.mkdir()
    lock = claim(str(folder))
    assert lock is not None
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "values"))
    remove_abandoned([folder])
    assert folder.exists()
    os.close(lock)
    remove_abandoned([folder])
    assert not folder.exists()
