"""The option `--remarks`: remarks of passes, in a file or on standard error."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import click

from parpass.cli.operations.pass_globs import checked_pass_globs
from parpass.errors import ArgumentError
from parpass.instrument import RemarksInstrument
from parpass.instrument.remarks import remark_writer

STDERR = "-"


class RemarkOutput:
    """Collects remarks for a file, or for standard error.

    `output` is None if the option was not given; `patterns` are the values of
    `--remarks-filter`; `known` are the names of passes.
    """

    def __init__(
        self, output: str | None, patterns: Sequence[str], known: Collection[str]
    ) -> None:
        if output is None:
            raise click.BadParameter(
                "there are no remarks to filter without --remarks FILE; '-' for FILE "
                "is standard error",
                param_hint="'--remarks-filter'",
            )
        self._output = output
        if output != STDERR:
            _check_suffix(output)
        globs = checked_pass_globs(patterns, known, "--remarks-filter")
        self.instrument = RemarksInstrument(globs or ["*"])

    def write(self) -> None:
        """Write the remarks; a file that cannot be written is a warning."""
        if self._output == STDERR:
            click.echo(self.instrument.render(), nl=False, err=True)
            return
        try:
            self.instrument.write(self._output)
        except OSError as error:
            message = f"Warning: cannot write '{self._output}': {error.strerror}"
            click.echo(f"{message}; remarks are lost", err=True)


def _check_suffix(output: str) -> None:
    try:
        remark_writer(output)
    except ArgumentError as error:
        message = f"{error}; '-' is for standard error"
        raise click.BadParameter(message, param_hint="'--remarks'") from None
