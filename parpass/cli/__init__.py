"""The `parpass` command. Everything but click is imported when it is used."""

from parpass.cli.main import main

__all__ = ["main"]
