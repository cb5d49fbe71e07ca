from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import parpass
from tests.support.toy.ir import program, values_of
from tests.support.toy.passes import Add


def test_a_run_begins_while_another_thread_imports_trio(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setitem(sys.modules, "trio", ModuleType("trio"))
    made = parpass.run_pipeline_sync(program(1), [Add(1)], workers=0)
    assert values_of(made) == {"f0": (2,)}


def test_contextvars_of_parpass_are_known_by_their_names():  # see `restore_context`
    package = Path(parpass.__file__).parent
    named = re.compile(r"ContextVar\(\s*\"(\w[^\"]*)\"")
    texts = [path.read_text() for path in package.rglob("*.py")]
    names = [name for text in texts for name in named.findall(text)]
    assert "parpass_active" in names
    theirs = {name for name in names if not name.startswith("parpass_")}
    assert theirs == {"request_id"}  # the example of `propagate`
