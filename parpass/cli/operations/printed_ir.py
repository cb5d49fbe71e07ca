"""The options `--print-ir-before` and `--print-ir-after`: modules around passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from parpass.instrument import PassInstrument
from parpass.transform import Pass, PassInfo, Sequential
from parpass.transform.name_globs import matches_any_pass
from parpass.transform.passes import flat_passes


class PrintAroundPasses(PassInstrument):
    """Prints the module around passes under MLIR's headers, on standard error.

    `before` and `after` are globs of passes. A Sequential is matched only by its exact
    name: its passes are printed already.
    """

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        self._before, self._after = before, after
        self._sequentials: list[PassInfo] = []

    def add_pipeline(self, pipeline: Pass) -> None:
        """Record the Sequentials in a pipeline that is about to run."""
        self._sequentials += [
            one.info for one in flat_passes(pipeline) if isinstance(one, Sequential)
        ]

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        if self._is_wanted(info, self._before):
            _print_ir("Before", info, mod)

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        if self._is_wanted(info, self._after):
            _print_ir("After", info, mod)

    def run_after_failed_pass(self, mod: Any, info: PassInfo, error: Exception) -> None:
        del error
        if self._is_wanted(info, self._after):
            _print_ir("After", info, mod, " Failed")

    def _is_wanted(self, info: PassInfo, globs: Sequence[str]) -> bool:
        if info in self._sequentials:
            return info.name in globs
        return matches_any_pass(globs, info.name)


def _print_ir(when: str, info: PassInfo, mod: Any, how: str = "") -> None:
    text = str(mod).rstrip("\n")
    header = f"// -----// IR Dump {when} {info.name}{how} //----- //"
    click.echo(f"{header}\n{text}\n", err=True)
