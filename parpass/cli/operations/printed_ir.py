"""The options `--print-ir-before` and `--print-ir-after`: modules around passes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import click

from parpass.cli.operations.pass_globs import flat_passes
from parpass.errors.core import did_you_mean
from parpass.instrument import PassInstrument
from parpass.transform import Pass, PassInfo, Sequential


class PrintAroundPasses(PassInstrument):
    """Prints the module around passes under MLIR's headers, on standard error.

    `before` and `after` are names of passes; None stands for all but Sequentials, which
    have what is in them printed already.
    """

    def __init__(self, before: set[str] | None, after: set[str] | None) -> None:
        self._before, self._after = before, after
        self._sequentials: list[PassInfo] = []

    def add_pipeline(self, pipeline: Pass) -> None:
        """Take note of the Sequentials in a pipeline that is to be run."""
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

    def _is_wanted(self, info: PassInfo, names: set[str] | None) -> bool:
        if names is None:
            return info not in self._sequentials
        # Pipelines find `tir.UnrollLoop` by the last part of its name as well.
        return not names.isdisjoint({info.name, info.name.rpartition(".")[2]})


def pass_names(
    given: Iterable[str], known: Collection[str], option: str
) -> set[str] | None:
    """Return the names that an option was given, separated by commas; None for all.

    An empty text stands for all passes. `known` are the names of passes.
    """
    found: set[str] = set()
    for names in given:
        if not names:
            return None
        for name in names.split(","):
            if name.strip() not in known:
                raise click.BadParameter(
                    f"no pass named '{name.strip()}'{did_you_mean(name, known)}",
                    param_hint=f"'{option}'",
                )
            found.add(name.strip())
    return found


def _print_ir(when: str, info: PassInfo, mod: Any, how: str = "") -> None:
    text = str(mod).rstrip("\n")
    header = f"// -----// IR Dump {when} {info.name}{how} //----- //"
    click.echo(f"{header}\n{text}\n", err=True)
