"""IRs and executors of other distributions have the rights of the shipped ones."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import tomllib
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from parpass import entry_points
from parpass.cli import main
from parpass.entry_points import EXECUTORS, IR, IRS, SHIPPED
from parpass.errors import AdapterWarning, ArgumentError, EntryPointError
from parpass.runner import open_runner, run_pipeline, run_pipeline_sync
from parpass.transform import registered_programs
from tests.support.cli.distributions import install, install_words
from tests.support.reducers import reducers_put_back
from tests.support.runner.executors import ThreadExecutor
from tests.support.runner.pooled import pooled
from tests.support.toy.ir import program, values_of
from tests.support.toy.passes import Add

ROOT = Path(__file__).parents[1]


def test_the_shipped_ones_are_those_that_pyproject_declares():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = project["entry-points"]
    assert {group: declared[group] for group in SHIPPED} == SHIPPED


def test_each_shipped_record_has_its_name_and_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {f"parpass[{extra}]" for extra in project["optional-dependencies"]}
    shipped = {name: entry_points.ir_named(name) for name in SHIPPED[IRS]}
    for name, ir in shipped.items():
        assert isinstance(ir, IR)
        assert ir.name == name
        assert ir.requirement in {"", *extras}
    assert set(SHIPPED[EXECUTORS]) <= set(project["optional-dependencies"])


@pytest.mark.slow
def test_a_shipped_adapter_registers_the_name_and_suffixes_of_its_record():
    for ir in entry_points.known_irs():
        if ir.suffixes:
            ir.load_adapter()
            programs = registered_programs()[ir.name]
            assert tuple(programs.suffixes) == tuple(ir.suffixes)


@pytest.mark.slow
def test_what_is_shipped_is_found_without_metadata_and_loads_no_ir():
    begun = (
        "import sys; from parpass.entry_points import ir_named, ir_with_suffix\n"
        "found = ir_with_suffix('.mlir'), ir_named('relay'), ir_with_suffix('.txt')\n"
        "print(*[one and one.name for one in found], *sys.modules)"
    )
    output = subprocess.check_output([sys.executable, "-c", begun], text=True)
    first, second, third, *loaded = output.split()
    assert (first, second, third) == ("mlir", "relay", "None")
    unwanted = {"importlib.metadata", "xdsl", "qiskit", "parpass.relay", "numpy"}
    assert not unwanted & set(loaded)


# Where a distribution is installed for a test.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return tmp_path


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command where a folder has what is installed."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    return subprocess.run(
        [sys.executable, "-m", "parpass", *arguments],
        capture_output=True,
        text=True,
        env=env,
        cwd=folder,
    )


@pytest.mark.slow
def test_an_installed_ir_is_known_by_name_and_suffix_with_its_passes(tmp_path: Path):
    install_words(tmp_path)
    for name, options in (("a.words", []), ("a.txt", ["--ir", "words"])):
        (tmp_path / name).write_text("f yes\ng no\n")
        made = command(tmp_path, "opt", name, *options, "-p", "Shout", "-j0")
        assert (made.stdout, made.stderr) == ("f YES\ng NO\n", "")


@pytest.mark.slow
def test_a_pass_that_its_ir_lacks_is_answered_with_what_that_has(tmp_path: Path):
    install_words(tmp_path)
    (tmp_path / "a.words").write_text("f yes\n")
    refused = command(tmp_path, "opt", "a.words", "-p", "FoldConstnt,Shuot", "-j0")
    assert refused.returncode == 2
    assert "no pass named 'FoldConstnt'; IR 'words' has " in refused.stderr
    assert "did you mean 'Shout'? IR 'words' has " in refused.stderr
    assert (
        "imported: in 'words_ir', which is loaded for it, or by --load"
        in refused.stderr
    )
    assert "FoldConstant'" not in refused.stderr  # Relay's


@pytest.mark.slow
def test_why_a_cache_on_disk_does_not_keep_its_functions_is_told(tmp_path: Path):
    install_words(tmp_path)
    (tmp_path / "a.words").write_text("f yes\ng no\n")
    about = "a.words", "-p", "Shout", "-j0", "--cache=kept", "--explain-speed"
    told = " ".join(command(tmp_path, "opt", *about).stderr.split())
    assert "0 of 2 functions from the cache Not on disk: 2 results; to write" in told
    assert "WordsAdapter needs a method store_codec" in told
    adapter = tmp_path / "words_ir.py"
    adapter.write_text(adapter.read_text().replace("    mutability = None\n", ""))
    told = " ".join(command(tmp_path, "opt", *about).stderr.split())
    assert "WordsAdapter does not say whether functions are changed in place" in told


@pytest.mark.slow
def test_its_passes_are_explained_without_its_name(tmp_path: Path):
    install_words(tmp_path)
    assert command(tmp_path, "explain", "shout").stdout.startswith("Shout: a function")


@pytest.mark.slow
def test_its_passes_run_in_workers_that_preload_what_it_says(tmp_path: Path):
    install_words(tmp_path)
    (tmp_path / "long.words").write_text("f yes\n" + "g " + "n" * 2000)
    made = command(
        tmp_path, "opt", "long.words", "-p", "Shout,Sign", "-j2", "--isolate"
    )
    assert made.stderr == ""
    signed = [line.split() for line in made.stdout.splitlines()]
    assert [line[:2] for line in signed] == [["f", "YES"], ["g", "N" * 2000]]
    alone = command(tmp_path, "opt", "long.words", "-p", "Sign", "-j0").stdout
    here = {line.split()[-1] for line in alone.splitlines()}
    assert len(here) == 1
    assert not here & {line[2] for line in signed}


@pytest.mark.slow
def test_its_failures_are_replayed(tmp_path: Path):
    install_words(tmp_path)
    (tmp_path / "a.words").write_text("f yes\ng no\n")
    failed = command(
        tmp_path, "opt", "a.words", "-p", "Refuse", "-j0", "--reproducer", "r.txt"
    )
    assert "ValueError: no" in failed.stderr
    assert "Reproduced the same failure" in command(tmp_path, "replay", "r.txt").stderr


def test_a_record_is_told_by_suffix_and_found_among_all(folder: Path):
    install_words(folder)
    found = entry_points.ir_named("words")
    assert found is not None
    assert entry_points.ir_with_suffix(".words") is found
    names = [ir.name for ir in entry_points.known_irs()]
    assert names == [*SHIPPED[IRS], "words"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("nowhere_at_all:IR", "needs nowhere_at_all: it is not installed"),
        ("broken_entry:X", "cannot be loaded: ZeroDivisionError: division by zero"),
        ("tests.support.toy.ir:NONE", "cannot be loaded: module"),
        ("tests.support.toy.ir:Fn", "expected an IR record named 'odd'"),
    ],
)
def test_one_that_is_not_fit_is_refused_by_name_and_passed_over_by_suffix(
    folder: Path, value: str, message: str
):
    install(
        folder,
        "odd",
        modules={"broken_entry": "1 / 0"},
        entry_points={"parpass.irs": {"odd": value}},
    )
    with pytest.raises(EntryPointError, match=message) as refused:
        entry_points.ir_named("odd")
    assert str(refused.value).startswith("entry point 'odd' of parpass.irs")
    with pytest.warns(AdapterWarning, match=message):
        assert entry_points.ir_with_suffix(".odd") is None


def test_what_an_adapter_needs_is_named(folder: Path):
    lacking = IR("odd", "lacking_ir", requirement="odd-ir[all]")
    (folder / "lacking_ir.py").write_text("import nowhere_at_all")
    with pytest.raises(EntryPointError) as refused:
        lacking.load_adapter()
    assert str(refused.value) == (
        "IR 'odd' needs nowhere_at_all: install 'odd-ir[all]'"
    )


def test_a_shipped_name_is_not_replaced(folder: Path):
    declared = {"parpass.irs": {"relay": "nowhere_at_all:IR"}}
    install(folder, "odd", modules={}, entry_points=declared)
    found = entry_points.ir_named("relay")
    assert found is not None
    assert found.adapter == "parpass.relay"
    assert [ir.name for ir in entry_points.known_irs()] == [*SHIPPED[IRS]]


# Executors by URL.


class Opening(NamedTuple):
    """An executor that was opened: its URL, and what was asked of it."""

    url: str
    log: list[str]
    closed: threading.Event


_openings: list[Opening] = []


@contextlib.contextmanager
def opened(url: str) -> Generator[ThreadExecutor]:
    """Give an executor; it is closed with the manager."""
    opening = Opening(url, [], threading.Event())
    _openings.append(opening)
    executor = ThreadExecutor(log=opening.log)
    try:
        yield executor
    finally:
        executor.close()
        opening.closed.set()


@pytest.fixture
def openings(folder: Path) -> list[Opening]:
    """Install an executor named 'threads', and give what is opened of it."""
    declared = {"parpass.executors": {"threads": f"{__name__}:opened"}}
    install(folder, "threads", modules={}, entry_points=declared)
    _openings.clear()
    return _openings


def test_a_runner_opens_a_named_executor_once_and_closes_it(openings: list[Opening]):
    with open_runner(executor="threads://a/b?c=d") as runner:
        assert openings == []  # not before it is needed
        for _ in range(2):
            made = runner.run_sync(program(1, 2), Add(), context=pooled())
            assert values_of(made) == {"f0": (2,), "f1": (3,)}
        [opening] = openings
        assert opening.url == "threads://a/b?c=d"
        assert "submit" in opening.log
        assert not opening.closed.is_set()
    assert opening.closed.is_set()


async def test_a_call_under_an_event_loop_closes_its_own(openings: list[Opening]):
    made = await run_pipeline(
        program(1, 2), Add(), executor="threads://", context=pooled()
    )
    assert values_of(made) == {"f0": (2,), "f1": (3,)}
    [opening] = openings
    assert "submit" in opening.log
    assert opening.closed.is_set()


def test_a_runner_that_is_dropped_closes_its_own(openings: list[Opening]):
    runner = open_runner(executor="threads://")
    runner.run_sync(program(1, 2), Add(), context=pooled())
    del runner
    assert openings[0].closed.wait(60)


def test_the_command_opens_it_and_closes_it(openings: list[Opening], tmp_path: Path):
    path = tmp_path / "one.relay"
    path.write_text("def @main(%x: float32) { %x }")
    words = ["opt", str(path), "-p", "InferType", "--isolate", "--quiet"]
    ran = CliRunner().invoke(main, [*words, "--executor", "threads://here"])
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert ran.stdout == CliRunner().invoke(main, [*words, "-j2"]).stdout
    [opening] = openings
    assert opening.url == "threads://here"
    assert "submit" in opening.log
    assert opening.closed.is_set()


@pytest.mark.parametrize("name", ["opt", "bisect"])
def test_the_command_refuses_a_name_that_no_executor_has(name: str, tmp_path: Path):
    path = tmp_path / "one.relay"
    path.write_text("def @main(%x: float32) { %x }")
    words = [name, str(path), "-p", "InferType", "--executor", "dusk://one:8786"]
    ran = CliRunner().invoke(main, words)
    assert ran.exit_code == 2
    text = " ".join(ran.stderr.split())
    assert "'--executor': no executor named 'dusk'; did you mean 'dask'?" in text


def test_a_name_that_no_executor_has_is_refused_with_the_nearest():
    with pytest.raises(EntryPointError) as refused:
        run_pipeline_sync(program(1), Add(), executor="dusk://one:8786")
    assert str(refused.value) == (
        "no executor named 'dusk'; did you mean 'dask'?; there are dask (parpass[dask])"
    )


def test_an_executor_without_its_library_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
):
    for module in [*sys.modules]:
        if module.startswith(("parpass.integrations.dask.", "distributed.")):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "distributed", None)
    missing = pytest.raises(EntryPointError, match=r"install 'parpass\[dask\]'")
    with reducers_put_back(), missing:  # which what is loaded before may register
        run_pipeline_sync(program(1), Add(), executor="dask://one:8786")


@pytest.mark.parametrize("text", ["", "dask", "tcp//one", "://one", "one:8786"])
def test_a_text_that_is_no_url_is_refused_at_once(text: str):
    with pytest.raises(ArgumentError, match="such as 'dask://host:8786', got"):
        open_runner(executor=text)
    with pytest.raises(ArgumentError, match="expected workers or executor, got both"):
        open_runner(executor="dask://one:8786", workers=2)
