from __future__ import annotations

import sys
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
