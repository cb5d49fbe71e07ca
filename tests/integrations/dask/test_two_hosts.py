"""Two hosts that share no files with each other, nor with this process.

Each has a folder of temporary files, shared memory and a working folder of its own, and
does not see those of the others, by mounts of its own. What they are sent is all that
they know.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from parpass.errors import WorkerDiedError
from parpass.runner import Runner, open_runner
from parpass.transform import FunctionPass, Pass, PassContext, PassInfo, Sequential
from tests.support.integrations.clusters import (
    client_of,
    dask,
    executor_of,
    kept,
    scheduler_in,
)
from tests.support.own_mounts import unsharing
from tests.support.runner.large import Doubled, weighted
from tests.support.runner.pooled import pooled, run_pooled
from tests.support.toy.ending import EndIn
from tests.support.toy.ir import Program, program
from tests.support.toy.passes import Add, AddFrom

pytestmark = pytest.mark.stress

ROOT = Path(__file__).parents[3]
# Others' files are not there: shared memory is empty, and so is the caller's folder.
ALONE = """
set -e
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs "$1"
shift
exec "$@"
"""
SITE = """
import os

from parpass.transform import FunctionPass, PassInfo

class Site(FunctionPass):
    '''Adds a setting, and the number of the host, by which all places are.'''

    pass_info = PassInfo(0, "Site")

    def transform_function(self, func, mod, ctx):
        number = os.environ["HOST_NUMBER"]
        places = os.environ["TMPDIR"], os.getcwd(), __file__
        assert all(f"/hosts0/{number}" in place for place in places), places
        level = int(os.environ["SITE_LEVEL"])
        return func.with_values((*func.values, level, int(number)))
"""


def _host_in(folder: Path, number: int, hidden: Path, address: str) -> Any:
    """Have a worker run in a folder; another folder is hidden from it."""
    for name in ("temporary", "modules"):
        Path(folder, name).mkdir(parents=True)
    Path(folder, "modules", "site_passes.py").write_text(SITE)
    return dask(
        "worker",
        *(address, "--nthreads=1", "--no-dashboard", f"--name={number}"),
        f"--local-directory={folder}",
        cwd=folder,
        inside=[*unsharing(), "/bin/sh", "-c", ALONE, "sh", str(hidden)],
        env={
            "HOST_NUMBER": str(number),
            "PYTHONPATH": os.pathsep.join([str(folder / "modules"), str(ROOT)]),
            "SITE_LEVEL": "2",
            "TMPDIR": str(folder / "temporary"),
        },
    )


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a folder of this process's, in which modules are found."""
    folder = tmp_path_factory.mktemp("caller")
    Path(folder, "site_passes.py").write_text(SITE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(folder), *sys.path])
        yield folder
    sys.modules.pop("site_passes", None)


@pytest.fixture(scope="module")
def client(caller: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Give a client of a cluster of two hosts."""
    hosts = tmp_path_factory.mktemp("hosts")
    with contextlib.ExitStack() as stack:
        _, address = stack.enter_context(scheduler_in(hosts))
        for number in (1, 2):
            folder = hosts / str(number)
            stack.enter_context(_host_in(folder, number, caller, address))
        client = stack.enter_context(client_of(address))
        client.wait_for_workers(2)
        yield client


@pytest.fixture(scope="module")
def runner(client: Any) -> Iterator[Runner]:
    """Give a runner on it."""
    with executor_of(client) as executor, open_runner(executor=executor) as runner:
        yield runner


def by_value(table: bytes) -> Pass:
    """Return a pass of a class that can be imported nowhere."""

    class Local(FunctionPass):
        pass_info = PassInfo(0, "Local")

        def transform_function(self, func: Any, mod: Program, ctx: PassContext) -> Any:
            return func.with_values(value + table[value] for value in func.values)

    return Local()


def test_passes_from_modules_and_by_value_run_on_both_hosts_in_places_of_theirs(
    runner: Runner, caller: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SITE_LEVEL", "3")  # it is other than what the hosts have
    here = caller / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    table = bytes(range(100)) * 20_000  # 2 MB, sent apart from all jobs
    steps = [Add(1), AddFrom("f1"), by_value(table)]
    site: Any = import_module("site_passes").Site()
    mod = program(*range(40))
    made = run_pooled(runner, Sequential([*steps, site]), mod)
    expected = Sequential(steps)(mod)
    found = {name: made[name].values for name in made.functions}
    assert {name: values[:-1] for name, values in found.items()} == {
        name: (*expected[name].values, 3) for name in expected.functions
    }
    assert {values[-1] for values in found.values()} == {1, 2}


def test_large_constants_are_brought_and_those_that_are_made_come_back(runner: Runner):
    mod = weighted(6, 400)
    there = run_pooled(runner, Sequential([Doubled(), Doubled()]), mod)
    assert there.astext() == Sequential([Doubled(), Doubled()])(mod).astext()


def test_who_kills_is_blamed_with_its_traceback(runner: Runner):
    with pytest.raises(WorkerDiedError, match="SIGSEGV") as caught:
        runner.run_sync(program(*range(9)), EndIn("segfault", 7), context=pooled())
    assert caught.value.function == "f7"
    assert "in end" in caught.value.traceback


def _left_on_host() -> list[str]:
    places = (Path("/dev/shm"), Path(os.environ["TMPDIR"]))
    return [str(path) for place in places for path in place.glob("parpass-*")]


def test_no_host_sees_a_file_of_this_process_and_none_keeps_one(
    client: Any, caller: Path
):
    with executor_of(client) as executor, open_runner(executor=executor) as runner:
        assert run_pooled(runner, Add(1), program(*range(40))) == Add(1)(
            program(*range(40))
        )
        there = client.run(kept, executor.name).values()
        paths = {path for _, found in there for path in found}
        assert paths
        assert not any(map(os.path.exists, paths))
        seen: dict[str, list[str]] = client.run(os.listdir, str(caller))
        assert list(seen.values()) == [[], []]
        before = client.run(_left_on_host)
    after = client.run(_left_on_host)
    assert {path for found in before.values() for path in found} >= paths
    assert not paths & {path for found in after.values() for path in found}
