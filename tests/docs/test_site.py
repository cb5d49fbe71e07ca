"""The site is built without a warning, and a browser shows each page, also on a phone.

`PARPASS_SCREENSHOTS=FOLDER` keeps pictures of some pages.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.site.notebooks import PAGES, notebooks
from tests.support.browser import OpenedPage, opened_page, serving

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build/site"
SHOWN = {
    "index": "index.html",
    "command": "command.html",
    "performance": "performance.html",
    "writing": "writing-a-pass.html",
    "runner": "generated/reference/parpass.runner.html",
    "errors": "generated/reference/parpass.errors.html",
    "seeing": "seeing.html",
    "changelog": "generated/changelog.html",
    "passes": "generated/passes.html",
    "opt": "generated/commands/parpass-opt.html",
    "support": "support.html",
}
_IS_LOADED = "[...document.images].every(one => one.complete && one.naturalWidth > 0)"
# Results come one by one, and then their excerpts, which names have none of.
_IS_SEARCHED = """document.querySelector('.search-summary')?.innerText.includes('found')
    && [...document.querySelectorAll('ul.search > li:not(.kind-object)')].every(
        one => one.querySelector('.context'))"""
_WIDER = "document.documentElement.scrollWidth - window.innerWidth"


@pytest.fixture(scope="module")
def site() -> Path:
    words = ["-W", "--keep-going", "-q", "docs", str(SITE)]
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (built.returncode, built.stdout + built.stderr) == (0, "")
    return SITE


def keep(opened: OpenedPage, name: str) -> None:
    if folder := os.environ.get("PARPASS_SCREENSHOTS"):
        opened.page.screenshot(path=Path(folder) / f"{name}.png")


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (390, "dark")], ids=["desktop", "phone"]
)
def test_each_page_shows_its_pictures_in_the_width_and_reports_no_error(
    site: Path, width: int, scheme: str
):
    faults: list[str] = []
    first = site / "index.html"
    with opened_page(first.as_uri(), width=width, height=844, scheme=scheme) as opened:
        for path in sorted(site.rglob("*.html")):
            name = path.relative_to(site).as_posix()
            if name.startswith("_"):
                continue
            opened.page.goto(path.as_uri())
            if not opened.page.evaluate(_IS_LOADED):
                faults.append(f"{name}: a picture is missing")
            if (wider := opened.page.evaluate(_WIDER)) > 0:
                faults.append(f"{name}: wider than the window, by {wider} pixels")
            for short, shown in SHOWN.items():
                if shown == name:
                    keep(opened, f"{short}-{width}")
        assert faults + opened.errors == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_which_there_is_a_notebook_offers_it(site: Path, name: str):
    page = site / f"{name}.html"
    [link] = re.findall(r'href="([^"]+\.ipynb)"', page.read_text(encoding="utf-8"))
    assert (page.parent / link).read_text(encoding="utf-8") == notebooks()[name]


def test_no_page_has_an_address_of_mail_or_a_type_that_a_docstring_states(site: Path):
    texts = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    faults = ("mailto:", "Return type<", "Yield type<")
    assert [
        path.name
        for path, text in texts.items()
        if any(fault in text for fault in faults)
    ] == []


def found(url: str, query: str) -> list[tuple[str, str]]:
    """Return the links that a search gives, each with its excerpt, best first."""
    with opened_page(f"{url}/search.html?q={query}") as opened:
        opened.page.wait_for_function(_IS_SEARCHED)
        keep(opened, f"search-{query.strip('-')}")
        assert opened.errors == []
        read = """[...document.querySelectorAll('ul.search > li')].map(one =>
            [one.querySelector('a').getAttribute('href'),
             one.querySelector('.context')?.innerText ?? ''])"""
        return [(link, text) for link, text in opened.page.evaluate(read)]


def test_a_search_that_is_served_has_excerpts_and_guides_before_decisions(site: Path):
    with serving(site, {}) as url:
        results = found(url, "workers")
    links = [link for link, _ in results]
    assert "workers" in results[0][1].lower()
    decisions = [at for at, link in enumerate(links) if link.startswith("decisions/")]
    guides = [at for at, link in enumerate(links) if "/" not in link]
    assert max(guides) < min(decisions)


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("--print-ir-after-change", "generated/commands/parpass-opt.html"),
        ("print-ir-after-change", "generated/commands/parpass-opt.html"),
        ("parpass.check_contract", "generated/options.html"),
        ("PARPASS_CACHE_DIR", "generated/options.html"),
        ("run_pipeline_sync", "generated/reference/parpass.runner.html"),
    ],
)
def test_the_search_finds_an_option_or_a_name_first(site: Path, query: str, page: str):
    with serving(site, {}) as url:
        first = [link.partition("#") for link, _ in found(url, query)[:3]]
    assert page in [one for one, _, anchor in first if anchor]


def test_the_search_finds_a_word_without_a_network(site: Path):
    with opened_page((site / "index.html").as_uri()) as opened:
        opened.page.fill(".sidebar-search", "isolated")
        opened.page.press(".sidebar-search", "Enter")
        title = "Failures"  # results come one by one
        opened.page.wait_for_selector(f"ul.search li a:text-is('{title}')")
        keep(opened, "search")
        assert opened.errors == []
