"""LibCST's classes as the body of a pass: the versions that were tested."""

from __future__ import annotations

import warnings
from importlib import metadata

import pytest
from libcst import CSTTransformer

from parpass.errors import AdapterWarning
from parpass.integrations.codemod.libcst_codemod import LibCSTCodemod


@pytest.mark.parametrize("version", ["0.4.10", "1.4.0", "1.10.0.dev1", "2.0.0"])
def test_a_version_that_was_not_tested_is_a_warning_that_names_those(
    version: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(metadata, "version", {"libcst": version}.__getitem__)
    with pytest.warns(
        AdapterWarning, match=rf"libcst {version}, .* and 1\.9\.\*: files"
    ):
        LibCSTCodemod(CSTTransformer, {}, None)


@pytest.mark.parametrize("version", ["1.5.0", "1.9.0"])
def test_a_tested_version_is_none(version: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(metadata, "version", {"libcst": version}.__getitem__)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LibCSTCodemod(CSTTransformer, {}, None)
