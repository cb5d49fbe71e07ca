"""A tree of parpass without the embedded compiler, integrations and command.

    python -m tests.support.core_alone [OPTIONS OF PYTEST]

runs the tests of the core in one: `transform`, `instrument`, `runner`, `report`,
`errors` and `diagnostic`, on the toy IRs of `tests/support`. The packages are not there
for workers and other processes either. Tests of these packages that are about an IR, an
integration or the command are declared here, with the reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]

TAKEN_AWAY = (
    *("cli", "contrib", "integrations", "ir", "relay", "runtime", "target"),
    *("te", "tir"),
)
PACKAGES = (
    *("tests/transform", "tests/instrument", "tests/runner", "tests/report"),
    *(
        "tests/errors",
        "tests/test_diagnostic.py",
        "tests/test_remark.py",
        "tests/test_fork_safety.py",
    ),
    *("tests/test_atomic_files.py", "tests/test_trusted_paths.py"),
    *("tests/test_object_store_read.py", "tests/testing/test_copies_check.py"),
)

# Files whose imports need what is taken away.
ABOUT_OTHERS = {
    "tests/runner/check/test_checker.py": "contracts that Relay's passes break",
    "tests/runner/driver/test_local.py": "Relay's restoring pass, run here",
    "tests/runner/ipc/test_batch.py": "Relay's nodes in batches",
    "tests/runner/ipc/test_blobs.py": "weights of constants",
    "tests/runner/test_boxes.py": "boxes, also by the command",
    "tests/runner/test_law_after_drift.py": "attributes of operators drift, too",
    "tests/runner/test_law_under_switches.py": "the codec of Relay under switches",
    "tests/runner/test_own_executor.py": "an example that works on Relay",
    "tests/runner/test_registered.py": "what Relay's users register",
    "tests/runner/test_services.py": "examples that serve Relay",
    "tests/runner/test_sharing.py": "sharing of Relay's nodes",
    "tests/runner/test_slower_roads.py": "weights that cannot be sent",
    "tests/runner/test_switches.py": "the codec of Relay under switches",
    "tests/runner/test_what_bodies_see.py": "inferred types in bodies",
    "tests/transform/debug/test_reproducer.py": "reproducers of Relay, replayed",
    "tests/transform/test_adapter_registry.py": "passes of one IR on another's module",
}

# What a copy of the project leaves out: bytecode that another process is about to write
# is under a name that it has for a moment; what is written spares who uses the copy
# compiling all again.
NOT_COPIED = shutil.ignore_patterns(".*", "*.so", "*.pyc.*")


def make_core(folder: Path) -> None:
    """Copy parpass without what is taken away, and its tests, to a folder."""
    for name in ("parpass", "tests", "examples", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=NOT_COPIED)
    shutil.copy(ROOT / "pyproject.toml", folder)
    for package in TAKEN_AWAY:
        shutil.rmtree(folder / "parpass" / package)


def run_tests(
    folder: Path, options: Sequence[str], *, declared: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run pytest in such a folder.

    Args:
        folder: The folder.
        options: Of pytest, and what to run.
        declared: Whether what is declared to need more is left out.
    """
    left_out = [f"--ignore={path}" for path in ABOUT_OTHERS] if declared else []
    env = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, *left_out, *options],
        cwd=folder,
        env=env | {"PYTHONPATH": str(folder)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )


def main() -> int:
    """Run all tests of the core, print what pytest does, and return its exit code."""
    with tempfile.TemporaryDirectory() as made:
        make_core(Path(made))
        result = run_tests(Path(made), [*PACKAGES, *sys.argv[1:]])
    sys.stdout.write(result.stdout)
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
