"""The modules and files of parpass that PyInstaller cannot see: strings name them.

All of parpass is taken along, and so are the packages that it imports, as far as they
are installed: those of the extras that you have. The IRs, executors and subcommands
that other distributions declare come along with their adapters.
"""

from __future__ import annotations

from PyInstaller.utils.hooks import (
    collect_data_files,
    collect_entry_point,
    collect_submodules,
)

from parpass.entry_points import EXECUTORS, IRS, known_irs

datas = collect_data_files("parpass")
hiddenimports = collect_submodules(
    "parpass", lambda name: not name.startswith("parpass.integrations.pyinstaller")
)
hiddenimports += [ir.adapter for ir in known_irs()]
for group in (IRS, EXECUTORS, "parpass.commands"):
    metadata, modules = collect_entry_point(group)
    datas += metadata
    hiddenimports += modules
