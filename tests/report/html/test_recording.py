"""A recording has what runs did, here and in workers, those that failed too."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from parpass.report.html import page
from parpass.report.html.page import Recording, document_of
from parpass.report.progress import Progress
from parpass.report.progress_text import one_line
from parpass.report.timeline import Category
from parpass.runner import Runner
from parpass.transform import Pass, PassContext, PassInfo, Sequential
from tests.support.runner.pooled import POOLED
from tests.support.toy.ir import program
from tests.support.toy.passes import Add, Duplicate, FailOn, Keep, Say
from tests.support.toy.texts import change_of
from tests.support.watching import Blind

PASSES = Sequential([Add(1), Say(), Keep(), Duplicate(), Add(1)])


def recorded(
    runner: Runner, root: Pass, config: dict[str, Any]
) -> tuple[Recording, Any]:
    with PassContext(config=config), runner.record() as recording:
        made = runner.run_sync(program(*range(9)), root)
    return recording, made


def content(recording: Recording) -> Any:
    """Return what a page shows besides times."""
    document = document_of(recording, "a run")
    return (
        [(one.name, one.versions, one.remarks) for one in document.functions],
        [list(one) for one in document.versions],
        document.remarks,
        {one.name: (one.calls, one.functions, one.changed) for one in document.passes},
        document.sources,
    )


@pytest.mark.slow
def test_all_but_the_times_is_that_of_a_serial_run(runner: Runner):
    with Runner(workers=0) as here:
        serial, made = recorded(here, PASSES, {})
    pooled, same = recorded(runner, PASSES, POOLED)
    assert str(made) == str(same)
    assert content(serial) == content(pooled)
    functions, versions, remarks, passes, _ = content(pooled)
    assert [name for name, *_ in functions] == list(made.functions)
    assert [one.after for one in versions[0]] == [None, "Add", "Say", "Add"]
    assert [one.after for one in versions[9]] == ["Duplicate", "Add"]  # f0_copy
    assert len(remarks) == 18
    assert passes["Add"] == (27, 18, 27)
    assert passes["Keep"] == (None, None, 0)  # it sees the whole module
    assert any(name.startswith("worker") for name in pooled.tracks)


def test_a_function_that_no_pass_changed_has_its_text_too():
    with Runner(workers=0) as runner:
        recording, made = recorded(runner, Keep(), {})
    (version,) = recording.versions("f3")
    assert version.after is None
    assert version.text == str(type(made)({"f3": made["f3"]}, made.title, made.sources))


@pytest.mark.slow
@pytest.mark.parametrize("config", [{}, POOLED], ids=["here", "workers"])
def test_a_run_that_fails_is_shown_up_to_its_end(
    runner: Runner, config: dict[str, Any], tmp_path: Path
):
    with (
        pytest.raises(ValueError, match="5"),
        PassContext(config=config),
        runner.record() as recording,
    ):
        runner.run_sync(program(*range(9)), Sequential([Add(1), FailOn(5)]))
    assert (recording.failure or "").startswith("The run failed: ValueError: ")
    assert "in pass 'FailOn', on function 'f4'" in (recording.failure or "")
    assert recording.changed == {"Add": 9}
    recording.write(tmp_path / "report.html")
    shown = (tmp_path / "report.html").read_text(encoding="utf-8")
    data = re.search(r'id="data">(.*?)</script', shown)
    assert data is not None
    assert json.loads(data[1])["failure"] == recording.failure


def test_versions_for_which_there_is_no_room_are_counted_by_their_bytes_and_told(
    monkeypatch: pytest.MonkeyPatch,
):
    texts = ["a" + "äöü" * 40 + str(at) for at in range(3)]
    first, second = (change_of("f", *texts[at : at + 2]) for at in range(2))
    room = sum(len(one or b"") for one in first.deflated)
    for nbytes, left_out, count in (
        (room, 1, "1 version"),
        (room - 1, 2, "2 versions"),
    ):
        monkeypatch.setattr(page, "MAX_TEXT_BYTES", nbytes)
        recording = Recording()
        for change in (first, second):
            recording.on_function_changed(PassInfo(0, "P"), change)
        kept = [one.text for one in recording.versions("f")]
        assert kept == texts[: 3 - left_out]
        told = f"{count} of functions left out: too much text"
        assert told in document_of(recording, "a run").facts


def test_of_too_many_slices_those_of_functions_are_neither_drawn_nor_kept(
    monkeypatch: pytest.MonkeyPatch,
):
    with Runner(workers=0) as runner:
        for most, is_drawn in ((page.MAX_SLICES, True), (30, False)):
            monkeypatch.setattr(page, "MAX_SLICES", most)
            recording, _ = recorded(runner, PASSES, {})
            chart = document_of(recording, "a run").timeline
            assert chart is not None
            assert (max(chart.function) >= 0) is is_drawn
            assert {"Add", "Say", "Keep"} <= {*chart.names}
            kept = [one for own in recording.tracks.values() for one in own]
            assert any(one.category is Category.FUNCTION for one in kept) is is_drawn
            assert recording.calls["Add"] == 27


def test_a_page_tells_how_many_functions_it_has(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(page, "INTERVAL_SECONDS", 0.0)
    with Runner(workers=0) as runner:
        recording, _ = recorded(runner, Add(1), {})
    told: list[Progress] = []
    assert recording.to_html("a run", told.append) == recording.to_html("a run")
    assert [one.done for one in told] == [*range(1, 10)]
    assert one_line(told[-1]).startswith("9 of 9 functions, ")


def test_an_interrupted_run_is_called_cancelled():
    recording = Recording()
    recording.fail(KeyboardInterrupt())
    assert (recording.failure or "").startswith("The run was cancelled: ")


def test_others_watch_on_and_are_alone_afterwards():
    log = Blind()
    with Runner(workers=0) as runner, PassContext(instruments=[log]) as context:
        with runner.record() as recording:
            assert context.instruments == (log, recording)
            runner.run_sync(program(1), Add(1))
        assert context.instruments == (log,)
        assert context.change_watch is None
        runner.run_sync(program(1), Add(2))
    assert [line for line in log.log if line.startswith("before")] == 2 * ["before Add"]
    assert recording.changed == {"Add": 1}


def test_a_report_alone_is_a_page_without_functions():
    with Runner(workers=0) as runner:
        runner.run_sync(program(1), Add(1))
        report = runner.last_report
    assert report is not None
    html = report.to_html("the title")
    assert "<title>the title</title>" in html
    assert '"functions":[]' in html
