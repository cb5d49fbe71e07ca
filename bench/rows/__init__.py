"""The rows, one file for each or for a family, in the order of the table."""

from __future__ import annotations

from bench.fresh import in_fresh_process
from bench.measure import Setting
from bench.rows import (
    cold_start,
    constants,
    fixed_cost,
    growth,
    infrastructure,
    interactive,
    networks,
    per_node,
    siblings,
    skew,
    small_work,
    throughput,
    visitors,
    wire,
)
from bench.table import Line

_MODULES = (
    throughput,
    fixed_cost,
    small_work,
    growth,
    skew,
    constants,
    siblings,
    interactive,
    cold_start,
    infrastructure,
    visitors,
    per_node,
    wire,
    networks,
)

ROWS = {row.name: row for module in _MODULES for row in module.ROWS}


def measured(name: str, setting: Setting) -> list[Line]:
    """Return the lines of a row, measured in a process of its own.

    What goes wrong is a line, too: the other rows are still wanted.
    """
    try:
        return in_fresh_process(_lines, name, setting)
    except Exception as error:  # noqa: BLE001 -- shown in the table, and by exit code 1
        reason = f"{type(error).__name__}: {error}"
        return [Line("measuring failed", "", None, note=reason, is_error=True)]


def _lines(name: str, setting: Setting) -> list[Line]:
    return list(ROWS[name].measure(setting))
