"""The cases of case files: what passes make of programs, as text.

`tests/support/cases/files.py` has the format. `--update` writes what cases expect anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cases.files import Case, CaseFileError, read_cases
from tests.support.cases.running import faults_of, message, observe
from tests.support.cases.updates import CASES, UPDATE, ask_for_update


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each case, and of each file that cannot be read."""
    folder = Path(str(metafunc.config.getoption(CASES)))
    found: list[Case | CaseFileError] = []
    names: list[str] = []
    for path in sorted(folder.rglob("*.txt")):
        where = path.relative_to(folder).with_suffix("").as_posix()
        try:
            cases = read_cases(path)
        except CaseFileError as error:
            found.append(error)
            names.append(where)
        else:
            found += cases
            names += [f"{where}: {case.name}" for case in cases]
    metafunc.parametrize("case", found, ids=names)


def test_case(case: Case | CaseFileError, request: pytest.FixtureRequest) -> None:
    if fault := fault_of(case, request):
        pytest.fail(fault, pytrace=False)


def fault_of(case: Case | CaseFileError, request: pytest.FixtureRequest) -> str:
    """Return what is wrong with a case, if anything is; or have its file written."""
    if isinstance(case, CaseFileError):
        return str(case)
    try:
        seen = observe(case)
        if request.config.getoption(UPDATE) and not seen.faults:
            if case.texts != seen.texts:
                ask_for_update(request, case.path, case.name, seen.texts)
            return ""
        faults = faults_of(case, seen)
    except CaseFileError as error:
        return f"{error}\nin case '{case.name}'"
    return message(case, faults) if faults else ""
