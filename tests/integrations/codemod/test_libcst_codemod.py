"""LibCST's classes as the body of a pass: the versions that were tested."""

from __future__ import annotations

import warnings

import pytest

from parpass.errors import AdapterWarning
from parpass.integrations.codemod.libcst_codemod import check_version


@pytest.mark.parametrize("version", ["0.4.10", "1.4.0", "2.0.0"])
def test_a_version_that_was_not_tested_is_a_warning_that_names_those(version: str):
    with pytest.warns(AdapterWarning, match=rf"libcst {version} .* 1\.5 to 1\.9"):
        check_version(version)


@pytest.mark.parametrize("version", ["1.5.0", "1.9.0", "1.10.0.dev1"])
def test_a_tested_version_is_none(version: str):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_version(version)
