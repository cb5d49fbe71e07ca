"""The keys of what options leave for commands, in the `meta` of click's context."""

from __future__ import annotations

LOADED = "parpass.cli.loaded"  # the names that were given for --load
