"""The command on a cluster whose connections are encrypted, as the docs show."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integrations.xdsl.test_xdsl_adapter import PROGRAM
from tests.support.integrations.clusters import dask, scheduler_in

pytestmark = pytest.mark.stress

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "with-dask.md"


def shown(what: str) -> list[str]:
    """Return the commands on the page that begin with a word."""
    command = rf"^    \$ ({what} (?:.*\\\n)*.*)$"
    found = re.findall(command, PAGE.read_text(), re.MULTILINE)
    return [re.sub(r"\\\n *", "", command) for command in found]


def opt(path: Path, *arguments: str, env: dict[str, str]) -> str:
    """Return what the command writes."""
    command = [sys.executable, "-m", "parpass", "opt", str(path), "-p", "cse"]
    config = ["--config", "parpass.asking_workers_seconds=0.0"]
    found = subprocess.run(
        [*command, *config, *arguments],
        cwd=path.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return found.stdout


@pytest.mark.skipif(shutil.which("openssl") is None, reason="it makes certificates")
def test_an_encrypted_cluster_is_set_up_and_used_as_the_page_shows(tmp_path: Path):
    for making in shown("openssl"):
        subprocess.run(making, shell=True, cwd=tmp_path, check=True)
    settings = [each.removeprefix("export ") for each in shown("export")]
    env = dict(each.split("=") for each in settings if "TLS" in each)
    files = ["--tls-ca-file=ca.pem", "--tls-cert=me.pem", "--tls-key=me-key.pem"]
    assert all(" ".join(files).replace("=", " ") in each for each in shown("dask")[-2:])
    path = tmp_path / "a.mlir"
    path.write_text(PROGRAM)
    with (
        scheduler_in(tmp_path, "--protocol=tls", *files) as (_, address),
        dask(
            "worker",
            *(address, "--nthreads=1", "--no-dashboard", "--no-nanny", *files),
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT)},
        ),
    ):
        assert address.startswith("tls:")
        there = opt(path, "--dask", address, env=env)
        without = opt(path, "--dask", address, env={})
    assert there == opt(path, "-j0", env={})
    assert "needs certificates: set DASK_DISTRIBUTED__COMM__TLS__CA_FILE" in without
