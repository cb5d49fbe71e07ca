"""Pages in headless Chromium: what is opened, what it says of errors, its picture.

Playwright's Python package drives the Chromium of the system. Both are for tests that
are marked `browser`, so they are loaded here when a page is opened.
"""

from __future__ import annotations

import contextlib
import functools
import io
import shutil
import threading
from collections.abc import Generator, Mapping, Sequence
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_COLOURS = 256  # of pictures that are kept
LIMIT = 120_000  # milliseconds until what a test waits for counts as hanging


@contextlib.contextmanager
def serving(folder: Path, answers: Mapping[str, bytes]) -> Generator[str]:
    """Serve a folder on localhost, and other answers by path; give the address."""

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = answers.get(self.path)
            if answer is None:
                super().do_GET()
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- its name
            pass

    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))
    )
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class OpenedPage:
    """A page that is open.

    Attributes:
        page: Playwright's page.
        errors: What it wrote to the console as errors, and what was not caught.
    """

    def __init__(self, page: Any, ignoring: Sequence[str]) -> None:
        self.page = page
        self.errors: list[str] = []
        self._ignoring = ignoring
        page.set_default_timeout(LIMIT)
        page.on("console", self._take_message)
        page.on("pageerror", self._take_exception)

    def _take_message(self, message: Any) -> None:
        if message.type == "error":
            self._take(f"{message.text} {message.location.get('url', '')}")

    def _take_exception(self, error: Any) -> None:
        self._take(str(error))

    def _take(self, error: str) -> None:
        if not any(one in error for one in self._ignoring):
            self.errors.append(error)

    def screenshot(self, file: Path) -> None:
        """Write a picture of the page, with few colours, so that it is small."""
        picture: Any = import_module("PIL.Image").open(
            io.BytesIO(self.page.screenshot())
        )
        picture.convert("RGB").quantize(_COLOURS).save(file, optimize=True)


def chromium() -> str | None:
    """Return the path of the system's Chromium; None if there is none."""
    return next((path for path in map(shutil.which, _NAMES) if path), None)


@contextlib.contextmanager
def opened_page(
    url: str,
    *,
    ignoring: Sequence[str] = (),
    width: int = 1280,
    height: int = 720,
    scheme: str = "light",
) -> Generator[OpenedPage]:
    """Open a page, without a network, and close it at the end of the block.

    Args:
        url: Of the page: `file://`, or of this machine.
        ignoring: Parts of messages that are not taken as errors.
        width: Of the window, in pixels.
        height: Likewise.
        scheme: `light` or `dark`.
    """
    found = chromium()
    assert found is not None, f"none of {', '.join(_NAMES)} is installed"
    origin = "/".join(url.split("/")[:3])
    sync_playwright = import_module("playwright.sync_api").sync_playwright
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox"]
        )
        try:
            page = browser.new_page(
                viewport={"width": width, "height": height}, color_scheme=scheme
            )

            def answer(route: Any) -> None:
                if route.request.url.startswith(origin):
                    route.continue_()
                else:
                    route.abort()

            page.route("**/*", answer)
            opened = OpenedPage(page, ignoring)
            page.goto(url)
            yield opened
        finally:
            browser.close()
