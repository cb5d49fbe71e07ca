"""The table of contents has each page once, and each public name is documented once."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from docs.site.catalogues import catalogue_pages, message_of
from docs.site.command_pages import command_pages, man_pages
from docs.site.error_cases import CASES
from docs.site.extension import (
    captioned,
    contents,
    keep_results_whole,
    pages_below,
)
from docs.site.pass_catalogue import COSTS, shipped_passes
from docs.site.reference import (
    canonical_names,
    exported_names,
    public_modules,
    reference_pages,
)
from parpass.cli import main
from parpass.cli.commands.topics import ENVIRONMENT, error_classes
from parpass.cli.group import SHIPPED
from parpass.cli.options.listing import config_options

DOCS = Path(__file__).parents[2] / "docs"


def listed(page: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"^(?!```|:|$)(\S+)$", "\n".join(contents(text)), re.MULTILINE)
    return sorted(found)


def index() -> str:
    return (DOCS / "index.md").read_text(encoding="utf-8")


def test_the_index_has_each_page_once():
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    outside = {"../CONTRIBUTING", "../CHANGELOG", "../SECURITY"}
    lists = {"decisions/README", "tour/README"}
    below = [page for pages in pages_below(index()).values() for page in pages]
    assert sorted([*listed("index.md"), *below]) == sorted({*pages, *lists, *outside})


def test_the_sidebar_has_at_most_fifteen_entries_before_the_reference():
    before, reference, _ = index().partition("\n## Reference\n")
    assert reference
    text = "\n".join(contents(before))
    assert 10 < len(re.findall(r"^(?!```|:|$)\S+$", text, re.MULTILINE)) <= 15


def test_a_list_within_an_item_is_the_contents_of_the_page_of_the_item():
    text = "* [A](a.md): one\n  * [B](b/README.md)\n  * [C](c.md)\n* [D](d.md)\n"
    assert pages_below(text) == {"a": ["b/README", "c"]}
    [listed] = "".join(contents(f"## E\n\n{text}")).split("```{toctree}")[1:]
    assert listed == "\n:hidden::caption: Ead```"


def minutes_in(text: str) -> list[int]:
    """Return the minutes that a text speaks of, in its order."""
    words = {"three": 3, "five": 5, "six": 6, "ten": 10, "twenty-five": 25}
    found = re.findall(r"\b([\w-]+)\s(?:minutes\b|if you read)", text)
    return [words[one.lower()] for one in found if one.lower() in words]


def test_times_for_a_reader_agree_from_page_to_page():
    tour = (DOCS / "tour/README.md").read_text(encoding="utf-8")
    whole, *parts = minutes_in(tour)
    pages = sorted((DOCS / "tour").glob("[0-9]*.md"))
    begin = [path.read_text(encoding="utf-8").split("\n\n")[1] for path in pages]
    assert [minutes_in(text)[0] for text in begin] == parts
    assert abs(sum(parts) - whole) <= 1
    own = (DOCS / "your-own-compiler.md").read_text(encoding="utf-8")
    told = re.search(r"takes (\S+) minutes, and\n\[the tour\]\S+ (\S+)\.", index())
    assert told is not None
    assert minutes_in(f"{told[1]} minutes {told[2]} minutes") == [
        minutes_in(own)[0],
        whole,
    ]


def test_the_readme_fits_in_120_lines_and_its_links_lead_to_files():
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    found = re.findall(r"\]\((?!https?:)([^)#]+)(?:#([^)]+))?\)", text)
    linked = {file for file, _ in found}
    names = ("performance-front", "own-ir", "function-way")
    pictures = {f"docs/{name}.svg" for name in names}
    assert {"docs/index.md", "SECURITY.md", "CITATION.cff", *pictures} <= linked
    assert [one for one in linked if not (DOCS.parent / one).exists()] == []
    for file, anchor in found:
        page = (DOCS.parent / file).read_text(encoding="utf-8") if anchor else ""
        headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
        assert anchor in {"", *(one.lower().replace(" ", "-") for one in headings)}


@pytest.mark.parametrize("folder", ["decisions", "tour"])
def test_the_list_of_a_folder_has_each_page_once(folder: str):
    assert listed(f"{folder}/README.md") == sorted(
        path.stem for path in (DOCS / folder).glob("[0-9]*.md")
    )


@pytest.mark.parametrize("page", sorted((DOCS / "decisions").glob("[0-9]*.md")))
def test_a_decision_begins_with_when_it_was_accepted_and_for_which_version(page: Path):
    heading, _, accepted, *_ = page.read_text(encoding="utf-8").splitlines()
    assert re.match(rf"# {int(page.name[:2])}\. \w", heading)
    assert re.match(r"Accepted 20\d\d-\d\d-\d\d, since \d+\.\d+\.\d+\.", accepted)


def test_a_block_that_is_a_file_has_its_name_as_caption_and_others_are_as_they_were():
    block, other = "A\n```\n", "```text\nB\n```\n"
    directive = '```{code-block} py\n:caption: "`my/one_file.py`"\n\n'
    page = f"```py my/one_file.py\n{block}{other}"
    assert captioned(page) == f"{directive}{block}{other}"


def test_each_public_name_is_on_one_page_of_the_reference():
    pages, canonical = reference_pages(), canonical_names()
    for module in public_modules().values():
        for one in exported_names(module):
            named = canonical[one.path]
            directive = re.compile(
                rf"^\.\. auto\w+:: {re.escape(named.path)}$", re.MULTILINE
            )
            shown = [name for name, text in pages.items() if directive.search(text)]
            assert shown == [f"reference/{named.module}"], one.path


def defined(owner: Any, name: str) -> Callable[..., Any] | None:
    """Return the function that a `def` or a property of this name is, if it is one."""
    value: Any = inspect.getattr_static(owner, name)
    for inner in "__func__", "fget", "func":  # of a class method, properties, cached
        value = getattr(value, inner, value)
    is_ours = str(getattr(value, "__module__", "")).startswith("parpass")
    is_def = inspect.isfunction(value) and value.__name__ == name
    return value if is_def and is_ours else None


def test_each_public_function_class_and_method_says_what_it_does():
    unsaid: list[str] = []
    for module in public_modules().values():
        for one in exported_names(module):
            if not isinstance(one.value, type):
                made = defined(module, one.name)
                unsaid += [one.path] * (made is not None and not made.__doc__)
                continue
            members = [name for name in dir(one.value) if not name.startswith("_")]
            unsaid += [one.path] * (not one.value.__doc__)
            unsaid += [
                f"{one.path}.{name}"
                for name in members
                if defined(one.value, name)
                and not inspect.getdoc(getattr(one.value, name))
            ]
    assert unsaid == []


def test_help_has_no_at_that_would_become_an_address_of_mail():
    quoted = re.compile(r"``.*?``|^ {4}.*$", re.MULTILINE)
    texts = [quoted.sub("", page) for page in command_pages().values()]
    assert any(r"\@" in text for text in texts)
    assert [text for text in texts if re.search(r"(?<!\\)@", text)] == []


def test_the_text_of_a_result_is_no_type_before_its_colon():
    lines = ["Return one.", "", "Returns:", "    One: the first.", "", "Raises:"]
    keep_results_whole(None, "function", "one", None, None, lines)
    assert lines[3] == "    : One: the first."
    assert lines[:3] + lines[4:] == ["Return one.", "", "Returns:", "", "Raises:"]


def test_every_integration_of_the_tests_has_a_page():
    mine = {"codemod", "dask", "otel", "qiskit", "xdsl"}
    assert {f"parpass.integrations.{name}" for name in mine} <= public_modules().keys()


def test_every_exported_module_has_a_page():
    for module in public_modules().values():
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if isinstance(value, types.ModuleType):
                assert f"reference/{value.__name__}" in reference_pages()


@pytest.mark.slow
def test_the_catalogues_have_every_pass_error_option_and_variable():
    pages = catalogue_pages()
    passes = re.findall(r"^.. _pass-([\w-]+):$", pages["passes"], re.MULTILINE)
    assert passes == list(shipped_passes())
    in_page = re.findall(r"^.. _error-(\w+):$", pages["errors"], re.MULTILINE)
    assert in_page == list(error_classes())
    for name in [*(one.key for one in config_options()), *ENVIRONMENT]:
        directive = rf"^\.\. (?:confval|envvar):: {re.escape(name)}$"
        assert re.search(directive, pages["options"], re.MULTILINE)


def remarks_in(path: Path) -> set[tuple[str, str]]:
    """Return the kinds and names of the remarks that a file makes, by its calls."""
    found: set[tuple[str, str]] = set()
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(call, ast.Call):
            given = [*call.args, *(one.value for one in call.keywords)]
            texts = [one.value for one in given if isinstance(one, ast.Constant)]
            kinds = [one for one in texts if one in ("passed", "missed", "analysis")]
            names = [one for one in texts if re.fullmatch(r"[A-Z]\w+", str(one))]
            if kinds and names:
                found.add((str(kinds[0]), str(names[0])))
    return found


def shipped_in_a_new_process() -> set[str]:
    """Return the names of the passes that the site has; other tests register some."""
    program = (
        "from docs.site import pass_catalogue as one; print(*one.shipped_passes())"
    )
    command = [sys.executable, "-c", program]
    return {*subprocess.check_output(command, cwd=DOCS.parent, text=True).split()}


@pytest.mark.slow
def test_the_catalogue_has_every_remark_and_the_cost_of_nearly_every_pass():
    page = catalogue_pages()["passes"]
    made: set[tuple[str, str]] = set()
    for folder in ("relay", "tir"):
        for path in (DOCS.parent / "parpass" / folder).rglob("*.py"):
            made |= remarks_in(path)
    assert len(made) > 10
    assert [one for one in made if f"``{one[1]}`` ({one[0]}: " not in page] == []
    measured = json.loads(COSTS.read_text(encoding="utf-8"))["microseconds"]
    unmeasured = {"DefaultPipeline", "LowerToTIR", "PrintIR"}
    assert shipped_in_a_new_process() - unmeasured == measured.keys()
    assert page.count(" us a node") == len(measured)


def test_a_page_of_each_subcommand_has_its_options_and_is_a_man_page():
    pages = command_pages()
    manuals = {one[0].removeprefix("generated/") for one in man_pages("generated")}
    assert (
        manuals
        == pages.keys()
        == {"commands/parpass"} | {f"commands/parpass-{name}" for name in SHIPPED}
    )
    for name in SHIPPED:
        command = main.get_command(click.Context(main), name)
        assert command is not None
        page = pages[f"commands/parpass-{name}"]
        assert "\nExample::\n\n    parpass " in page
        for param in command.params:
            if isinstance(param, click.Option):
                longest = max(param.opts, key=len)
                entry = rf"^\.\. index:: .*! {longest}(?:,.*)?$"
                listed = rf"{entry}\n\n\.\. option:: .*{longest}\b"
                assert re.search(listed, page, re.MULTILINE), longest


@pytest.mark.parametrize("name", CASES)
def test_the_case_of_an_error_raises_it(name: str):
    assert message_of(name).startswith(f"{name}: ")
