"""The table of contents has each page once, and each public name has one home."""

from __future__ import annotations

import re
import types
from pathlib import Path

import pytest

from docs.site.catalogues import catalogue_pages, message_of
from docs.site.error_cases import CASES
from docs.site.extension import contents
from docs.site.reference import exported_names, homes, public_modules, reference_pages
from parpass.cli.commands.listing import config_options, described_passes
from parpass.cli.commands.topics import ENVIRONMENT, error_classes
from parpass.transform import registered_passes

DOCS = Path(__file__).parents[1] / "docs"


def listed(page: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"^(?!```|:|$)(\S+)$", "\n".join(contents(text)), re.MULTILINE)
    return sorted(found)


def test_the_index_has_each_page_once():
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    outside = {"../CONTRIBUTING", "../CHANGELOG"}
    lists = {"decisions/README", "tour/README"}
    assert listed("index.md") == sorted({*pages, *lists, *outside})


@pytest.mark.parametrize("folder", ["decisions", "tour"])
def test_the_list_of_a_folder_has_each_page_once(folder: str):
    assert listed(f"{folder}/README.md") == sorted(
        path.stem for path in (DOCS / folder).glob("[0-9]*.md")
    )


def test_each_public_name_is_on_one_page_of_the_reference():
    pages, at_home = reference_pages(), homes()
    for module in public_modules().values():
        for one in exported_names(module):
            home = at_home[one.path]
            directive = re.compile(
                rf"^\.\. auto\w+:: {re.escape(home.path)}$", re.MULTILINE
            )
            shown = [name for name, text in pages.items() if directive.search(text)]
            assert shown == [f"reference/{home.module}"], one.path


def test_every_exported_module_has_a_page():
    for module in public_modules().values():
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if isinstance(value, types.ModuleType):
                assert f"reference/{value.__name__}" in reference_pages()


@pytest.mark.slow
def test_the_catalogues_have_every_pass_error_option_and_variable():
    pages = catalogue_pages()
    shipped = {
        name
        for name, _ in described_passes()
        if registered_passes()[name].__module__.startswith("parpass.")
    }
    assert (
        set(re.findall(r"^.. _pass-([\w-]+):$", pages["passes"], re.MULTILINE))
        == shipped
    )
    in_page = re.findall(r"^.. _error-(\w+):$", pages["errors"], re.MULTILINE)
    assert in_page == list(error_classes())
    for name in [*(one.key for one in config_options()), *ENVIRONMENT]:
        assert f"\n``{name}``" in pages["options"]


@pytest.mark.parametrize("name", CASES)
def test_the_case_of_an_error_raises_it(name: str):
    assert message_of(name).startswith(f"{name}: ")
