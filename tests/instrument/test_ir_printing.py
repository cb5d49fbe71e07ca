import errno
import io
import os
from pathlib import Path
from typing import Any

import pytest

from parpass.errors import ArgumentError
from parpass.instrument import (
    DumpIR,
    PassPrintingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    PrintChanged,
)
from parpass.transform import PassContext, PassInfo, Sequential, module_pass
from tests.support.toy.ir import Program, program
from tests.support.toy.passes import Add, Keep

KEEP = 'transform.PassInfo(opt_level=0, name="Keep", required=())'
ADD = 'transform.PassInfo(opt_level=0, name="Add", required=())'


def printed(make: Any, *arguments: Any) -> str:
    """Return what an instrument prints while two passes run."""
    stream = io.StringIO()
    pipeline = Sequential([Add(), Keep()])
    with PassContext(instruments=[make(*arguments, stream=stream)]):
        pipeline(program(1))
    return stream.getvalue()


def test_print_before_all_prints_what_each_pass_is_given():  # 8.13
    text = printed(PrintBeforeAll)
    assert text.startswith(
        'Before Running Pass: transform.PassInfo(opt_level=0, name="s'
    )
    assert text.endswith(
        f"Before Running Pass: {ADD}\n{program(1)}\n"
        f"Before Running Pass: {KEEP}\n{program(2)}\n"
    )


@pytest.mark.parametrize("arguments", [("Add", []), ([], "Add"), (None, [])])
def test_a_string_is_no_list_of_names(arguments: tuple[Any, Any]):
    with pytest.raises(ArgumentError, match="expected a list of names for print_"):
        PassPrintingInstrument(*arguments)


@pytest.mark.parametrize(
    "instrument",
    [PrintBeforeAll(), PrintAfterAll(), PassPrintingInstrument(["Keep"], [])],
)
def test_they_print_to_standard_output_by_default(
    instrument: Any, capsys: pytest.CaptureFixture[str]
):
    with PassContext(instruments=[instrument]):
        Keep()(program(1))
    assert str(program(1)) in capsys.readouterr().out


def dump(instrument: DumpIR, *passes: Any) -> None:
    with PassContext(instruments=[instrument]):
        Sequential(passes, name="all")(program(1))


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def test_what_file_names_cannot_have_becomes_underscores(tmp_path: Path):  # 8.14
    @module_pass(opt_level=0, name='a<b>:"/\\|?*\0c')
    def odd(mod: Program, ctx: PassContext) -> Program:
        return mod

    dump(DumpIR(tmp_path), odd)
    assert names(tmp_path)[0] == f"000_a_b{9 * '_'}c.txt"


def test_files_may_end_otherwise(tmp_path: Path):
    dump(DumpIR(tmp_path, suffix=".toy"), Keep())
    assert names(tmp_path) == ["000_Keep.toy", "001_all.toy"]


def test_a_file_that_cannot_be_written_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):  # 8.14
    taken = tmp_path / "file"
    taken.write_text("")
    instrument = DumpIR(taken)
    dump(instrument, Keep())
    assert "WARNING: DumpIR: cannot write" in capsys.readouterr().err
    taken.unlink()
    instrument.run_after_pass(program(1), PassInfo(0, "Keep"))
    assert names(taken) == ["002_Keep.txt"]  # the others had their numbers


def test_refresh_deletes_a_directory_of_dumps(tmp_path: Path):  # 8.14
    directory = tmp_path / "dumps"
    dump(DumpIR(directory), Keep(), Keep())
    DumpIR(directory)
    assert len(names(directory)) == 3
    DumpIR(directory, refresh=True)
    assert not directory.exists()
    DumpIR(directory, refresh=True)


@pytest.mark.parametrize("name", ["notes.txt", "000_x.py", "00_x.txt"])
def test_refresh_leaves_a_directory_alone_that_has_other_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
):  # 8.14
    dump(DumpIR(tmp_path), Keep())
    (tmp_path / name).write_text("mine")
    DumpIR(tmp_path, refresh=True)
    assert len(names(tmp_path)) == 3
    assert f"such as '{name}'" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_diff_of_each_changed_function_is_printed():
    assert printed(PrintChanged) == (
        "// Add changed f0\n@@ -1,2 +1,2 @@\n # \n-f0: (1,)\n+f0: (2,)\n\n"
    )
    assert printed(PrintChanged, ["Keep"]) == ""
    assert printed(PrintChanged, ["*"], ["f1*"]) == ""


def test_diffs_are_coloured_on_a_terminal_unless_no_colour_is_wanted(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("TERM", "xterm")
    for unwanted, expected in (("", True), ("1", False)):
        monkeypatch.setenv("NO_COLOR", unwanted)
        stream = Terminal()
        with PassContext(instruments=[PrintChanged(stream=stream)]):
            Add()(program(1))
        assert ("\x1b[32m+f0: (2,)\x1b[0m\n" in stream.getvalue()) == expected


def test_a_stream_that_takes_no_diff_is_one_warning(
    capsys: pytest.CaptureFixture[str],
):
    class Full(io.StringIO):
        def write(self, text: str, /) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    closed = io.StringIO()
    closed.close()
    for stream, why in (
        (Full(), "No space left on device"),
        (closed, "closed file"),
    ):
        with PassContext(instruments=[PrintChanged(stream=stream)]):
            assert Sequential([Add(), Add()])(program(1)) == program(3)
        (warning,) = capsys.readouterr().err.splitlines()
        assert warning.startswith("WARNING: PrintChanged: cannot write a diff: ")
        assert why in warning
