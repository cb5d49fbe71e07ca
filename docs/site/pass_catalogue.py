"""The catalogue of passes: of what the command says of them, and of what is measured.

Programs before and after, remarks and analyses are those of the text cases in
`tests/cases`; costs are those that `python -m bench.passes --report` has kept.
"""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from docs.site.observed_passes import Observed, observed_passes
from docs.site.reference import indented, title
from parpass.cli.options.listing import (
    PassOrigin,
    described_passes,
    pass_facts,
    pass_origin,
)
from parpass.transform import pass_keys, registered_passes
from tests.support.cases.files import Case, read_cases

_ROOT = Path(__file__).resolve().parents[2]
_CASES = _ROOT / "tests/cases"
COSTS = _ROOT / "docs/passes.json"


def shipped_passes() -> Mapping[str, Callable[..., Any]]:
    """Return the factories of parpass's own passes, by name.

    Those of other compilers are known, too, where their integrations are loaded, and
    those that a program registered; a pass that it registered itself has no name.
    """
    names = [name for name, _ in described_passes()]  # which loads them
    known = registered_passes()
    return {
        name: known[name]
        for name in names
        if hasattr(known[name], "__qualname__")
        and re.match(
            r"parpass\.(?!integrations\.)", getattr(known[name], "__module__", "")
        )
    }


def pass_page() -> Iterator[str]:
    """Yield the lines of the page, in reStructuredText."""
    shipped, keys, cases = shipped_passes(), pass_keys(), _first_cases()
    costs = json.loads(COSTS.read_text("utf-8"))
    seen = observed_passes(_CASES)
    yield from title("Passes", "=")
    yield from _introduction(costs)
    for origin in (PassOrigin.TVM, PassOrigin.PARPASS):
        of_these = [name for name in shipped if pass_origin(keys[name]) is origin]
        links = " · ".join(f":ref:`{name} <pass-{name}>`" for name in of_these)
        yield from (f"{origin.value}: {links}", "")
    for name, factory in shipped.items():
        yield from (f".. _pass-{name}:", "", *title(name, "-"))
        kind, options = pass_facts(name)
        yield from (f"{kind[:1].upper()}{kind[1:]}.", "")
        found = seen.get(_own_name(name, factory), Observed())
        rows = [
            ("Registered as", f"``{keys[name]}``"),
            *_facts(factory, options, found),
            ("Remarks", _remarks(found)),
            ("Cost", _cost(costs, name)),
        ]
        yield from (f":{field}: {text}" for field, text in rows)
        kind = "class" if inspect.isclass(factory) else "function"
        where = f"{factory.__module__}.{factory.__qualname__}"
        yield from ("", f".. auto{kind}:: {where}", "   :no-index:", "")
        case = cases.get(name)
        if case is not None and "becomes::" not in (inspect.getdoc(factory) or ""):
            yield from _case(case)


def _introduction(costs: Mapping[str, Any]) -> Iterator[str]:
    machine = costs["machine"]
    small, large = (f"{one:,}" for one in costs["nodes"])
    yield (
        "The bundled passes: level, options, what they read and keep, what they say, "
        "and a program before and after, from the cases by which they are tested. "
        "Analyses and remarks are those of these cases. A pass that TVM has, too, is "
        "registered under TVM's key; the keys of the others begin with ``parpass.``."
    )
    yield ""
    yield (
        f"Costs are microseconds for each node of one function of {small} and of "
        f"{large} nodes, in one process, with the InferType that follows a function "
        "pass of Relay: ``python -m bench.passes --report``, medians of three runs, "
        f"{machine['python']} on {machine['system']}. A pass that finds little to do "
        "in a generated program costs more elsewhere."
    )
    yield ""


def _own_name(name: str, factory: Callable[..., Any]) -> str:
    """Return the name under which a pass makes its remarks."""
    info = getattr(factory, "pass_info", None)
    return name if info is None else info.name


def _facts(
    factory: Any, options: Iterable[tuple[str, str]], found: Observed
) -> Iterator[tuple[str, str]]:
    told = "; ".join(f"``{name}``: {kind}" for name, kind in options)
    yield "Options", told or "none"
    read = ", ".join(f"``{one}``" for one in sorted(found.analyses))
    yield "Reads analyses", read or "none"
    kept = ", ".join(f"``{one.__name__}``" for one in getattr(factory, "preserves", ()))
    yield "Preserves analyses", kept or "none"


def _remarks(found: Observed) -> str:
    told = [
        f"``{name}`` ({kind}: {_literal(one.text)})"
        for (kind, name), one in sorted(found.remarks.items())
    ]
    return "; ".join(told) or "none"


def _literal(text: str) -> str:
    """Return a message as reStructuredText that is not interpreted."""
    return re.sub(r"([\\*`|_])", r"\\\1", textwrap.shorten(text, 160))


def _cost(costs: Mapping[str, Any], name: str) -> str:
    figures = costs["microseconds"].get(name)
    if figures is None:
        return "not measured: it needs arguments, or a target"
    return " and ".join(f"{one:.1f}" for one in figures) + " us a node"


def _first_cases() -> Mapping[str, Case]:
    """Return, by the name of a pass, the shortest of the cases that run it alone."""
    found: dict[str, Case] = {}
    for path in sorted(_CASES.rglob("*.txt")):
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
    yield from ("", indented(case.before.text), "", "becomes::", "")
    yield from (indented(case.expected["after"].text), "")
