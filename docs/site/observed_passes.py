"""What passes say and ask for when the text cases are run: remarks and analyses."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parpass.errors import ParpassError
from parpass.instrument import RemarksInstrument
from parpass.remark import Remark
from parpass.transform import PassContext, PassInfo
from tests.support.cases.files import CaseFileError, read_cases
from tests.support.cases.running import run_case


@dataclass
class Observed:
    """What was seen of a pass.

    Attributes:
        remarks: The first remark of each kind and name.
        analyses: The names of the analyses that it asked for.
    """

    remarks: dict[tuple[str, str], Remark] = field(
        default_factory=dict[tuple[str, str], Remark]
    )
    analyses: set[str] = field(default_factory=set[str])


class _Observer(RemarksInstrument):
    """Collects remarks, and knows which pass is running."""

    def __init__(self) -> None:
        super().__init__()
        self.running: list[str] = []

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        self.running.append(info.name)

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        self.running.pop()


class _AskedContext(PassContext):
    """A context that takes down which analyses are asked for."""

    seen: dict[str, Observed]
    observer: _Observer

    def get_analysis(self, of: Callable[..., Any], unit: Any) -> Any:
        if self.observer.running:
            name = self.observer.running[-1]
            self.seen.setdefault(name, Observed()).analyses.add(of.__name__)
        return super().get_analysis(of, unit)


def observed_passes(folder: Path) -> Mapping[str, Observed]:
    """Run all cases of a folder; return what was seen, by the names in `PassInfo`."""
    seen: dict[str, Observed] = {}
    for path in sorted(folder.rglob("*.txt")):
        for case in read_cases(path):
            observer = _Observer()

            def made(*args: Any, by: _Observer = observer, **settings: Any) -> Any:
                context = _AskedContext(*args, **settings, instruments=[by])
                context.seen, context.observer = seen, by
                return context

            # Some cases are of programs that a pass refuses.
            with contextlib.suppress(ParpassError, CaseFileError):
                run_case(case, made)
            for one in observer.remarks:
                remarks = seen.setdefault(one.pass_name, Observed()).remarks
                remarks.setdefault((one.kind.value, one.name), one)
    return seen
