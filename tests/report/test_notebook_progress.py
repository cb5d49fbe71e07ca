"""Progress in a notebook; a page shows it (`tests/docs/test_in_notebooks.py`)."""

from __future__ import annotations

import pytest

from parpass.errors import ArgumentError
from parpass.runner import NotebookProgress


def test_outside_of_a_notebook_it_is_refused_with_what_to_do_instead():
    with pytest.raises(ArgumentError, match=r"NotebookProgress needs .* progress=True"):
        NotebookProgress()
