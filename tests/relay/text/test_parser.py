"""The parser reads what the printer writes, and what people write by hand."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

from examples.real_networks import network_paths
from parpass import parser, relay
from parpass.diagnostic import Span
from parpass.errors import ArgumentError, DiagnosticError, IRTypeError, ParseError
from parpass.ir.module import IRModule
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import FuncType, TensorType, TupleType, TypeVar
from parpass.relay.expr import Expr, Function
from parpass.relay.text.printer import astext
from tests.relay.text.untyped import untyped_exprs, untyped_modules
from tests.support.drawn import DECORATED, MATCHING, MODULES
from tests.support.onnx.models import imported
from tests.support.profiles import examples
from tests.support.relay.deep import DEEPEST, DEPTH, KINDS, ifs
from tests.support.relay.programs import expressions, modules


def same_after_round_trip(module: IRModule) -> None:
    text = astext(module)
    parsed = relay.parse(text)
    assert_structural_equal(parsed, module)
    assert list(parsed.functions_by_name) == list(module.functions_by_name)
    assert astext(parsed) == text


@given(DECORATED)
@examples(2)
def test_odd_names_attributes_types_and_constants_survive(module: IRModule):
    same_after_round_trip(module)


@given(MODULES | MATCHING)
@examples(1.5)
@pytest.mark.slow
def test_a_parsed_module_is_the_printed_one(module: IRModule):
    same_after_round_trip(module)


@given(untyped_modules())
def test_a_program_of_any_shape_is_read_as_it_is_printed(module: IRModule):
    same_after_round_trip(module)


@given(untyped_exprs())
def test_an_expression_of_any_shape_is_read_as_it_is_printed(expr: Expr):
    text = astext(expr)
    parsed = relay.parse_expr(text)
    assert_structural_equal(parsed, expr, map_free_vars=True)
    assert astext(parsed) == text


@pytest.mark.slow
@given(modules(max_functions=2))
@examples(1)
def test_a_typed_module_is_read_as_it_is_printed(module: IRModule):
    typed = relay.transform.InferType()(module)
    assert_structural_equal(parser.parse(astext(typed)), typed)
    assert astext(parser.parse(astext(typed))) == astext(typed)


VALUES = [
    *("ref(%x)", "ref_read(%r)", "ref_write(%r, %x)", "Nil", "Cons(%x, Nil)", "@g(%x)"),
    *("@g", "if (True) { %x } else { %x }", "fn (%p: float32) { %p }", "(%x, %x)"),
    *(
        "(%x, %x).0",
        "add(%x, %x)",
        "%x",
        "-%x",
        "%x + %x",
        "%f(%x)",
        "%f(%f(%x))",
        "()",
    ),
    *(
        "match (Nil) { Nil => 0f, Cons(%h, %t) => 1f }",
        "(let %q = 1f; %q)",
        "%f<int8>(%x)",
    ),
    *(
        "add(%x, %x) /* ty=float32 */",
        "(let %q = %f(1f); %q)",
        "(%f(%x),)",
        "Nil<int8>()",
    ),
]
PLACES = [
    *("let %%a = %s; %%x", "negative((let %%a = %s; %%x))", "{ let %%a = %s; %%x }"),
    *("(let %%a = %s; %%x)", "(let %%a: float32 = %s; %%x)", "((let %%a = %s; %%x),)"),
    *(
        "%%f(%%x, (let %%a = %s; %%x))",
        "(let %%a = %s; %%b)(%%x)",
        "(let %%a = %s; %%x).0",
    ),
    *(
        "if ((let %%a = %s; %%x)) { %%x } else { %%x }",
        "match ((let %%a = %s; %%x)) { }",
    ),
    *("let %%b = (let %%a = %s; %%a); %%b", "(let %%a = %s; let %%b = %%f(%%a); %%b)"),
]


@pytest.mark.parametrize("value", VALUES)
def test_a_let_of_any_value_may_stand_anywhere(value: str):
    text = "type L { Nil, Cons(float32, L) }\ndef @g(%x) { %x }\n"
    for number, place in enumerate(PLACES):
        text += f"def @f{number}(%x, %r, %f, %b) {{ {place % value} }}\n"
    same_after_round_trip(relay.parse(text))


@pytest.mark.slow
@given(expressions())
@examples(1.5)
def test_a_parsed_expression_is_the_printed_one(expr: Expr):
    text = astext(expr)
    parsed = relay.parse_expr(text)
    assert_structural_equal(parsed, expr, map_free_vars=True)
    assert astext(parsed) == text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "depth"),
    [
        pytest.param(ifs, DEEPEST, marks=pytest.mark.stress),
        *(pytest.param(*kind.values, DEPTH // 2, marks=kind.marks) for kind in KINDS),
    ],
)
def test_any_depth_is_parsed(kind: Callable[[int], Expr], depth: int):
    expr = kind(depth)
    parsed = relay.parse_expr(astext(expr))
    assert_structural_equal(parsed, expr, map_free_vars=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["squeezenet", "shufflenet"], id="small"),
        pytest.param(sorted(network_paths()), id="all", marks=pytest.mark.stress),
    ],
)
def test_networks_survive(names: list[str]):
    same_after_round_trip(imported([network_paths()[name] for name in names]))


@pytest.mark.parametrize("count", [1, 1000])
def test_shared_lines_are_shared_nodes(count: int):
    lines = "\n".join(f"%{at + 1} = add(%{at}, %{at});" for at in range(count))
    body = relay.parse_expr(f"free_var %0;\n{lines}\n%{count}")
    while isinstance(body, relay.Call):
        assert body.args[0] is body.args[1]
        body = body.args[0]
    assert isinstance(body, relay.Var)


def same(text: str, other: str) -> None:
    """Check that two expressions are equal; the first may use %x, %y and %c."""
    declared = "free_var %x; free_var %y; free_var %c;"
    assert_structural_equal(
        relay.parse_expr(declared + text),
        relay.parse_expr(declared + other),
        map_free_vars=True,
    )


@pytest.mark.parametrize(
    ("infix", "calls"),
    [
        ("%x + %y * 2f", "add(%x, multiply(%y, 2f))"),
        ("%x - %y - 1", "subtract(subtract(%x, %y), 1)"),
        ("(%x - %y) / %c", "divide(subtract(%x, %y), %c)"),
        ("%x -1", "subtract(%x, 1)"),
        ("%x * -1", "multiply(%x, -1)"),
        ("%x - - %y", "subtract(%x, negative(%y))"),
        ("-%x.0 * 2", "multiply(negative(%x.0), 2)"),
        ("- 2", "negative(2)"),
        ("--%x + 1", "add(negative(negative(%x)), 1)"),
        ("%x + 1 <= %y == %c", "equal(less_equal(add(%x, 1), %y), %c)"),
        ("%x < %y", "less(%x, %y)"),
        ("%x < (%y)", "less(%x, %y)"),
        ("%x > %y", "greater(%x, %y)"),
        ("%x >= %y != %c", "not_equal(greater_equal(%x, %y), %c)"),
        ("%x == %y < %c", "equal(%x, less(%y, %c))"),
        ("%x < %y != %c == 1", "equal(not_equal(less(%x, %y), %c), 1)"),
        ("add(%x + 1, -%y)", "add(add(%x, 1), negative(%y))"),
    ],
)
def test_infix_operators_have_the_usual_precedence(infix: str, calls: str):
    same(infix, calls)


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("add(%x, %y,)", "add(%x, %y)"),
        ("(%x, %y,)", "(%x, %y)"),
        ("((%x))", "%x"),
        ("%x /* a * / comment **/ .0 // the end", "%x.0"),
        ("%sum = add(%x, %y); %sum", "add(%x, %y)"),
        ("nn.softmax(%x, axis=-1)", "nn.softmax(%x)"),
        ('cast(%x, dtype = "int8")', 'cast(%x, dtype="int8")'),
        ("1.5", "1.5f"),
        ("2f32", "2f"),
        ("2.0f64", "2f64"),
        ("(%x, %y).1", "(%x, %y).1"),
        ("if (%c) { %x } else { %y }", "if (%c) {\n%x\n} else {\n%y\n}"),
        ("{ %x }", "%x"),
        ("(let %a = 1; %x = %a; %x)", "{ let %a = 1; %a }"),
        ("abs(fn () { %x })", "%0 = fn () { %x }; abs(%0)"),
        (
            "(if (%c) { 1 } else { %x }, { 2 })",
            "%0 = if (%c) { 1 } else { %x }; (%0, 2)",
        ),
        ("fn (%z) { %z }(%x)", "%0 = fn (%z) { %z }; %0(%x)"),
        ("%x.1.0", "(%x.1).0"),
    ],
)
def test_what_people_write(written: str, printed: str):
    same(written, printed)


def test_attributes_have_all_forms_that_builders_take():
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    written = "free_var %x; free_var %w; nn.conv2d(%x, %w, padding=[1, 2], strides=2)"
    parsed, built = (
        relay.parse_expr(written),
        relay.nn.conv2d(x, w, padding=[1, 2], strides=2),
    )
    assert isinstance(parsed, relay.Call)
    assert parsed.attrs == built.attrs
    parsed = relay.parse_expr('free_var %x; cast(%x, dtype="float")')
    assert isinstance(parsed, relay.Call)
    assert parsed.attrs == relay.cast(x, "float").attrs


def test_attributes_that_no_builder_makes_are_read_as_they_are():
    parsed = relay.parse_expr("free_var %x; clip(%x, a_min=2f, a_max=1f)")
    assert isinstance(parsed, relay.Call)
    assert (parsed.attrs.a_min, parsed.attrs.a_max) == (2, 1)


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("/* a /* b */ c */ 1", "1"),
        ("/* /* /* */*/ // */ 1 // /* 2", "1"),
        ('abs(1, k="/* a", l="*/")', None),
        ("--10", "10"),
        ("---10", "-10"),
        ("- -10", "negative(-10)"),
        ("2147483648", "2147483648i64"),
        ("-2147483648", "-2147483648"),
        ("9223372036854775807", "9223372036854775807i64"),
        ("(); (1); 2", "let %_ = ();\nlet %__1 = 1;\n2"),
        ("%0 = 1; %0; let %x = 2; %x", "let %_ = 1;\nlet %x = 2;\n%x"),
        ("fn (%x: int8x4, %y: Tensor[(1), uint1x4]) { %x; %y }", None),
        ("if (True) { 1; 2 } else { let %a = 1; %a; %a }", None),
    ],
)
def test_comments_signs_and_sequences(written: str, printed: str | None):
    if "k=" in written:
        written = written.replace("abs", "@f")
    parsed = relay.parse_expr(written)
    if printed is not None:
        assert str(parsed) == printed
    assert_structural_equal(relay.parse_expr(parsed.astext()), parsed)


def test_uint1_is_bool():
    var = relay.parse_expr("free_var %x: uint1; %x")
    assert isinstance(var, relay.Var)
    assert var.type_annotation == TensorType((), "uint1") == TensorType((), "bool")


@pytest.mark.parametrize("dtype", ["int8x0", "int8x1", "int8x04", "int8x99999", "x4"])
def test_a_dtype_of_vectors_has_lanes(dtype: str):
    with pytest.raises(ParseError, match="no type named"):
        relay.parse_expr(f"free_var %x: {dtype}; %x")
    with pytest.raises(IRTypeError, match="no dtype named"):
        TensorType((), dtype)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "/*" * 10_000 + "*/" * 10_000 + "1",
        "-" * 20_000 + "%x",
        "1; " * 20_000 + "1",
        "/* /* */ */" * 10_000 + "1",
        '%0 = f("a" /* ty=b */ ' * 4_000,
    ],
)
def test_long_texts_take_no_more_than_their_length(text: str):
    with contextlib.suppress(ParseError):
        relay.parse_expr(f"free_var %x; {text}")


def test_a_text_may_call_functions_of_a_module_that_stays_as_it_is():
    known = relay.parse("def @f(%x) { %x }\ndef @g(%x) { @f(%x) }", "known")
    parsed = relay.parse("def @main() { @f(1) }\ndef @g() { 2 }", "new", known)
    assert [*parsed.functions_by_name] == ["f", "g", "main"]
    assert parsed["main"].body.op is known.get_global_var("f")
    assert parsed["f"] is known["f"]
    assert str(parsed["g"].body) == "2"
    assert [*known.functions_by_name] == ["f", "g"]
    assert {*parsed.sources} == {"known", "new"}
    assert "main" in relay.parse("@f(2)", init_module=known)
    with pytest.raises(ParseError, match="no function named '@h'"):
        relay.parse("@h(2)", init_module=known)


def test_a_text_may_refer_to_constants_of_a_table():
    section = '\n#[metadata]\n{"relay.Constant": [{"dtype": "int8", "shape": [2], '
    section += '"repeat": "AQ=="}]}'
    given = relay.const(np.ones(3, "float32"))
    text = f"(meta[relay.Constant][0], meta[relay.Constant][1]){section}"
    first, second = relay.parse(text, init_meta_table={"relay.Constant": [given]})[
        "main"
    ].body.fields
    assert first.data.dtype == "int8"
    assert second.data is given.data
    whole = {"relay.Constant": [given.data]}
    alone = relay.parse("meta[relay.Constant][0]", init_meta_table=whole)
    assert alone["main"].body.data is given.data
    with pytest.raises(ArgumentError, match="got something under 'SEScope'"):
        relay.parse("1", init_meta_table={"SEScope": []})
    with pytest.raises(ArgumentError, match="got int"):
        relay.parse("1", init_meta_table={"relay.Constant": [1]})


def test_a_handwritten_module():
    module = relay.fromtext(
        """
        #[version = "0.0.5"]
        def @main(%x: Tensor[(1, 3, 8, 8), float32], %w) -> float32 {
          let %y: Tensor[(1, ?), float32] =
            nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=16) /* ty=Tensor */;
          @twice(%y) * 0.5f
        }

        def @twice(%x: Tensor[(?, ?), float32]) { %x + %x }  // used above
        """
    )
    assert str(module) == textwrap.dedent(
        """\
        def @main(%x: Tensor[(1, 3, 8, 8), float32], %w) -> float32 {
          let %y: Tensor[(1, ?), float32] = \
nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=16);
          %0 = @twice(%y);
          multiply(%0, 0.5f)
        }

        def @twice(%x: Tensor[(?, ?), float32]) {
          add(%x, %x)
        }"""
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("float32", TensorType((), "float32")),
        ("int", TensorType((), "int32")),
        ("Tensor[(3), float]", TensorType((3,))),
        ("Tensor[(3), int8]", TensorType((3,), "int8")),
        ("Tensor[(1, ?), bool]", TensorType((1, relay.Any()), "bool")),
        ("Tensor[(), bfloat16]", TensorType((), "bfloat16")),
        ("()", TupleType(())),
        ("(int8,)", TupleType((TensorType((), "int8"),))),
        ("(int8, ())", TupleType((TensorType((), "int8"), TupleType(())))),
        ("(int8)", TensorType((), "int8")),
        (
            "fn <A>(A, int8) -> fn (A) -> ()",
            FuncType(
                (TypeVar("A"), TensorType((), "int8")),
                FuncType((TypeVar("A"),), TupleType(())),
                (TypeVar("A"),),
            ),
        ),
    ],
)
def test_types(text: str, expected: relay.Type):
    function = relay.parse_expr(f"fn (%x: {text}) {{ %x }}")
    assert isinstance(function, Function)
    assert function.params[0].type_annotation == expected


def test_an_inner_name_hides_an_outer_one_until_its_scope_ends():
    text = "fn (%x) { %0 = fn (%x) { let %x = (%x,); %x }; (%0, %x) }"
    outer = relay.parse_expr(text)
    assert isinstance(outer, Function)
    assert isinstance(outer.body, relay.Tuple)
    inner, x = outer.body.fields
    assert x is outer.params[0]
    assert isinstance(inner, Function)
    assert isinstance(inner.body, relay.Let)
    assert isinstance(inner.body.value, relay.Tuple)
    assert inner.body.value.fields == inner.params
    assert inner.body.body is inner.body.var


def test_a_name_is_one_global_variable():
    module = relay.parse("def @f() { (@g, @g, @f) }\ndef @g() { @f() }")
    body = module["f"].body
    assert isinstance(body, relay.Tuple)
    names = module.global_vars_by_name
    assert body.fields == (names["g"], names["g"], names["f"])


def test_an_expression_becomes_a_module_of_its_free_variables():
    module = relay.parse("free_var %x: int8; %x + 1i8")
    assert str(module) == "def @main(%x: int8) {\n  add(%x, 1i8)\n}"
    assert str(relay.parse("")) == ""


def test_every_expression_has_its_span():
    text = "fn (%x) {\n  %0 = add(%x,\n    1 + %x);\n  let %y = %0.1;\n  (%y, -%0)\n}"
    function = relay.parse_expr(text, "a.relay")
    assert isinstance(function, Function)
    let = function.body
    assert isinstance(let, relay.Let)
    assert isinstance(let.value, relay.TupleGetItem)
    call, pair = let.value.tuple_value, let.body
    assert isinstance(call, relay.Call)
    assert isinstance(pair, relay.Tuple)
    spans = {
        (1, 6, 1, 2): function,
        (1, 1, 5, 7): function.params[0],
        (2, 3, 8, 12): call,
        (3, 3, 5, 11): call.args[1],
        (4, 4, 7, 9): let.var,
        (4, 4, 12, 16): let.value,
        (4, 5, 3, 12): let,
        (5, 5, 3, 12): pair,
        (5, 5, 8, 11): pair.fields[1],
    }
    for (line, end_line, column, end_column), expr in spans.items():
        span = Span("a.relay", line, end_line, column, end_column)
        assert getattr(expr, "span", None) == span


def test_diagnostics_of_passes_show_the_line(capsys: pytest.CaptureFixture[str]):
    text = "def @main(%x: int8) {\n  nn.relu(%x) + 1f\n}"
    module = relay.parse(text, "a.relay")
    assert module.sources == {"a.relay": text}
    with pytest.raises(DiagnosticError):
        relay.transform.InferType()(module)
    shown = capsys.readouterr().err
    assert "a.relay:2:3" in shown
    assert "2 |   nn.relu(%x) + 1f" in shown


def test_the_source_of_a_module_is_kept_without_its_constants():
    module = IRModule({"f": Function((), relay.const(np.arange(3)))})
    text = astext(module)
    parsed = relay.parse(text)
    assert parsed.sources["from_string"] == text.partition("#[metadata]")[0]
