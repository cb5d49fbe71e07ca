"""The runner's tests where the system offers little, as in slim images and sandboxes.

pytest runs them in a process with mounts of its own, where there is no program in PATH,
and Python has no `os.memfd_create`, as some builds of it have not.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.stress.conftest import Report
from tests.support.own_mounts import unsharing

pytestmark = [pytest.mark.stress, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]

# What starts, ends and kills processes, shares bytes with them, and tidies up.
CHOSEN = (
    "test_api.py",
    "test_budgets.py",
    "test_crash_sites.py",
    "test_isolated.py",
    "test_lacking.py",
    "test_law.py",
    "test_odd_places.py",
    "test_program_end.py",
    "test_runs_at_once.py",
    "test_signals.py",
    "test_slower_roads.py",
    "ipc/test_blobs.py",
    "ipc/test_shared_dir.py",
    "pool/test_worker_pool.py",
    "worker/test_jobs.py",
)

# Python runs this when it starts, and so do the processes that it starts.
AT_START = "import os\nif hasattr(os, 'memfd_create'):\n    del os.memfd_create\n"

SMALL = "mount -t tmpfs -o size=1m tmpfs /dev/shm"
READ_ONLY = "mount -t tmpfs -o ro tmpfs /dev/shm"
# The folder itself is every other program's, too; so `/dev` is made anew without it.
ABSENT = """
mount --rbind /dev "$1"
mount -t tmpfs tmpfs /dev
for name in full null ptmx random tty urandom zero; do
    touch "/dev/$name"
    mount --bind "$1/$name" "/dev/$name"
done
mkdir /dev/pts
mount --rbind "$1/pts" /dev/pts
ln -s /proc/self/fd /dev/fd
test ! -e /dev/shm
"""


@pytest.mark.parametrize(
    ("mounts", "what"),
    [
        pytest.param("", "neither programs in PATH nor memfd", id="plain"),
        pytest.param(SMALL, "1 MB of shared memory besides", id="small"),
        pytest.param(READ_ONLY, "read-only shared memory besides", id="read-only"),
        pytest.param(ABSENT, "no shared memory besides", id="absent"),
    ],
)
def test_runs_go_well_where_the_system_offers_little(
    mounts: str, what: str, tmp_path: Path, report: Report
):
    (tmp_path / "sitecustomize.py").write_text(AT_START)
    (tmp_path / "dev").mkdir()
    tests = [f"tests/runner/{name}" for name in CHOSEN]
    python = ["env", "-u", "PATH", sys.executable, "-m", "pytest", "-q", *tests]
    if mounts in (READ_ONLY, ABSENT):  # then multiprocessing itself has no locks
        python += ["-k", "not children_of_a_body"]
    ended = in_namespace(
        f'set -e; {mounts}\nshift; exec "$@"',
        [str(tmp_path / "dev"), *python, "-p", "no:cacheprovider"],
        {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
    )
    assert ended.returncode == 0, ended.stdout[-20_000:] + ended.stderr
    report(f"the runner's tests with {what}", ended.stdout.splitlines()[-1])


def in_namespace(
    shell: str, arguments: Sequence[str], env: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a shell script whose mounts nobody else sees, if that may be."""
    return subprocess.run(
        [*unsharing(), "/bin/sh", "-c", shell, "sh", *arguments],
        cwd=ROOT,
        env=env,
        text=True,
        capture_output=True,
        check=False,
    )
