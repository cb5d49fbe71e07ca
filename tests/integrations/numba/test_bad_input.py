"""What `warm` and `record` refuse, with Numba installed or not."""

from __future__ import annotations

from importlib import metadata

import pytest
from click.testing import CliRunner

from parpass.cli.group import main
from parpass.errors import AdapterWarning, ArgumentError
from parpass.integrations.numba import WarmError, record, warm


def test_without_numba_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    with pytest.raises(ImportError, match=r"pip install 'parpass\[numba\]'"):
        warm("kernels")
    told = CliRunner().invoke(main, ["numba", "warm", "kernels"])
    assert told.exit_code == 2
    assert "pip install 'parpass[numba]'" in told.output


def test_a_version_that_was_not_tested_is_warned_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metadata, "version", {"numba": "0.70.1"}.__getitem__)
    with (
        pytest.warns(AdapterWarning, match=r"numba 0\.70\.1, .* on 0\.68\.\*: func"),
        pytest.raises((ImportError, WarmError)),
    ):
        warm("no_such_module_of_numbas", workers=0)


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"got 'kernels.py:f'"):
        warm("kernels.py:f")
    with pytest.raises(ArgumentError, match="'__main__', which only runs here"):
        warm("__main__")
    with pytest.raises(ArgumentError, match="got none"):
        warm()
    with pytest.raises(ArgumentError, match="0 or more, or None; got -1"):
        warm("kernels", workers=-1)
    with pytest.raises(ArgumentError, match="'no_such_module' is not imported"):
        record("no_such_module")
