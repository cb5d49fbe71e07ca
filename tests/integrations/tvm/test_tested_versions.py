"""TVM that is absent, or of a version that was not tested."""

from __future__ import annotations

import sys

import pytest

from parpass.errors import AdapterWarning, EntryPointError
from parpass.integrations import tvm as ptvm


def test_without_tvm_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "tvm", None)
    for name in [*sys.modules]:
        if name.startswith("parpass.integrations.tvm."):
            monkeypatch.delitem(sys.modules, name)
    with pytest.raises(EntryPointError, match=r"needs tvm: install 'parpass\[tvm\]'"):
        ptvm.__getattr__("build")


@pytest.mark.foreign
def test_an_untested_version_is_told_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch,
):
    from parpass.integrations.tvm import tested_versions

    for package in ("tvm", "tvm_ffi"):
        monkeypatch.setattr(f"{package}.__version__", "0.1.99")
    told = r"apache-tvm-ffi 0.1.14.post1 and 0.1.15.*, not 0.1.99"
    with (
        pytest.warns(AdapterWarning, match=told),
        pytest.warns(AdapterWarning, match="tested with apache-tvm .*not 0.1.99"),
    ):
        tested_versions.check_versions()
