"""What the next process finds on disk, after the program was edited or was not."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

RULES = """
import helper
import later
NAMES = {"a", "b", "c"}
def amount(): return helper.AMOUNT
"""
PASSES = """
import rules
from parpass.transform import FunctionPass, PassInfo
class Mine(FunctionPass):
    pass_info = PassInfo(0, "Mine")
    cacheable = True
    def transform_function(self, func, mod, ctx):
        return func.with_attr("amount", rules.amount())
class Late(FunctionPass):
    pass_info = PassInfo(0, "Late")
    cacheable = True
    def transform_function(self, func, mod, ctx):
        import late
        return func.with_attr("amount", late.AMOUNT)
"""
MAIN = """
import sys
from parpass import relay
from parpass.runner import FunctionCache, open_runner
from parpass.transform import PassContext
import passes
from tests.support.runner.pooled import POOLED
MOD = relay.parse('#[version = "0.0.5"] def @main(%x: float32) { %x }')
workers, name, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
if __name__ == "__main__":
    config = POOLED if workers else {}
    with open_runner(workers=workers, cache=FunctionCache(folder)) as runner:
        for _ in range(2):
            with PassContext(config=config):
                made = runner.run_sync(MOD, getattr(passes, name)())
            found = runner.last_report.cache
            why = {*found.uncached.values()}
            print(made["main"].attrs["amount"], found.recalled, *why)
"""


class Clone:
    """A program in a folder, which runs in processes of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        files = {"rules": RULES, "passes": PASSES, "main": MAIN}
        files |= {"helper": "AMOUNT = 1\n", "later": "", "late": "AMOUNT = 1\n"}
        for name, text in files.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        """Write the file of a module."""
        (self.folder / f"{name}.py").write_text(textwrap.dedent(text), "utf-8")

    def run(
        self, name: str = "Mine", workers: int = 0, kept: str = "kept"
    ) -> list[str]:
        """Run a pass twice in a new process; return what the runs print."""
        command = [sys.executable, "main.py", str(workers), name, kept]
        done = subprocess.run(
            command,
            cwd=self.folder,
            check=True,
            capture_output=True,
            text=True,
            env={
                "PYTHONPATH": str(Path(__file__).parents[2]),
                # It is told from its source by whole seconds, and the length.
                "PYTHONDONTWRITEBYTECODE": "1",
            },
        )
        return done.stdout.splitlines()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    return Clone(tmp_path_factory.mktemp("program"))


@pytest.fixture
def clone(written: Clone) -> Clone:
    """Give a program that nobody has edited since the last process."""
    written.run()  # so that its files are older than the next process
    return written


def test_where_nothing_was_edited_all_is_found(clone: Clone):
    assert clone.run(kept="same") == ["1 0", "1 1"]
    assert clone.run(kept="same") == ["1 1", "1 1"]


def test_what_was_edited_is_computed(clone: Clone):
    clone.run(kept="edited")
    clone.write("helper", "AMOUNT = 2\n")
    assert clone.run(kept="edited")[0] == "2 0"
    clone.write("helper", "AMOUNT = 1\n")
    clone.run()
    assert clone.run(kept="edited") == ["1 1", "1 1"]


def test_what_a_module_does_to_a_library_is_its_source(clone: Clone):
    text = "import calendar\ncalendar.January = {}\n"
    clone.write(
        "rules", "import calendar, later\ndef amount(): return calendar.January"
    )
    for number in (1, 2):
        clone.write("later", text.format(number))
        assert clone.run(kept="patched")[0] == f"{number} 0"
    clone.write("rules", RULES)


@pytest.mark.parametrize("workers", [0, 1])
def test_what_is_imported_while_a_pass_runs_is_not_missed(clone: Clone, workers: int):
    for number in (1, 2):
        clone.write("late", f"AMOUNT = {number}\n")
        first, *_ = clone.run("Late", workers, kept=f"late{workers}")
        assert first == (
            f"{number} 0 the code of a pass in its stage imported 'late' while it ran; "
            "import that at the top of a module"
        )
    clone.write("late", "AMOUNT = 1\n")
