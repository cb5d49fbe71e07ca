"""The rows, one file for each or for a family, in the order of the table."""

from __future__ import annotations

import importlib
import traceback
from importlib.util import find_spec

from bench.fresh import in_fresh_process
from bench.measure import Setting
from bench.table import Line, Row

# By file. They are loaded where they are measured: the processes of one row do without
# what the others need.
_FILES = {
    "throughput": ("heavy", "light", "one"),
    "loops": ("loops", "loop_node"),
    "kernels": ("kernels",),
    "build": ("build", "nine"),
    "inference": ("inference",),
    "operators": ("operators",),
    "packaged": ("packaged",),
    "fixed_cost": ("fixed",),
    "small_work": ("small",),
    "behind": ("behind",),
    "many": ("many",),
    "isolated": ("isolated",),
    "growth": ("growth",),
    "skew": ("skew",),
    "constants": ("constants",),
    "siblings": ("siblings",),
    "interactive": ("interactive",),
    "service": ("service",),
    "cluster": ("dask", "engines"),
    "scale": ("scale",),
    "cold_start": ("cold",),
    "infrastructure": ("infrastructure",),
    "visitors": ("visitors",),
    "per_node": ("node",),
    "per_op": ("op", "collector"),
    "wire": ("wire",),
    "packing": ("packing",),
    "reading": ("reading",),
    "networks": ("networks",),
    "outline": ("outline",),
    "watching": ("watching",),
    "incremental": ("incremental",),
    "rebuild": ("rebuild",),
    "page": ("page",),
    "reporting": ("report",),
    "xdsl_passes": ("xdsl_objects", "xdsl_text", "xdsl_command"),
    "codemods": ("codemods", "codemods_again"),
    "alternatives": ("alternatives",),
    "tvm_build": ("tvm_build",),
    "dsl_compilers": ("gt4py", "dace"),
}

ROWS = tuple(name for names in _FILES.values() for name in names)


def measured(name: str, setting: Setting) -> list[Line]:
    """Return the lines of a row, measured in a process of its own.

    What goes wrong is a line, too: the other rows are still wanted.
    """
    try:
        return in_fresh_process(_lines, name, setting)
    except Exception as error:  # noqa: BLE001 -- shown in the table, and by exit code 1
        traceback.print_exception(error)  # with that of the process
        reason = f"{type(error).__name__}: {error}"
        return [Line("measuring failed", "", None, note=reason, is_error=True)]


def _lines(name: str, setting: Setting) -> list[Line]:
    [file] = [file for file, names in _FILES.items() if name in names]
    rows: tuple[Row, ...] = importlib.import_module(f"bench.rows.{file}").ROWS
    [row] = [row for row in rows if row.name == name]
    if row.needs and find_spec(row.needs) is None:
        return [Line(row.needs, "all", None, note="not installed")]
    return list(row.measure(setting))
