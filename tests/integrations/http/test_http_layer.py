"""A layer on a server: what it keeps, and that a bad server costs misses alone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.errors import ArgumentError, SlowerRunWarning
from parpass.integrations.http import HttpLayer, http_layer
from parpass.runner.cache.layers import open_layer
from tests.support.integrations.cache_server import CacheServer, serving

OBJECTS = {f"function {at}": bytes([at]) * at for at in range(40)}


@pytest.fixture
def server() -> Iterator[CacheServer]:
    """Give a server on this machine, which has the objects."""
    with serving() as server:
        layer = HttpLayer(server.url, is_writable=True)
        layer.put(OBJECTS)
        assert len(server.objects) == len(OBJECTS)
        server.asked.clear()
        server.paths.clear()
        yield server


def test_what_was_put_on_a_server_is_there_for_others(server: CacheServer):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layer = HttpLayer(f"{server.url}/")
        assert layer.get([*OBJECTS, "another"]) == OBJECTS
        layer.put({"another": b"1"})  # which is not for it to do
        assert layer.get(["another"]) == layer.get([]) == {}
        assert len(server.asked) == 42
        assert "PUT" not in server.asked


def test_secrets_are_sent_and_shown_nowhere(server: CacheServer):
    with_user = server.url.replace("//", "//me:se%40cret@")
    layer = HttpLayer(with_user, headers={"X-Team": "compilers"})
    layer.get(["a"])
    assert server.headers["Authorization"] == "Basic bWU6c2VAY3JldA=="
    assert server.headers["X-Team"] == "compilers"
    HttpLayer(server.url, headers={"Authorization": "Bearer b"}).get(["a"])
    assert server.headers["Authorization"] == "Bearer b"
    server.misbehave = lambda request: request.answer(401) or True
    with pytest.warns(SlowerRunWarning, match="it answered 401 Unauth") as caught:
        layer.get(["a"])
    assert "cret" not in f"{caught[0].message}{layer!r}"
    with pytest.raises(ArgumentError) as refused:
        HttpLayer(f"{with_user}?a=b")
    assert "cret" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a/b",
        "http://",
        "https:///a",
        "http://a:b/",
        "http://a/?q=1",
        "http://a#b",
    ],
)
def test_what_is_no_url_of_a_server_is_an_error(url: str):
    with pytest.raises(ArgumentError, match=r"a URL such as https://.*, got"):
        HttpLayer(url)


def test_a_url_names_a_layer_of_a_cache():
    server = open_layer("https://me:pw@cache.example/ac/")
    assert repr(server) == "HttpLayer('https://cache.example/ac')"
    assert not server.is_writable


@pytest.mark.parametrize("name", ["timeout", "most_seconds", "connections"])
def test_limits_are_above_zero(name: str):
    limits: dict[str, Any] = {name: 0}
    with pytest.raises(ArgumentError, match=f"{name}.* above 0"):
        HttpLayer("http://a", **limits)


def _hangs(request: Any) -> bool:
    request.cache.is_over.wait()
    return True


def _drips(request: Any) -> bool:
    request.send_response(200)
    request.send_header("Content-Length", "1000000")
    request.end_headers()
    while not request.cache.is_over.wait(0.02):
        request.wfile.write(b".")
        request.wfile.flush()
    return True


def _stops_midway(request: Any) -> bool:
    request.send_response(200)
    request.send_header("Content-Length", "1000000")
    request.end_headers()
    request.wfile.write(b"half")
    request.close_connection = True
    return True


def _closes(request: Any) -> bool:
    request.close_connection = True
    return True


def _says_nonsense(request: Any) -> bool:
    request.wfile.write(b"\0\xff nonsense\r\n" * 9)
    request.close_connection = True
    return True


def _steers(request: Any) -> bool:
    request.wfile.write(b"HTTP/1.1 500 \x1b[31mred\x07\r\nContent-Length: 0\r\n\r\n")
    return True


def _sends_much(request: Any) -> bool:
    request.answer(200, b"." * 300)  # each of which would do
    return True


BAD: dict[str, tuple[Callable[[Any], Any], str]] = {
    "hangs": (_hangs, r"timed out|it gave 0 of 40 answers in 0\.\d seconds"),
    "drips": (_drips, r"it gave 0 of 40 answers in 0\.\d seconds"),
    "stops midway": (_stops_midway, "IncompleteRead"),
    "closes": (_closes, "closed connection"),
    "says nonsense": (_says_nonsense, "nonsense"),
    "steers the terminal": (_steers, r"it answered 500 \\x1b\[31mred"),
    "sends too much": (_sends_much, "its answers have more than 1,000 bytes"),
    "fails": (lambda r: r.answer(500) or True, "it answered 500 Internal Server"),
    "redirects": (lambda r: r.answer(302, Location="/cache/") or True, "answered 302"),
}


@pytest.mark.parametrize("how", BAD)
def test_a_bad_server_costs_misses_and_one_warning(
    server: CacheServer, how: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(http_layer, "_MOST_BYTES", 1_000)
    monkeypatch.setattr(http_layer, "_ENDING_SECONDS", 60.0)  # a thread needs a core
    server.misbehave, told = BAD[how]
    seconds = 0.5 if how in ("hangs", "drips") else 60.0
    layer = HttpLayer(server.url, is_writable=True, most_seconds=seconds)
    warned = pytest.warns(SlowerRunWarning, match=told)
    with warned as caught:
        assert layer.get(OBJECTS) == {}
        layer.renew_patience()
        assert layer.get(["another"]) == {}  # nor is it asked again at once
        layer.put({"b": b"2"})
    assert len(server.paths) <= len(OBJECTS)  # of which some may still arrive
    assert len(caught) == 1
    assert str(caught[0].message).isprintable()
    assert str(caught[0].message).startswith(f"'{server.url}', a layer of a cache: ")
    assert not [one for one in threading.enumerate() if "cache layer" in one.name]


def test_a_server_that_takes_nothing_is_read_all_the_same(server: CacheServer):
    server.misbehave = lambda r: r.command == "PUT" and (r.answer(405) or True)
    layer = HttpLayer(server.url, is_writable=True)
    with pytest.warns(SlowerRunWarning, match="405 .*nothing is put on it for 60 s"):
        layer.put({"a": b"1"})
    assert layer.get(OBJECTS) == OBJECTS


def test_a_server_that_is_away_costs_misses_and_one_warning():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        layer = HttpLayer(f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.warns(SlowerRunWarning, match="refused") as caught:
            assert layer.get(OBJECTS) == layer.get(["a"]) == {}
    assert len(caught) == 1


def test_a_connection_that_the_server_has_closed_is_opened_again(server: CacheServer):
    def closes_after(request: Any) -> bool:
        content = server.objects[request.path]
        request.answer(200, content)  # without saying so
        request.close_connection = True
        return True

    server.misbehave = closes_after
    assert HttpLayer(server.url).get(OBJECTS) == OBJECTS


def test_objects_that_changed_places_are_misses(server: CacheServer):
    one, other = (f"function {at}" for at in (7, 8))
    paths = [path for path, data in server.objects.items() if data[33:34] in b"\7\b"]
    first, second = (path for path in paths if len(server.objects[path]) in (40, 41))
    here, there = server.objects[first], server.objects[second]
    server.objects |= {first: there, second: here}
    with pytest.warns(SlowerRunWarning, match="2 objects are not what was stored"):
        found = HttpLayer(server.url).get(OBJECTS)
    assert found == {k: v for k, v in OBJECTS.items() if k not in (one, other)}


@given(data=st.data())
def test_no_damage_gives_another_object(data: st.DataObject):
    with serving() as server:
        HttpLayer(server.url, is_writable=True).put({"a": b"object"})
        ((path, whole),) = server.objects.items()
        damaged = data.draw(
            st.one_of(
                st.binary(max_size=60),
                st.integers(0, len(whole) - 1).map(lambda at: whole[:at]),
                st.integers(0, 8 * len(whole) - 1).map(lambda bit: flipped(whole, bit)),
                st.just(whole + b"\0"),
            )
        )
        server.objects[path] = damaged
        with pytest.warns(SlowerRunWarning, match="1 objects are not what"):
            assert HttpLayer(server.url).get(["a"]) == {}


def flipped(whole: bytes, bit: int) -> bytes:
    """Return bytes of which one bit is another."""
    content = bytearray(whole)
    content[bit // 8] ^= 1 << bit % 8
    return bytes(content)


def test_a_folder_that_pythons_own_server_shows_is_read(
    server: CacheServer, tmp_path: Path
):
    for path, content in server.objects.items():
        (tmp_path / path.rpartition("/")[2]).write_bytes(content)
    command = [sys.executable, "-u", "-m", "http.server", "0", "-b", "127.0.0.1"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as running:
        assert running.stdout is not None
        port = int(running.stdout.readline().split(" port ")[1].split()[0])
        assert HttpLayer(f"http://127.0.0.1:{port}").get([*OBJECTS, "no"]) == OBJECTS
        running.terminate()
