"""What the parser says of text that it cannot read, and where it says it is."""

from __future__ import annotations

import pytest

from parpass import relay
from parpass.errors import ParseError
from parpass.relay.text.printer import astext


def errors_of(text: str) -> list[tuple[str, str]]:
    """Return the place and the message of each error."""
    with pytest.raises(ParseError) as caught:
        relay.parse(text, "m.relay")
    return [
        (
            f"{found.span.line}:{found.span.column}-{found.span.end_column}",
            found.message,
        )
        for found in caught.value.diagnostics
    ]


LINES = ["%a = abs(1);", "let %a = abs(1);"]  # as the printer writes them
NO_PLACES_FOR_LINES = [
    "def @f<A, LINE>(%x) { %x }",
    "def @f(%x, LINE: int32) { %x }",
    "def @f(%x) { match (%x) { LINE => 1 } }",
    "def @f(%x) { add(%x, LINE) }",
    "type L[LINE] { C }",
    "type L { LINE }",
    (
        "@f = primfn(a: handle) -> ()\n"
        "  buffers = {A: Buffer(LINE: Pointer(float32), float32, [8], [])}\n"
        "  buffer_map = {a: A} {\n  0;\n}"
    ),
]


def test_lines_of_a_clause_stand_in_braces():
    text = "type L { N } def @f(%x: L) { match (%x) { N => %0 = add(1, 2); %0 } }"
    assert errors_of(text) == [("1:51-52", "expected ',' or '}', got '='")]
    assert relay.parse(text.replace("%0 = add(1, 2); %0", "{ %0 = add(1, 2); %0 }"))


@pytest.mark.parametrize("text", NO_PLACES_FOR_LINES)
@pytest.mark.parametrize("line", LINES)
def test_a_line_stands_for_no_name(text: str, line: str):
    assert errors_of(text.replace("LINE", line))


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("abs(1) abs(2)", "1:8-11", "expected ';' or the end of the text, got 'abs'"),
        ("{\n%0 = 1 2; %0 }", "2:8-9", "expected ';', got '2'"),
        ("{ let 1 = 2; 1 }", "1:7-8", "expected a variable such as %x, got '1'"),
        ("let %x 1; 1", "1:8-9", "expected ':' or '=', got '1'"),
        ("{ 1", "1:4-5", "expected ';' or '}', got the end of the text"),
        ("fn %x { 1 }", "1:4-6", "expected '<', '(' or '[', got '%x'"),
        ("fn (1) { 1 }", "1:5-6", "expected a parameter or ')', got '1'"),
        ("fn (%x: 1) { 1 }", "1:9-10", "expected a type, got '1'"),
        ("abs(;)", "1:5-6", "expected an argument or ')', got ';'"),
        ("abs(1, axis=;)", "1:13-14", "expected a value, got ';'"),
        ("if (1) { 1 } abs", "1:14-17", "expected 'else', got 'abs'"),
        ("1 + * 2", "1:5-6", "expected an expression, got '*'"),
        ('abs(1, s="ab', "1:10-11", "expected a value, got a string that does not end"),
        (
            "def main() { 1 }",
            "1:5-9",
            "expected a function's name such as @main, got 'main'",
        ),
        (
            "#[attrs(1)] 1",
            "1:9-10",
            "expected an attribute such as axis=1 or ')', got '1'",
        ),
        ("{ $ }", "1:3-4", "expected an expression or 'let', got '$'"),
        ("{ 1 /* }", "1:5-6", "expected ';' or '}', got a comment that does not end"),
        (
            "{ 1 /* /* a */ }",
            "1:5-6",
            "expected ';' or '}', got a comment that does not end",
        ),
        ("{ 1; }", "1:6-7", "expected an expression or 'let', got '}'"),
        ("{ 1; %0 = $ }", "1:11-12", "expected an expression, got '$'"),
        ("ad(1)", "1:1-3", "no operator named 'ad'; did you mean 'add'?"),
        (
            "fn (%xs) { xs }",
            "1:12-14",
            "no operator named 'xs'; is the variable '%xs' meant?",
        ),
        (
            "fn (%data) { %dta }",
            "1:14-18",
            "no variable named '%dta'; did you mean '%data'?",
        ),
        (
            "def @main() { @man() }",
            "1:15-19",
            "no function named '@man'; did you mean '@main'?",
        ),
        (
            "fn (%x: float31) { 1 }",
            "1:9-16",
            "no type named 'float31'; did you mean 'float32'",
        ),
        (
            "fn <Elem>(%x: Elm) { 1 }",
            "1:15-18",
            "no type named 'Elm'; did you mean 'Elem'?",
        ),
        (
            "fn (%x: Tensor[(1), flaot32]) { 1 }",
            "1:21-28",
            "no dtype named 'flaot32'; did you mean 'float32'",
        ),
        (
            "fn (%x: Tensor[(-1), int8]) { 1 }",
            "1:17-19",
            "expected a dimension, an int from 0 on or '?', got '-1'",
        ),
        (
            "nn.softmax(1, axs=1)",
            "1:15-18",
            "no attribute of 'nn.softmax' named 'axs'; did you mean 'axis'?",
        ),
        (
            "nn.softmax(1, axis=1f)",
            "1:15-19",
            "attribute 'axis' of 'nn.softmax': expected 'int', got 'float'",
        ),
        ("nn.softmax(1, axis=1, axis=2)", "1:23-27", "attribute 'axis' is given twice"),
        (
            "nn.conv2d(1, 2, padding=[1, 2, 3])",
            "1:17-24",
            (
                "attribute 'padding' of 'nn.conv2d': expected one, two or four ints "
                "from 0 on for padding, got (1, 2, 3)"
            ),
        ),
        ("reshape(1)", "1:1-8", "'reshape' needs the attribute 'newshape'"),
        ("abs(1, axis=1)", "1:8-12", "'abs' has no attributes"),
        ("fn (k=NCHW) { 1 }", "1:7-11", "expected a value; is '\"NCHW\"' meant?"),
        ("fn (%x, %x) { %x }", "1:9-11", "parameter '%x' is given twice"),
        ("fn <A, A>() { 1 }", "1:8-9", "type parameter 'A' is given twice"),
        ("fn (k=1, k=2) { 1 }", "1:10-11", "attribute 'k' is given twice"),
        ("free_var %x; free_var %x; %x", "1:23-25", "'%x' is declared twice"),
        ("%0 = 1; %0 = 2; %0", "1:9-11", "'%0' is defined twice in this block"),
        ("def @f() { 1 }\ndef @f() { 1 }", "2:5-7", "function '@f' is defined twice"),
        ("300i8", "1:1-6", "'300i8' is out of range of int8"),
        ("3000000000i32", "1:1-14", "'3000000000i32' is out of range of int32"),
        (f"{2**63}", "1:1-20", f"'{2**63}' is out of range of int64"),
        ("1e9f16", "1:1-7", "'1e9f16' is out of range of float16"),
        ("1.5i8", "1:1-6", "'1.5i8' is no int, but its suffix is that of one"),
        ("1" * 2000, "1:1-2001", "a number of 2000 digits is too long"),
        (f"fn (k={2**64}) {{ 1 }}", "1:7-27", f"'{2**64}' is no int of 64 bits"),
        ("(1, 2).9999999999", "1:7-18", "a tuple has no field '9999999999'"),
        (r'fn (k="\q") { 1 }', "1:7-11", r"not a JSON string: Invalid \escape"),
        ("fn (k={{}: 1}) { 1 }", "1:7-8", "a mapping cannot be a key of a mapping"),
        (
            f"fn (k={'[' * 101}{']' * 101}) {{ 1 }}",
            "1:7-8",
            "nested deeper than 100 levels",
        ),
        (
            f"fn (%x: {'(' * 101}{',)' * 101}) {{ 1 }}".replace("(,", "(", 1),
            "1:9-10",
            "nested deeper than 100 levels",
        ),
        ("meta[relay.Constant][0]", "1:1-24", "the text has no section of constants"),
        (
            'meta[relay.Constant][1]\n#[metadata]\n{"relay.Constant": []}',
            "1:1-24",
            "the text has 0 constants in its section",
        ),
    ],
)
def test_what_is_wrong_and_where(text: str, place: str, message: str):
    found_place, found = errors_of(text)[0]
    assert found.startswith(message)
    assert found_place == place


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("[]", "in the constants: Expected 'object', got 'array'"),
        ('{"relay.Constant": [', "in the constants: Input data was truncated"),
        ("{x", "in the constants: JSON is malformed: "),
        (
            '{"relay.Constant": [{"dtype": "float32", "shape": [2], "data": "AAAA"}]}',
            "in the constants: constant 0: expected 8 bytes for shape [2] and dtype",
        ),
        (
            '{"relay.Constant": [{"dtype": "O", "shape": [], "data": ""}]}',
            "in the constants: constant 0: no dtype named 'O'",
        ),
        (
            '{"relay.Constant": [{"dtype": "int8", "shape": [-1], "repeat": "AA=="}]}',
            "in the constants: constant 0: expected a shape without negative dim",
        ),
        (
            '{"relay.Constant": [{"dtype": "int8", "shape": []}]}',
            "in the constants: constant 0: expected ",
        ),
    ],
)
def test_a_section_of_constants_that_cannot_be_read(section: str, message: str):
    ((place, found),) = errors_of(f"1\n#[metadata]{section}")
    assert found.startswith(message)
    assert place.startswith("2:12" if "malformed" not in found else "2:13")


def test_a_section_of_constants_of_impossible_shape():
    huge = [2**40] * 3
    entry = f'{{"dtype": "int8", "shape": {huge}, "repeat": "AA=="}}'
    section = f'{{"relay.Constant": [{entry}]}}'
    ((_, found),) = errors_of(f"1\n#[metadata]{section}")
    assert found.startswith("in the constants: constant 0: ")


def test_the_errors_of_all_functions_are_reported_at_once_in_order():
    text = """
    def @f(%x) {
      abs(%y) + ad(%x, mod=1)
    }
    def @g(%x) {
      abs(%x;
      abs(%z)
    }
    def @h() { @k() + @g(1) }
    """
    assert [
        (place, message.partition(";")[0]) for place, message in errors_of(text)
    ] == [
        ("3:11-13", "no variable named '%y'"),
        ("3:17-19", "no operator named 'ad'"),
        ("6:13-14", "expected ')' or ',', got '"),
        ("9:16-18", "no function named '@k'"),
    ]


def test_an_error_shows_its_line():
    with pytest.raises(ParseError) as caught:
        relay.parse("def @main(%x) {\n  abs(%y)\n}", "m.relay")
    assert str(caught.value).splitlines()[-3:] == [
        "  |",
        "2 |   abs(%y)",
        "  |       ^^",
    ]
    assert "m.relay:2:7" in str(caught.value)


def test_the_line_shown_is_the_right_one_whatever_else_ends_lines():
    with pytest.raises(ParseError, match=r"\n3 \| abs\(%y\)\n"):
        relay.parse('fn (k="\x0b\u2028") {\r\n1\f\nabs(%y)\n}')


def test_twenty_errors_are_shown_and_the_others_counted():
    with pytest.raises(ParseError) as caught:
        relay.parse(f"({'%x, ' * 50})")
    assert len(caught.value.diagnostics) == 20
    assert str(caught.value).endswith("... and 30 more errors")


def test_a_syntax_error_in_each_of_many_functions_takes_no_longer_than_twenty():
    with pytest.raises(ParseError) as caught:
        relay.parse("def @f() { ) }\n" * 10_000)
    assert len(caught.value.diagnostics) == 20


def test_text_without_its_constants_says_so():
    text = astext(relay.const([1, 2]), show_meta_data=False)
    assert errors_of(text) == [("1:1-24", "the text has no section of constants")]
    with pytest.raises(ParseError):
        relay.parse_expr(text)


def test_a_module_is_no_expression():
    with pytest.raises(ParseError, match=r"expected an expression, .*, got 'def'"):
        relay.parse_expr("def @main() { 1 }")


def test_words_of_the_grammar_are_no_names():
    assert errors_of("abs(let)") == [
        ("1:5-8", "expected an argument or ')', got 'let'")
    ]
    assert str(relay.parse_expr('fn ("let"=1, lets=2) { 1 }')).startswith(
        'fn ("let"=1, lets=2)'
    )
