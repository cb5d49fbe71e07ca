"""`run_codemod`: what it makes of files, and what it leaves alone."""

from __future__ import annotations

import inspect
import os
import sys
from importlib import import_module, reload
from pathlib import Path
from typing import Any

import pytest

from parpass import FunctionCache, RunReport
from parpass.errors import ArgumentError
from parpass.integrations.codemod import CodemodPass, SourceFile, Sources, run_codemod
from parpass.limits import LIMITS
from parpass.runner import Runner
from parpass.testing import check_adapter
from tests.conftest import RunnerOf
from tests.support.integrations import codemods
from tests.support.integrations.codemods import (
    Rename,
    Upper,
    contents,
    upper,
    write_files,
)

OLD = {"old": "old"}


@pytest.mark.slow
def test_all_numbers_of_workers_give_the_same(tmp_path: Path, runner_of: RunnerOf):
    latin = "# coding: latin-1\nold = 'é'\n".encode("latin-1")
    files: dict[str, str | bytes] = {
        "a": "old = 1  # kept\n",
        "pkg/__init__": "import old\ndoubtful\n",
        "pkg/same": "same   = 1\n",
        "syntax": "x = 1\ny = (\n",
        "broken": "old = 1\nif old:\n    f( broken )\n",
        "private": "private, old\n",
        "latin": latin,
        "bom": b"\xef\xbb\xbfold = 1\r\n",
        "misspelt": b"# coding: uft-8\nold = 1\n",
        "undecodable": b"old = 1\nx = '\xff'\n",
        "generated": f"# @gen{'erated'}\nold\n",
        "no-text-\udcff": "old = 1\ndoubtful\n",
    }
    seen: list[Any] = []
    for workers in 0, 1, 2:
        folder = write_files(tmp_path / "src", **files)
        result = run_codemod(
            Rename, [folder], root=folder, runner=runner_of(workers), arguments=OLD
        )
        told = {
            path: (one.failure_text(), one.warnings, one.skipped, one.is_written)
            for path, one in result.files.items()
        }
        seen.append((told, contents(folder)))
    assert seen[0] == seen[1] == seen[2]
    told, after = seen[0]
    texts = {Path(path).stem: one for path, one in told.items()}
    assert after["a.py"] == b"new = 1  # kept\n"
    assert after["bom.py"] == b"\xef\xbb\xbfnew = 1\r\n"
    assert after["latin.py"] == latin.replace(b"old", b"new")
    assert after["no-text-\udcff.py"] == b"new = 1\ndoubtful\n"
    assert texts["no-text-\udcff"][1] == ("doubtful in no-text-\udcff",)
    for name in "syntax", "broken", "private", "undecodable", "generated":
        assert after[f"{name}.py"] in (files[name], str(files[name]).encode())
        assert not texts[name][-1]
    src = tmp_path / "src"
    assert texts["__init__"][1] == ("doubtful in pkg",)
    assert texts["private"][2] == "it is private"
    assert texts["generated"][2] == "it is generated"
    assert texts["syntax"][0].startswith(f"{src / 'syntax.py'}:3:1: ParserSyntaxError:")
    assert texts["misspelt"][0].startswith(f"{src / 'misspelt.py'}:1:1: SyntaxError: ")
    assert texts["undecodable"][0].startswith(f"{src / 'undecodable.py'}:2:6: ")
    first, second = texts["broken"][0].split("\n")
    assert first == f"{src / 'broken.py'}:3:8: KeyError: 'broken'"
    assert second.startswith(f"  at {os.path.relpath(codemods.__file__)}:")
    assert second.endswith("in leave_Name")


@pytest.mark.slow
def test_the_adapter_keeps_its_promises():
    texts = {"a": "x = old\n", "b": "y\n", "c": "broken\n", "d\udcff": "old\n"}
    files = {
        name: SourceFile(f"/{name}", text.encode()) for name, text in texts.items()
    }
    steps = [CodemodPass(Rename, {"old": "old"}), CodemodPass(upper)]
    check_adapter(Sources(files), steps)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("codemod", "limit", "cache", "why"),
    [
        (
            codemods.end_process,
            None,
            FunctionCache(),
            "a worker process died (SIGKILL(-9))",
        ),
        (
            codemods.hang,
            0.5,
            None,
            "it took longer than its function_timeout of 0.5 s",
        ),
    ],
    ids=["killed", "hung"],
)
def test_a_codemod_that_is_ended_on_a_file_goes_on_with_the_others(
    tmp_path: Path,
    runner: Runner,
    codemod: Any,
    limit: float | None,
    cache: FunctionCache | None,
    why: str,
):
    folder = write_files(tmp_path, a="a\n", b="victim\n", c="c\n")
    result = run_codemod(
        codemod,
        [folder],
        runner=runner,
        isolated=True,
        function_timeout=limit,
        cache=cache,
    )
    [failed] = result.failed
    assert failed.failure_text() == f"{folder / 'b.py'}: {why}"
    seen = {"a.py": b"a\n# seen\n", "b.py": b"victim\n", "c.py": b"c\n# seen\n"}
    assert contents(folder) == seen


def test_a_function_sees_plain_newlines_and_the_file_keeps_its_own(tmp_path: Path):
    folder = write_files(
        tmp_path,
        dos=b"\xef\xbb\xbfa = 1\r\nb = 2",
        mac=b"a\rb\r",
        mixed=b"a\r\nb\n",
        latin="# coding: latin-1\nx = 'ä'\n".encode("latin-1"),
        wide="# coding: latin-1\nx = 'µ'\n".encode("latin-1"),
        syntax="x = 1\n  y = (\n",
    )
    result = run_codemod(upper, [folder], workers=0)
    after = contents(folder)
    assert after["dos.py"] == b"\xef\xbb\xbfA = 1\r\nB = 2"
    assert after["mac.py"] == b"A\rB\r"
    assert after["mixed.py"] == b"A\r\nB\n"
    assert after["latin.py"] == "# CODING: LATIN-1\nX = 'Ä'\n".encode("latin-1")
    failures = [one.failure_text() for one in result.failed]
    assert [Path(one.split(":")[0]).name for one in failures] == [
        "syntax.py",
        "wide.py",
    ]
    assert f"{folder / 'syntax.py'}:2:" in failures[0]
    assert "UnicodeEncodeError" in failures[1]


def test_what_a_codemod_leaves_alone_keeps_its_bytes(tmp_path: Path):
    files = {"feed": b"\x0cx = 1\n", "mac": b"a\rb\r", "empty": b""}
    folder = write_files(tmp_path, **files)
    assert not run_codemod(Rename, [folder], workers=0, arguments=OLD).changed
    assert contents(folder) == {f"{name}.py": one for name, one in files.items()}


def test_a_plain_transformer_has_its_metadata(tmp_path: Path):
    folder = write_files(tmp_path, a="x = y\n")
    assert run_codemod(Upper, [folder / "a.py"]).changed
    assert contents(folder) == {"a.py": b"X = Y\n"}


def test_a_dry_run_writes_nothing(tmp_path: Path):
    folder = write_files(tmp_path, a="x\n")
    [one] = run_codemod(upper, [folder], dry_run=True).changed
    assert (one.after, one.is_written) == (b"X\n", False)
    assert contents(folder) == {"a.py": b"x\n"}


def test_a_file_that_was_changed_meanwhile_stays_so(tmp_path: Path):
    folder = write_files(tmp_path, a="x\n", b="y\n")

    def edit(text: str) -> str:
        if text == "x\n":
            (folder / "a.py").write_text("edited\n")
        return text.upper()

    result = run_codemod(edit, [folder], workers=0)
    [failed] = result.failed
    assert failed.failure_text().endswith("was changed meanwhile, and stays so")
    assert contents(folder) == {"a.py": b"edited\n", "b.py": b"Y\n"}


def test_a_file_that_cannot_be_written_fails_and_others_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = write_files(tmp_path, a="x\n", b="y\n")
    access = os.access

    def no_access(path: Any, mode: int) -> bool:  # as for others than the superuser
        return access(path, mode) and Path(path).name != "a.py"

    monkeypatch.setattr(os, "access", no_access)
    [failed] = run_codemod(upper, [folder], workers=0).failed
    path = folder / "a.py"
    assert failed.failure_text() == f"{path}: PermissionError: '{path}' is read-only"
    assert contents(folder) == {"a.py": b"x\n", "b.py": b"Y\n"}


def test_an_interrupt_between_two_files_tells_how_many_were_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = write_files(tmp_path, a="x\n", b="y\n", c="z\n")
    replace = os.replace

    def interrupted(source: str, target: str) -> None:
        if Path(target).name == "b.py":
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        run_codemod(upper, [folder], workers=0)
    assert caught.value.__notes__ == ["1 of 3 changed files were written"]
    assert contents(folder) == {"a.py": b"X\n", "b.py": b"y\n", "c.py": b"z\n"}


_CODEMOD = "def change(text):\n    return text.{0}()\nchange.cacheable = '{0}'\n"


@pytest.mark.slow
def test_a_cache_has_what_did_not_change_unless_the_codemod_did(
    tmp_path: Path, runner: Runner, monkeypatch: pytest.MonkeyPatch
):
    folder = write_files(tmp_path / "src", a="x\n", b="Y\n")
    source = tmp_path / "my_change.py"
    source.write_text(_CODEMOD.format("upper"))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = import_module("my_change")

    def run() -> tuple[int, int]:
        reports: list[RunReport] = []
        run_codemod(
            module.change,
            [folder],
            workers=0,
            cache=FunctionCache(tmp_path / "kept"),
            report=reports.append,
        )
        assert reports[0].cache is not None
        return reports[0].cache.recalled, reports[0].cache.computed

    assert run() == (0, 2)
    assert run() == (1, 1)  # the one that changed
    assert run() == (2, 0)
    (folder / "b.py").write_text("y\n")
    assert run() == (1, 1)
    source.write_text(_CODEMOD.format("lower"))
    reload(module)
    assert run() == (0, 2)
    assert contents(folder) == {"a.py": b"x\n", "b.py": b"y\n"}


def test_what_changed_is_formatted(tmp_path: Path):
    folder = write_files(tmp_path, a="x\n", b="Y\n", c="z\n")
    code = "import sys; t = sys.stdin.read(); print('#', t, end=''); sys.exit('Z' in t)"
    result = run_codemod(
        upper, [folder], workers=0, formatter=[sys.executable, "-c", code]
    )
    [failed] = result.failed
    assert "ended with 1" in failed.failure_text()
    assert contents(folder) == {"a.py": b"# X\n", "b.py": b"Y\n", "c.py": b"z\n"}
    result = run_codemod(upper, [folder], workers=0, formatter=["no-such-program"])
    assert "no-such-program" in result.failed[0].failure_text()


@pytest.mark.parametrize(
    ("codemod", "what"),
    [
        (3, "'int' is of type int, no codemod"),
        (int, "'int' is a class, no codemod"),
        (codemods.WholeProject, "wants FullyQualifiedNameProvider"),
    ],
)
def test_what_is_no_codemod_is_refused_before_files_are_read(codemod: Any, what: str):
    with pytest.raises(ArgumentError, match=what):
        run_codemod(codemod, ["no such file"])


def test_a_version_of_python_that_is_none_is_refused(tmp_path: Path):
    with pytest.raises(ArgumentError, match="python_version='new'"):
        run_codemod(Upper, [write_files(tmp_path, a="x")], python_version="new")


def test_results_of_a_class_are_kept_from_its_first_run_on(tmp_path: Path):
    class Fresh(Rename):
        """LibCST has not noted anything on it yet."""

        cacheable = "1"

    folder, cache = write_files(tmp_path, a="x\n", b="y\n"), FunctionCache()
    reports: list[RunReport] = []
    for _ in range(2):
        run_codemod(
            Fresh,
            [folder],
            workers=0,
            cache=cache,
            python_version="3.8",
            report=reports.append,
            arguments=OLD,
        )
    assert [one.cache and one.cache.recalled for one in reports] == [0, 2]


def test_a_codemod_takes_each_limit_of_a_run():
    keywords = inspect.signature(run_codemod).parameters
    assert [keywords[one.name].default for one in LIMITS] == [None] * len(LIMITS)
