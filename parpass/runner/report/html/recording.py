"""What a run did, recorded for its page: versions of functions, and remarks."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator

from parpass.instrument import PassInstrument
from parpass.remark import Remark
from parpass.runner.report.html.document import Version
from parpass.transform import PassInfo
from parpass.transform.capture.change import FunctionChange

MAX_TEXT_BYTES = 1_000_000_000  # of all versions, before they are deflated


class Recording(PassInstrument):
    """Records what passes change and remark, for `RunReport.to_html`.

    Texts are made in the workers, and kept deflated.

    Attributes:
        remarks: The remarks, in serial order.
        changed: How many functions each pass changed.
        left_out: How many versions were not kept, as there was too much text.
    """

    observes_ir = False

    def __init__(self) -> None:
        self.remarks: list[Remark] = []
        self.changed: Counter[str] = Counter()
        self.left_out = 0
        self._versions: dict[str, list[tuple[str | None, bytes]]] = {}
        self._bytes = 0

    def on_remark(self, info: PassInfo, remark: Remark) -> None:
        """Record a remark."""
        del info
        self.remarks.append(remark)

    def on_function_changed(self, info: PassInfo, change: FunctionChange) -> None:
        """Record the function before, if it was not changed yet, and after."""
        self.changed[info.name] += 1
        versions = self._versions.setdefault(change.function, [])
        if not versions:
            self._keep(versions, None, change.before or "")
        self._keep(versions, info.name, change.after or "")

    def _keep(
        self, versions: list[tuple[str | None, bytes]], after: str | None, text: str
    ) -> None:
        encoded = text.encode(errors="backslashreplace")
        self._bytes += len(encoded)
        if self._bytes > MAX_TEXT_BYTES:
            self.left_out += 1
        else:
            versions.append((after, zlib.compress(encoded, 1)))

    def versions(self, function: str) -> Iterator[Version]:
        """Yield the versions of a function that were kept, the first one first."""
        for after, text in self._versions.get(function, ()):
            yield Version(after, zlib.decompress(text).decode())
