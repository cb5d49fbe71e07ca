"""The command on a Ray cluster: it runs passes there, and leaves nothing if ended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integrations.cluster.ended_commands import end_command
from tests.integrations.ray.clusters import ROOT, VARIABLES, Cluster

pytestmark = pytest.mark.foreign


def test_the_command_has_it_run_passes(cluster: Cluster, tmp_path: Path):
    path = tmp_path / "a.relay"
    path.write_text("def @main(%x: Tensor[(2), float32]) { add(%x, add(1f, 2f)) }")
    command = [sys.executable, "-m", "parpass", "opt", str(path), "--isolate"]
    ran = subprocess.run(
        [*command, "-p", "FoldConstant", "--executor", cluster.url],
        env={**os.environ, **VARIABLES, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "add(%x, 3f)" in ran.stdout


@pytest.mark.parametrize(
    ("sent", "code"), [("SIGINT", 130), ("SIGTERM", -15), ("SIGKILL", -9)]
)
def test_a_command_that_is_ended_leaves_no_process_on_the_cluster(
    cluster: Cluster, tmp_path: Path, sent: str, code: int
):
    # Ray waits so long for a program that is gone without a word to come back.
    env = {**VARIABLES, "RAY_CLIENT_RECONNECT_GRACE_PERIOD": "1"}
    assert end_command(cluster.url, tmp_path, sent, env) == code
