"""What the page on machine code shows works as it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.docs.console import write_small_model
from tests.support.docs.steps import snippets

PAGE = Path(__file__).parents[2] / "docs" / "machine-code.md"


@pytest.mark.slow
def test_the_programs_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    write_small_model(tmp_path / "model.onnx")
    names: dict[str, Any] = {}
    exec("\n".join(one.text for one in snippets(PAGE)), names)
    np.testing.assert_array_equal(names["result"], np.full((2, 3), 4, "float32"))
