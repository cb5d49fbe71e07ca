"""The snippets of the pages on writing run as they stand, one after the other."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from parpass.runner import Runner
from parpass.transform import PassContext, Sequential, function_pass, register_adapter
from parpass.transform.adapter import keep_inline
from tests.support.docs.steps import snippets
from tests.support.interleaving import interleaved
from tests.support.reducers import reducers_put_back
from tests.support.registering import registering_for_a_while
from tests.support.runner.pooled import run_pooled

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count", "tests"),
    [
        ("failures", 2, 0),
        ("incremental", 4, 0),
        ("with-codemods", 5, 0),
        ("with-dask", 2, 0),
        ("with-opentelemetry", 1, 0),
        ("with-qiskit", 2, 0),
        ("seeing", 8, 0),
        ("writing-a-pass", 9, 3),
        ("writing-an-adapter", 13, 1),
    ],
)
def test_the_snippets_of_the_page_run(
    name: str,
    count: int,
    tests: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # where they write files
    path = DOCS / f"{name}.md"
    assert len([*snippets(path)]) == count
    with registering_for_a_while(), reducers_put_back(), run(path, tmp_path) as names:
        claims = [name for name in names if name.startswith("test_")]
        assert len(claims) == tests
        for claim in claims:
            names[claim]()
        names.get("main", lambda: None)()


@contextlib.contextmanager
def run(path: Path, tmp_path: Path) -> Generator[dict[str, Any]]:
    """Run the snippets of a page, and give the names that they define."""
    names: dict[str, Any] = {"__name__": path.stem.replace("-", "_")}
    files: set[str] = set()
    sys.path.insert(0, str(tmp_path))
    try:
        for one in snippets(path):
            if one.file:  # which a later snippet imports
                files.add(one.file)
                with open(tmp_path / one.file, "a", encoding="utf-8") as written:
                    written.write(one.text)
            else:
                text = "\n" * one.before + one.text
                exec(compile(text, str(path), "exec"), names)
        yield names
    finally:
        sys.path.remove(str(tmp_path))
        for file in files:
            sys.modules.pop(file.removesuffix(".py"), None)


@pytest.mark.slow
def test_several_threads_may_take_what_is_in_the_box_of_the_page(tmp_path: Path):
    path = DOCS / "writing-an-adapter.md"
    with registering_for_a_while(), run(path, tmp_path) as names:
        make, adapter = names["Box"], names["BoxAdapter"]()

        def changed(box: Any) -> str:
            steps = box.take()
            was = ";".join(steps)
            steps[:] = ["changed"]
            return was

        def encoded(box: Any) -> str:
            return adapter.encode_function(box, keep_inline).decode()

        for read in (changed, encoded):

            def calls(
                read: Callable[[Any], str] = read,
            ) -> tuple[Callable[[], str], Callable[[], str]]:
                box = make(["push 1", "mul"])
                return lambda: read(box), lambda: changed(box)

            assert set(interleaved(calls, [path.name])) == {("push 1;mul",) * 2}


@pytest.mark.slow
def test_boxes_that_cannot_be_compared_run_in_workers_as_here(
    runner: Runner, tmp_path: Path
):
    path = DOCS / "writing-an-adapter.md"
    with registering_for_a_while(), run(path, tmp_path) as names:
        make, adapter = names["Box"], names["BoxAdapter"]()
        assert make([], "a") != make([], "a")
        register_adapter(names["Program"], adapter)

        @function_pass(opt_level=0)
        def double(box: Any, _mod: Any, _ctx: PassContext) -> Any:
            return make(box.take() * 2)

        def contents(mod: Any) -> dict[str, bytes]:
            return {name: box.encoded() for name, box in mod.functions.items()}

        given = {f"f{at}": make([f"push {at}"]) for at in range(5)}
        mod, passes = names["Program"](given), Sequential([double, double])
        expected = contents(passes(mod))
        assert expected["f1"] == b"push 1;push 1;push 1;push 1"
        assert contents(run_pooled(runner, passes, mod)) == expected
        assert contents(mod)["f1"] == b"push 1"
        report = runner.last_report
        assert report is not None
        assert not report.here
