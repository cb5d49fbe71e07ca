"""LibCST's classes as the body of a pass: their metadata, and the versions tested."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import libcst
import pytest
from libcst import CSTTransformer, Name
from libcst.metadata import PositionProvider

from parpass.errors import AdapterWarning
from parpass.integrations.codemod.libcst_codemod import LibCSTCodemod
from parpass.integrations.codemod.source_file import SourceFile


@pytest.mark.parametrize("version", ["0.4.10", "1.4.0", "1.10.0.dev1", "2.0.0"])
def test_a_version_that_was_not_tested_is_a_warning_that_names_those(
    version: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(libcst, "LIBCST_VERSION", version)
    with pytest.warns(
        AdapterWarning, match=rf"libcst .* and 1\.9\.\*, not {version}: files"
    ):
        LibCSTCodemod(CSTTransformer, {}, None)


@pytest.mark.parametrize("version", ["1.5.0", "1.9.0"])
def test_a_tested_version_is_none(version: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(libcst, "LIBCST_VERSION", version)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LibCSTCodemod(CSTTransformer, {}, None)


def test_a_base_class_that_ran_first_takes_no_metadata_from_its_subclasses(
    tmp_path: Path,
):
    class Base(CSTTransformer):
        pass

    class Places(Base):
        METADATA_DEPENDENCIES = (PositionProvider,)

        def leave_Name(  # noqa: N802 -- LibCST's name
            self, original_node: Name, updated_node: Name
        ) -> Name:
            place: Any = self.get_metadata(PositionProvider, original_node)
            return updated_node.with_changes(value=f"line{place.start.line}")

    file = SourceFile(str(tmp_path / "a.py"), b"x\n")
    assert LibCSTCodemod(Base, {}, None)(file).data == b"x\n"
    assert LibCSTCodemod(Places, {}, None)(file).data == b"line1\n"
