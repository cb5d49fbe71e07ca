"""Runs of the cases of case files: what becomes of a program, and what is wrong."""

from __future__ import annotations

import difflib
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from parpass import tir
from parpass.cli.operations.expectations import collecting_diagnostics
from parpass.diagnostic import headline
from parpass.errors import ParpassError, ParseError, PipelineSyntaxError
from parpass.ir.module import IRModule
from parpass.ir.structural import assert_structural_equal
from parpass.relay.analysis import well_formed
from parpass.relay.expr import Function
from parpass.relay.transform import InferType
from parpass.tir.analysis import function_faults
from parpass.transform import (
    FunctionPass,
    Pass,
    PassContext,
    Sequential,
    parse_pipeline,
    registered_passes,
)
from parpass.transform.passes import FunctionwisePass
from tests.support.cases.files import RESULTS, Case, CaseFileError, Section, ordered
from tests.support.cases.program_texts import program_text, read_program
from tests.support.cases.settings import settings
from tests.support.relay import (
    effects,  # with the operators of which programs here consist
)
from tests.support.relay.meaning import assert_same_meaning
from tests.support.tir.values import assert_same_values

_ = effects
_HIGHEST = 4  # the level at which every pass runs
_Compare = Callable[[IRModule, IRModule], None]
_TYPES = ("inferred", "as written")
_RETURNED = re.compile(r"^(def @.*\)) -> .* \{$", re.MULTILINE)


@dataclass
class Observed:
    """What came of a case.

    Attributes:
        texts: By kind, as in the file.
        faults: What is wrong with it, whatever the file expects.
        after: The program behind the pipeline, with types, if there is one.
    """

    texts: dict[str, str] = field(default_factory=dict[str, str])
    faults: list[str] = field(default_factory=list[str])
    after: IRModule | None = None


def observe(case: Case) -> Observed:
    """Run the pipeline of a case on its program.

    Raises:
        CaseFileError: The case itself is wrong: its program, a pass, an option.
    """
    made, context, setting = _pipeline(case), _context(case), _setting(case)
    types_of = _types(case)
    compare, documented = _comparison(case), _documented(case)
    written = _program(case, case.before)
    seen = Observed()
    with collecting_diagnostics() as said, setting, context:
        try:
            before = types_of(written)
            result = made(before)
            after = seen.after = types_of(result)
        except ParpassError as error:
            shown = getattr(error, "diagnostics", ())
            seen.texts["error"] = _with_newline(f"{type(error).__name__}: {error}")
            _take_down(case, seen, [one for one in said if one not in shown], context)
            return seen
    _take_down(case, seen, said, context)
    if _is_same(made, before, result):
        seen.texts["unchanged"] = ""
    else:
        seen.texts["after"] = program_text(after)
        _check(seen.faults, lambda: _still_well_formed(before, after))
        _check(seen.faults, lambda: compare(before, after))
    if documented is not None:
        shown = [case.before.text, seen.texts.get("after", case.before.text)]
        if not _shows(inspect.getdoc(documented) or "", *shown):
            name = case.value("documented")
            seen.faults.append(
                f"the docstring of {name} does not show these programs, wrapped in "
                "any way, without types behind calls or of what functions return"
            )
    return seen


def run_case(
    case: Case, make_context: Callable[..., PassContext] = PassContext
) -> tuple[IRModule, IRModule]:
    """Return the program of a case, and what its pipeline makes of it.

    Args:
        case: The case.
        make_context: Makes the context of the arguments of `PassContext`.

    Raises:
        CaseFileError: The case itself is wrong.
        ParpassError: The pipeline fails.
    """
    made, context, setting = (
        _pipeline(case),
        _context(case, make_context),
        _setting(case),
    )
    written = _program(case, case.before)
    with collecting_diagnostics(), setting, context:
        before = _types(case)(written)
        return before, made(before)


def faults_of(case: Case, seen: Observed) -> list[str]:
    """Return what is wrong with a case: faults, and how it differs from the file."""
    found = [*seen.faults]
    if not case.expected.keys() & {*RESULTS}:
        found.append(
            "expected one of '--- after', '--- unchanged' and '--- error' behind the "
            "program, got none; --update writes it"
        )
    elif differences := _difference(case.texts, seen.texts):
        found.append(differences)
    if "after" in case.expected and seen.after is not None:
        section = case.expected["after"]
        _check(found, lambda: _is_structurally(case, section, seen))
    return found


def message(case: Case, faults: list[str]) -> str:
    """Return what is said of a case that fails."""
    return "\n".join([f"{case.path}:{case.line}: case '{case.name}'", *faults])


def _difference(expected: Mapping[str, str], got: Mapping[str, str]) -> str:
    sides = [
        [
            line
            for kind in ordered(side)
            for line in (f"--- {kind}", *side[kind].splitlines())
        ]
        for side in (expected, got)
    ]
    old, new = sides
    lines = difflib.unified_diff(old, new, "expected", "got", n=6, lineterm="")
    return "\n".join(lines)


def _is_structurally(case: Case, section: Section, seen: Observed) -> None:
    with collecting_diagnostics():
        expected = _types(case)(_program(case, section))
    assert seen.after is not None
    assert_structural_equal(seen.after, expected, map_free_vars=True)


def _check(faults: list[str], check: Callable[[], None]) -> None:
    try:
        check()
    except CaseFileError:
        raise
    except (AssertionError, ValueError, ParpassError) as error:
        faults.append(str(error))


def _take_down(
    case: Case, seen: Observed, said: list[Any], context: PassContext
) -> None:
    if said:
        text = "".join(_with_newline(headline(one)) for one in said)
        seen.texts["diagnostics"] = text
    if "statistics" in case.expected:
        counted = [
            f"{name} {counter} {total}\n"
            for name, counters in context.statistics.items()
            for counter, total in counters.items()
        ]
        seen.texts["statistics"] = "".join(sorted(counted)) or "nothing\n"


def _with_newline(text: str) -> str:
    return text.rstrip("\n") + "\n"


def _program(case: Case, section: Section) -> IRModule:
    try:
        return read_program(section.text, section.kind)
    except (ParseError, ValueError) as error:
        message = f"expected a program: {error}"
        raise CaseFileError(case.path, section.line, message) from None


def _pipeline(case: Case) -> Sequential:
    try:
        return parse_pipeline(case.value("pipeline"))
    except PipelineSyntaxError as error:
        raise case.fault(str(error), "pipeline") from None


def _context(case: Case, make: Callable[..., PassContext] = PassContext) -> PassContext:
    level = case.value("opt-level", str(_HIGHEST))
    if not level.isdecimal():
        raise case.fault(f"expected a level, got '{level}'", "opt-level")
    config: dict[str, Any] = {}
    for line in case.value("config").splitlines():
        key, equals, value = line.partition("=")
        if not equals:
            raise case.fault(f"expected KEY=VALUE, got '{line}'", "config")
        try:
            config[key] = json.loads(value)
        except ValueError:
            config[key] = value
    disabled = [name.strip() for name in case.value("disabled").split(",") if name]
    try:
        return make(int(level), disabled_pass=disabled, config=config)
    except ParpassError as error:
        raise case.fault(str(error), "config") from None


def _setting(case: Case) -> AbstractContextManager[Any]:
    try:
        return settings(case.value("with"))
    except (ValueError, ParpassError) as error:
        raise case.fault(str(error), "with") from None


def _types(case: Case) -> Callable[[IRModule], IRModule]:
    wanted = case.value("types", _TYPES[0])
    if wanted not in _TYPES:
        raise case.fault(
            f"expected 'inferred' or 'as written', got '{wanted}'", "types"
        )
    return InferType() if wanted == _TYPES[0] else lambda mod: mod


def _documented(case: Case) -> Any:
    name = case.value("documented")
    if name and name not in registered_passes():
        raise case.fault(f"no pass named '{name}'", "documented")
    return registered_passes()[name] if name else None


def _is_same(made: Sequential, before: IRModule, result: IRModule) -> bool:
    """Return whether a pipeline gave what it was given.

    A module pass gives the module; passes on functions give a module of its functions.
    """
    if not any(
        isinstance(one, FunctionPass | FunctionwisePass) for one in _leaves(made)
    ):
        return result is before
    functions = result.functions_by_name
    return list(functions) == list(before.functions_by_name) and all(
        before.functions_by_name[name] is one for name, one in functions.items()
    )


def _leaves(a_pass: Pass | None) -> Iterator[Pass]:
    if isinstance(a_pass, Sequential):
        for one in a_pass.passes:
            yield from _leaves(one)
    elif a_pass is not None:
        yield a_pass


def _still_well_formed(before: IRModule, after: IRModule) -> None:
    if _is_well_formed(before):
        assert _is_well_formed(after), "the program behind it is not well-formed"
    old = _loops(before).values()
    if not any(function_faults(one) for one in old):
        for name, one in _loops(after).items():
            faults = function_faults(one)
            assert not faults, f"function '{name}' is not well-formed: {faults}"


def _is_well_formed(mod: IRModule) -> bool:
    """Return whether each function of Relay is; loops have faults of their own."""
    functions = mod.functions_by_name.values()
    return all(well_formed(one) for one in functions if isinstance(one, Function))


def _loops(mod: IRModule) -> dict[str, tir.PrimFunc]:
    functions = mod.functions_by_name.items()
    return {name: one for name, one in functions if isinstance(one, tir.PrimFunc)}


def _comparison(case: Case) -> _Compare:
    """Return what compares the values of programs, as the case says."""
    wanted = case.value("values", "not compared")
    if wanted == "not compared":
        return _nothing
    kind, *numbers = wanted.split()
    rtol = atol = 0.0
    try:
        if kind == "within":
            rtol, atol = map(float, numbers)
    except ValueError:
        kind = ""
    if kind != "within" and wanted != "same":
        expected = "expected 'same', 'within RTOL ATOL' or 'not compared'"
        raise case.fault(f"{expected}, got '{wanted}'", "values")
    return lambda before, after: _same_values(before, after, rtol, atol)


def _nothing(before: IRModule, after: IRModule) -> None:
    """Compare nothing."""


def _same_values(before: IRModule, after: IRModule, rtol: float, atol: float) -> None:
    assert_same_meaning(before, after, rtol=rtol, atol=atol)
    loops = _loops(after)
    for name, one in _loops(before).items():
        if name in loops:
            assert_same_values(one, loops[name])


def _shows(doc: str, *programs: str) -> bool:
    """Return whether a docstring shows texts of programs, in this order.

    Lines may be wrapped; types of what functions return may be left out.
    """
    doc, at = _in_one_line(doc), 0
    for program in programs:
        short = _RETURNED.sub(r"\1 {", program)
        found = [doc.find(_in_one_line(one), at) for one in (program, short)]
        at = max(found)
        if at < 0:
            return False
    return True


def _in_one_line(text: str) -> str:
    return " ".join(text.split())
