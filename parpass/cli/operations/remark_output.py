"""The option `--remarks`: remarks of passes, in a file or on standard error."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import click

from parpass.cli.files.writing import write_or_warn
from parpass.cli.operations.pass_globs import checked_pass_globs
from parpass.errors import ArgumentError
from parpass.instrument import RemarksInstrument
from parpass.instrument.remarks import remark_writer

STDERR = "-"


class RemarkOutput:
    """Collects remarks for a file, or for standard error.

    `patterns` are the values of `--remarks-filter`; `known` are the names of passes.
    """

    def __init__(
        self, output: str, patterns: Sequence[str], known: Collection[str]
    ) -> None:
        self._output = output
        if output != STDERR:
            _check_suffix(output)
        globs = checked_pass_globs(patterns, known, "--remarks-filter")
        self.instrument = RemarksInstrument(globs or ["*"])

    def write(self) -> None:
        """Write the remarks; a file that cannot be written is a warning."""
        instrument, output = self.instrument, self._output
        if output == STDERR:
            click.echo(instrument.render(), nl=False, err=True)
        else:
            text = remark_writer(output)(instrument.remarks)
            write_or_warn(text.encode(), output)


def _check_suffix(output: str) -> None:
    try:
        remark_writer(output)
    except ArgumentError as error:
        message = f"{error}; '-' is for standard error"
        raise click.BadParameter(message, param_hint="'--remarks'") from None
