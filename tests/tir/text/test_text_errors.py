"""What is said of texts of loop programs that cannot be read, and where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import relay
from parpass.errors import ParseError
from tests.support.damaged import damaged, pieces
from tests.support.profiles import examples
from tests.tir.text.loop_texts import HANDWRITTEN, any_modules

HEAD = """@f = primfn(a: handle, n: int32) -> ()
  buffers = {A: Buffer(p: Pointer(float32), float32, [n], [])}
  buffer_map = {a: A} {
"""


def errors_of(text: str) -> list[tuple[str, str]]:
    """Return the place and the message of each error."""
    with pytest.raises(ParseError) as caught:
        relay.parse(text)
    found = caught.value.diagnostics
    return [
        (f"{d.span.line}:{d.span.column}-{d.span.end_column}", d.message) for d in found
    ]


@pytest.mark.parametrize(
    ("line", "columns", "message"),
    [
        ("A[0] = 1f32", "1-2", "expected an operator or ';', got '}'"),
        ("B[0] = 1f32;", "1-2", "no variable named 'B'"),
        ("A[0, 1] = 1f32;", "1-16", "expected 1 indices for buffer 'A', got 2"),
        ("A[0] = m;", "8-9", "no variable named 'm'"),
        (
            "n + 1f32;",
            "1-9",
            (
                "mismatched types: expected operands of one dtype for Add, got "
                "int32 and float32; cast one of them with astype, or use "
                "Python's operators, which do"
            ),
        ),
        ("floordiv(n);", "1-12", "expected 2 operands for 'floordiv', got 1"),
        (
            "floordvi(n, 2);",
            "1-9",
            "no word for a node named 'floordvi'; did you mean 'floordiv'?",
        ),
        (
            "@tir.ex(n, dtype=int32);",
            "1-8",
            "no operator named 'tir.ex'; did you mean 'tir.exp', 'tir.exp2'?",
        ),
        ("@tir.exp(n);", "11-12", "expected an operator or ',', got ')'"),
        ("@g(n, dtype=int32);", "1-3", "no function named '@g'; did you mean '@f'?"),
        ("for (i, 0, 4) { 0; }", "7-8", "expected ':', got ','"),
        (
            'for (i: int32, 0, 4) "paralel" { 0; }',
            "22-31",
            "no kind of loop named 'paralel'; did you mean 'parallel'?",
        ),
        (
            "for (i: int31x, 0, 4) { 0; }",
            "9-15",
            "no type named 'int31x'; did you mean 'int32', 'int16', 'uint32'?",
        ),
        ("{ }", "3-4", "expected a statement, got '}'"),
        ("let i: int32 = 1;", "1-2", "expected a statement, got '}'"),
        ("if (1 < 2) 0;", "12-13", "expected '{', got '0'"),
        ("300i8;", "1-6", "expected a value that int8 has, got 300"),
        ("1e400f64;", "1-9", "the number is out of range of float64"),
        ("ramp(0, 1, 1);", "1-14", "expected 2 to 65535 lanes for Ramp, got 1"),
        ("n[0];", "5-6", "expected '=', got ';'"),
        (
            "(float33*)p[0];",
            "2-9",
            (
                "expected a dtype such as 'int32', 'float32x4', 'bool' or "
                "'handle', got 'float33'"
            ),
        ),
        ("n $ 1;", "3-4", "expected an operator or ';', got '$'"),
        (
            '@tir.exp("a',
            "10-11",
            "expected an expression, got a string that does not end",
        ),
        (
            "while (True) { 0; }",
            "1-20",
            "expected a condition that can change for While, got a constant",
        ),
    ],
)
def test_errors_in_statements(line: str, columns: str, message: str):
    text = f"{HEAD}{line}\n}}\n"
    place = (
        f"5:{columns}" if columns == "1-2" and "got '}'" in message else f"4:{columns}"
    )
    assert errors_of(text) == [(place, message)]


@pytest.mark.parametrize(
    ("head", "columns", "message"),
    [
        (
            "primfn(a: handle, a: int32) -> () { 0; }",
            "24-25",
            "parameter 'a' is given twice",
        ),
        ("primfn(a) -> () { 0; }", "14-15", "expected ':', got ')'"),
        (
            "primfn(1: int32) -> () { 0; }",
            "13-14",
            "expected a parameter such as a: handle, or ')', got '1'",
        ),
        ("primfn() { 0; }", "15-16", "expected '->', got '{'"),
        ("primfn() -> () attr = 1 { 0; }", "28-29", "expected '{', got '1'"),
        (
            "primfn() -> () attr = {1: 2} { 0; }",
            "28-29",
            "expected names for keys in attributes, got 1",
        ),
        ("primfn() -> () vars = {i} { 0; }", "30-31", "expected ':', got '}'"),
        (
            "primfn() -> () buffers = {A: Buffer(p: int32, int32, [1], [])} { 0; }",
            "32-67",
            (
                "expected a pointer to int32 for the data of buffer 'A', got a "
                "variable of type int32"
            ),
        ),
        (
            (
                "primfn() -> () buffers = {A: Buffer(p: Pointer(int32), int32, "
                "[1], [], size=1)} { 0; }"
            ),
            "77-81",
            "expected one of elem_offset, align, offset_factor, type, got 'size'",
        ),
        (
            "primfn(a: handle) -> () buffer_map = {a: a} { 0; }",
            "44-48",
            "expected a variable and the buffer that it is",
        ),
        (
            "primfn() -> Pointr(int8) { 0; }",
            "18-24",
            "no type named 'Pointr'; did you mean 'Pointer'?",
        ),
    ],
)
def test_errors_in_heads(head: str, columns: str, message: str):
    assert errors_of(f"@f = {head}") == [(f"1:{columns}", message)]


def test_errors_of_all_functions_are_told_together():
    bad = "{ x; }\n"
    text = (
        "".join(f"@f{n} = primfn() -> () {bad}" for n in range(3)) + "def @g() { %x }"
    )
    assert [message for _, message in errors_of(text)] == [
        *["no variable named 'x'"] * 3,
        "no variable named '%x'",
    ]


def is_read_or_refused(text: str) -> None:
    try:
        module = relay.parse(text)
    except ParseError as error:
        refused = error
    else:
        printed = module.astext()
        assert relay.parse(printed).astext() == printed
        return
    assert refused.diagnostics
    for found in refused.diagnostics:
        assert 1 <= found.span.line <= text.count("\n") + 1
        assert str(found.span) in str(refused)


def test_the_text_that_is_damaged_is_sound():
    is_read_or_refused(HANDWRITTEN)
    assert len(relay.parse(HANDWRITTEN)) == 3


@given(damaged(pieces(HANDWRITTEN)) | damaged(list(HANDWRITTEN)))
@examples(2.5)
def test_damaged_texts_are_read_or_refused(text: str):
    is_read_or_refused(text)


@given(any_modules().flatmap(lambda mod: damaged(pieces(mod.astext()))))
@examples(0.75)
def test_damaged_prints_are_read_or_refused(text: str):
    is_read_or_refused(text)


WORDS = st.sampled_from(
    [*pieces(HANDWRITTEN), "let", "(let", "IterVar", "reduce", "op"]
)


@given(st.lists(WORDS, max_size=25).map(" ".join))
@examples(1.5)
def test_any_words_are_read_or_refused(text: str):
    is_read_or_refused(f"{HEAD}{text} }}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        *(
            "(",
            "{",
            "!",
            "-",
            "n + ",
            "min(",
            "A[",
            "@f(",
            "(let x: int32 = ",
            "let x: ",
        ),
        *(
            "for (i: int32, 0, 1) {",
            "if (",
            "cast(",
            "attr [",
            "Pointer(",
            "[",
            "seq {",
        ),
        *("let x: int32 = 1;", "allocate(p: Pointer((", "IterVar(x: ", "(int32*)p["),
    ],
)
def test_parts_that_do_not_end_take_time_in_proportion(piece: str):
    for beginning in ("", "@f = primfn(x: ", "@f = primfn() -> () attr = "):
        with pytest.raises(ParseError):
            relay.parse(beginning + piece * 3_000)
    with pytest.raises(ParseError):
        relay.parse(HEAD + piece * 5_000)
