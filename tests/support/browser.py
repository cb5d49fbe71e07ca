"""A page in headless Chromium, driven by Playwright; what it complains of is kept.

Playwright's own download is not needed: it drives the browser that is installed.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import Any

# Debian's, Fedora's, and that of a vendor.
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextlib.contextmanager
def browser() -> Generator[Any]:
    """Give a headless browser."""
    from playwright.sync_api import sync_playwright  # in the extra `browser`

    found = next(filter(None, map(shutil.which, _NAMES)), None)
    assert found, f"expected one of {', '.join(_NAMES)} on the PATH"
    with sync_playwright() as playwright:
        chromium = playwright.chromium
        launched = chromium.launch(executable_path=found, args=["--no-sandbox"])
        try:
            yield launched
        finally:
            launched.close()


class Opened:
    """A page that is open.

    Attributes:
        page: Playwright's page.
        errors: What it wrote to the console as an error, or raised.
    """

    def __init__(self, page: Any) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("pageerror", self._on_page_error)
        page.on("console", self._on_console)

    def _on_page_error(self, error: object) -> None:
        self.errors.append(str(error))

    def _on_console(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(message.text)


def open_file(
    launched: Any, path: Path, *, scheme: str = "light", width: int = 1000
) -> Opened:
    """Open a file in a new page.

    Args:
        launched: The browser.
        path: The file.
        scheme: `light` or `dark`, which the page is to follow.
        width: Of the window, in pixels.
    """
    size = {"width": width, "height": 800}
    opened = Opened(launched.new_page(viewport=size, color_scheme=scheme))
    opened.page.goto(path.resolve().as_uri())
    return opened
