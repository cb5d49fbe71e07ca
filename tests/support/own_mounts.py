"""Processes whose mounts nobody else sees."""

from __future__ import annotations

import os
import subprocess

import pytest


def unsharing() -> list[str]:
    """Return the command that gives a process mounts of its own; fail if it may not.

    Who is not the superuser is one in a namespace of users, where there are such.
    """
    unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["-r"])]
    if subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode:
        pytest.fail("this process may not have mounts of its own; run it as root")
    return unshare
