"""RemarksInstrument: what passes did, missed and found, collected and written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from parpass.errors import ArgumentError
from parpass.errors.core import did_you_mean
from parpass.instrument.protocol import PassInstrument
from parpass.instrument.remark_formats import to_json_lines, to_lines, to_yaml
from parpass.remark import Remark, RemarkKind, remark_kind
from parpass.transform import PassInfo
from parpass.transform.name_globs import matches_any_pass
from parpass.transform.pass_info import checked_names

RemarkWriter = Callable[[Iterable[Remark]], str]

# What is written to a file whose name ends so.
_WRITERS: dict[str, RemarkWriter] = {
    ".yaml": to_yaml,
    ".yml": to_yaml,
    ".jsonl": to_json_lines,
}


def remark_writer(path: str | Path) -> RemarkWriter:
    """Return what makes the text of a file, by its suffix.

    Raises:
        ArgumentError: No format has it.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in _WRITERS:
        raise ArgumentError(
            f"expected a file that ends in .yaml, .yml or .jsonl for remarks, got "
            f"'{path}'{did_you_mean(suffix, _WRITERS) if suffix else ''}"
        )
    return _WRITERS[suffix]


class RemarksInstrument(PassInstrument):
    """Collects the remarks of passes, in the order of a serial run.

    Remarks of several runs accumulate. It does not look at the IR, so it adds no
    barrier.

    Args:
        passes: Globs of the passes whose remarks to collect; by default all. Like
            LLVM's `-pass-remarks=`.
        kinds: The kinds to collect, as `RemarkKind` or by name.

    Attributes:
        remarks: The remarks.

    Raises:
        ArgumentError: A kind is unknown, or `passes` is not a list of names.
    """

    observes_ir = False

    def __init__(
        self,
        passes: Iterable[str] = ("*",),
        kinds: Iterable[RemarkKind | str] = tuple(RemarkKind),
    ) -> None:
        self._patterns = checked_names(passes, "passes")
        self._kinds = frozenset(map(remark_kind, kinds))
        self.remarks: list[Remark] = []

    def on_remark(self, info: PassInfo, remark: Remark) -> None:
        """Keep the remark if it matches."""
        del info
        if remark.kind in self._kinds and matches_any_pass(
            self._patterns, remark.pass_name
        ):
            self.remarks.append(remark)

    def render(self) -> str:
        """Return the remarks as lines, `PLACE: KIND: TEXT [PASS on FUNCTION]`."""
        return to_lines(self.remarks)

    def write(self, path: str | Path) -> None:
        """Write the remarks to a file.

        The format follows from the suffix: YAML in LLVM's format for `.yaml` and `.yml`
        (opt-viewer expects `.opt.yaml`), JSON Lines for `.jsonl`.

        Raises:
            ArgumentError: It has another suffix.
            OSError: It cannot be written.
        """
        text = remark_writer(path)(self.remarks)
        Path(path).write_text(text, encoding="utf-8")
