"""`tvm.parser` reads as `relay.parse` does, and finds types."""

from __future__ import annotations

import pytest

import parpass as tvm
from parpass import relay
from parpass.errors import DiagnosticError, ParseError, UntypedError

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  nn.relu(%x)
}
"""


def test_types_are_found_at_once():
    for parse in (tvm.parser.parse, tvm.parser.fromtext):
        mod = parse(TEXT)
        assert mod["main"].body.checked_type == relay.TensorType((2, 3))
        assert mod["main"].ret_type == relay.TensorType((2, 3))
    with pytest.raises(UntypedError):
        _ = relay.parse(TEXT)["main"].body.checked_type


def test_an_expression_has_no_types_yet():
    with pytest.raises(UntypedError):
        _ = tvm.parser.parse_expr("abs(1f)").checked_type


def test_the_module_and_the_table_are_those_of_the_text():
    known = tvm.parser.parse(TEXT.replace("@main", "@relu"))
    table = {"relay.Constant": [relay.const([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])]}
    text = "def @main() { @relu(meta[relay.Constant][0]) }"
    mod = tvm.parser.parse(text, "a.relay", known, table)
    assert mod["main"].ret_type == relay.TensorType((2, 3))
    assert {*mod.sources} == {"from_string", "a.relay"}


@pytest.mark.parametrize("text", ["abs(", "def @main() { add(1, 1f) }", "@f(1)"])
def test_whatever_is_wrong_with_a_program_is_a_diagnostic_error(text: str):
    with pytest.raises(DiagnosticError):
        tvm.parser.parse(text)


def test_a_text_that_cannot_be_read_is_told_apart():
    with pytest.raises(ParseError, match="expected an argument"):
        tvm.parser.parse("abs(")
