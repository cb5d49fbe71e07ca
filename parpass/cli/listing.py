"""What `parpass opt --list-passes` prints."""

from __future__ import annotations

import inspect
from importlib import import_module

import click

from parpass.transform import registered_passes


def list_passes() -> str:
    """Return the names of all passes, each with the first line of its docstring."""
    import_module("parpass.relay")  # makes its passes known
    rows = [
        (name, (inspect.getdoc(factory) or "").partition("\n")[0])
        for name, factory in registered_passes().items()
    ]
    formatter = click.HelpFormatter()
    formatter.write_dl(rows)
    return formatter.getvalue()
