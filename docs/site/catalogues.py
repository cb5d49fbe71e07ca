"""The catalogues of the reference: passes, errors, options and environment variables.

They are made of what the command's listings are made of, of the text cases in
`tests/cases`, and of the smallest programs that raise an error, which are run.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from docs.site.error_cases import CASES
from docs.site.reference import separated, title
from parpass.cli.commands.listing import config_options, described_passes, pass_facts
from parpass.cli.commands.topics import (
    ENVIRONMENT,
    error_classes,
    option_kind,
    option_meaning,
)
from parpass.cli.operations.error_advice import ADVICE
from parpass.function_registry import global_func_names
from parpass.transform import registered_passes
from tests.support.case_files import Case, read_cases

_ROOT = Path(__file__).resolve().parents[2]


def catalogue_pages() -> dict[str, str]:
    """Return the catalogues by document, in reStructuredText."""
    return {
        "passes": "\n".join(_passes()),
        "errors": "\n".join(_errors()),
        "options": "\n".join(_options()),
    }


def _passes() -> Iterator[str]:
    yield from title("Passes", "=")
    yield (
        "The passes that are shipped: level, options, what they keep, and a program "
        "before and after, from the cases by which they are tested."
    )
    yield ""
    described = described_passes()  # which loads them
    factories, keys, cases = registered_passes(), _keys(), _first_cases()
    names = [name for name, _ in described if _is_shipped(factories[name])]
    yield from (" · ".join(f":ref:`{name} <pass-{name}>`" for name in names), "")
    for name in names:
        factory = factories[name]
        yield from (f".. _pass-{name}:", "", *title(name, "-"))
        kind, options = pass_facts(name)
        yield from (f"{kind[:1].upper()}{kind[1:]}.", "")
        yield from _fields(_facts(factory, keys[name], options))
        text = inspect.getdoc(factory) or ""
        yield from ("::", "", _indented(text), "")  # as `parpass explain` shows it
        case = cases.get(name)
        if case is not None and "becomes::" not in text:
            yield from _case(case)


def _is_shipped(factory: Callable[..., Any]) -> bool:
    return str(getattr(factory, "__module__", "")).startswith("parpass.")


def _facts(
    factory: Any, key: str, options: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    yield "Registered as, as TVM has it", f"``{key}``"
    told = "; ".join(f"``{name}``: {kind}" for name, kind in options)
    yield "Options", told or "none"
    kept = ", ".join(f"``{one.__name__}``" for one in getattr(factory, "preserves", ()))
    yield "Analyses that it preserves", kept or "none"


def _keys() -> Mapping[str, str]:
    """Return the whole keys of passes by their names."""
    found = sorted(global_func_names(lambda _: True), key=lambda key: "transf" in key)
    return {key.rpartition(".")[2]: key for key in found}


def _first_cases() -> Mapping[str, Case]:
    """Return, by the name of a pass, the shortest of the cases that run it alone."""
    found: dict[str, Case] = {}
    for path in sorted((_ROOT / "tests/cases").rglob("*.txt")):
        for case in read_cases(path):
            name = re.match(r"[\w.]*", case.value("pipeline"))
            is_alone = name is not None and "," not in case.value("pipeline")
            if is_alone and name is not None and "after" in case.expected:
                short = name[0].rpartition(".")[2]
                if short not in found or _length(case) < _length(found[short]):
                    found[short] = case
    return found


def _length(case: Case) -> int:
    return len(case.before.text) + len(case.expected["after"].text)


def _case(case: Case) -> Iterator[str]:
    where = case.path.relative_to(_ROOT).as_posix()
    yield f"By ``{case.value('pipeline')}`` (``{where}``: {case.name})::"
    yield from ("", _indented(case.before.text), "", "becomes::", "")
    yield from (_indented(case.expected["after"].text), "")


def _errors() -> Iterator[str]:
    yield from title("Errors and warnings", "=")
    yield (
        "What each means, and what to do. A program below raises the error, and was "
        "run when this page was made."
    )
    yield ""
    kinds = error_classes()
    yield from (" · ".join(f":ref:`{name} <error-{name}>`" for name in kinds), "")
    for name, kind in kinds.items():
        yield from (f".. _error-{name}:", "", *title(name, "-"))
        text = (inspect.getdoc(kind) or "").partition("\n\n")[0]
        yield from (_as_rst(text), "")
        bases = ", ".join(f"`{one.__name__}`" for one in kind.__bases__)
        yield from _fields([("What to do", _as_rst(ADVICE[name])), ("Kind of", bases)])
        yield from ("", f"All of it: `parpass.errors.{name}`.", "")
        if name in CASES:
            yield from ("::", "", _indented(CASES[name]), "", "prints::", "")
            yield from (_indented(message_of(name)), "")


def message_of(name: str) -> str:
    """Return the last lines of what Python prints when the case of an error is run.

    Raises:
        AssertionError: The case raises another, or nothing.
    """
    raised: BaseException | None = None
    try:
        exec(CASES[name], {"__name__": "example"})
    except Exception as error:  # noqa: BLE001 -- it is what is looked for
        raised = error
    assert raised is not None, f"the case of {name} raises nothing"
    assert type(raised).__name__ == name, f"the case of {name} raises {raised!r}"
    return "\n".join(
        line.rstrip()
        for paragraph in f"{name}: {raised}".splitlines()
        for line in (textwrap.wrap(paragraph, 88, drop_whitespace=False) or [""])
    )


def _options() -> Iterator[str]:
    yield from title("Options and environment variables", "=")
    yield from title("Options of a context", "-")
    yield (
        "Set by ``PassContext(config={KEY: VALUE})``, on the command line by "
        "``--config KEY=VALUE``."
    )
    yield ""
    for option in config_options():
        yield f"``{option.key}``: {option_kind(option)}"
        yield from (f"   {_as_rst(option_meaning(option))}", "")
    yield from title("Environment variables", "-")
    for name, meaning in ENVIRONMENT.items():
        yield from (f"``{name}``", f"   {_as_rst(meaning)}", "")


def _fields(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield from (f":{name}: {text}" for name, text in rows)
    yield ""


def _as_rst(text: str) -> str:
    """Return a docstring as reStructuredText: sections of Google's as paragraphs."""
    text = re.sub(r"(?m)^(Args|Attributes|Raises|Returns):$", r"\1:\n", text)
    return separated(text)


def _indented(text: str) -> str:
    return textwrap.indent(text.rstrip(), "    ")
