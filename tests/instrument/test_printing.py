import io
from typing import Any

import pytest

from parpass.errors import ArgumentError
from parpass.instrument import (
    PassPrintingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
)
from parpass.transform import PassContext, Sequential
from tests.support.toy_ir import program
from tests.support.toy_passes import Add, Keep

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


def test_print_after_all_prints_what_each_pass_returned():  # 8.13
    text = printed(PrintAfterAll)
    assert text.startswith(
        f"After Running Pass: {ADD}\n{program(2)}\n"
        f"After Running Pass: {KEEP}\n{program(2)}\n"
    )


def test_passes_can_be_chosen_by_name():  # 8.12
    assert printed(PassPrintingInstrument, ["Add", "Nope"], ("Keep",)) == (
        f"Print IR before: Add\n{program(1)}\n\n\n"
        f"Print IR after: Keep\n{program(2)}\n\n\n"
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
