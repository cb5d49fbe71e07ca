"""Which cluster a URL names, and what connects a process to it, or refuses to."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

import parpass
from parpass.errors import RuntimeUseError
from parpass.runner import open_runner
from tests.integrations.ray.clusters import ROOT, VARIABLES, Cluster
from tests.support.other_processes import unused_port
from tests.support.pooled import pooled
from tests.support.toy_ir import program
from tests.support.toy_passes import Add

pytestmark = [
    pytest.mark.foreign,
    # Threads of Ray's close their connections when they like.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def url_of(text: str) -> Any:
    return import_module("parpass.integrations.ray.ray_session").RayUrl.parse(text)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("ray://head", ("head", 10001, None)),
        ("ray://head:1234?cpus=2", ("head", 1234, 2)),
        ("ray://", ("auto", 10001, None)),
        ("ray://local?cpus=3", ("local", 10001, 3)),
    ],
)
def test_a_url_names_a_cluster(url: str, expected: tuple[str, int, int | None]):
    assert url_of(url) == (url, *expected)


@pytest.mark.parametrize(
    "url", ["ray://a:b", "ray://a?cpu=2", "ray://a?cpus=0", "ray://a/b", "ray://u@a"]
)
def test_a_url_of_another_form_is_refused(url: str):
    with pytest.raises(RuntimeUseError, match=r"expected ray://HOST:10001.*got 'ray"):
        url_of(url)


def test_a_process_that_is_connected_to_none_is_refused():
    ray_executor: Any = import_module("parpass.integrations.ray").RayExecutor
    with pytest.raises(RuntimeUseError, match=r"call ray\.init"):
        ray_executor()


def test_a_cluster_that_does_not_answer_is_named():
    url = f"ray://127.0.0.1:{unused_port()}"
    refused = pytest.raises(RuntimeUseError, match=f"answers at '{url}'.*refused")
    with refused, open_runner(executor=url) as other:
        other.run_sync(program(1, 2), Add(1), context=pooled())


def test_hosts_of_another_version_are_refused(
    url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(parpass, "__version__", "0.0.1")
    refused = pytest.raises(RuntimeUseError, match=r"parpass 0\.0\.1, .* got parpass 0")
    with refused, open_runner(executor=url) as other:
        other.run_sync(program(1, 2), Add(1), context=pooled())


_STATE = """
import faulthandler, os, signal, sys
from parpass.runner import open_runner
from tests.support.pooled import run_pooled
from tests.support.toy_ir import program
from tests.support.toy_passes import Add

def state():
    handler = signal.getsignal(signal.SIGTERM)
    breakpoint_hook = os.environ.get("PYTHONBREAKPOINT")
    faults = faulthandler.is_enabled()
    return handler, sys.excepthook, breakpoint_hook, sys.path[0], faults

before = state()
with open_runner(executor=sys.argv[1]) as runner:
    assert run_pooled(runner, Add(1), program(1, 2)) == program(2, 3)
    assert state() == before, (before, state())
assert state() == before, (before, state())
"""


def test_what_is_the_programs_is_as_it_was_while_it_is_connected_and_after(
    cluster: Cluster,
):
    environment = {**os.environ, **VARIABLES, "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, "-c", _STATE, cluster.url], env=environment, check=True
    )
