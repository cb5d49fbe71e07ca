from __future__ import annotations

import base64
import json
import re
import textwrap
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

from parpass import relay
from parpass.diagnostic import Span
from parpass.ir import wire
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.types import TensorType, TypeVar
from parpass.relay.expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Tuple,
    Var,
    const,
    var,
)
from parpass.relay.text.printer import astext
from tests.support.drawn import FUNCTIONS
from tests.support.profiles import examples
from tests.support.relay.deep import DEPTH, KINDS, calls
from tests.support.relay.programs import call_op, modules

X, Y = var("x", shape=(2, 3)), var("y", shape=(2, 3))
COND = var("c", "bool")
TENSOR = TensorType((2, 3))


def shows(program: Expr | IRModule, text: str) -> bool:
    return str(program) == textwrap.dedent(text).strip("\n")


def test_a_function_has_a_line_for_each_call_and_ends_in_its_result():
    data, weight = var("data", shape=(1, 3, 8, 8)), var("w")
    conv = relay.nn.conv2d(data, weight, padding=(1, 1))
    function = Function((data, weight), relay.nn.relu(conv), TENSOR)
    assert shows(
        IRModule({"main": function}),
        """
        def @main(%data: Tensor[(1, 3, 8, 8), float32], %w) -> Tensor[(2, 3), float32] {
          %0 = nn.conv2d(%data, %w, padding=[1, 1, 1, 1]);
          nn.relu(%0)
        }
        """,
    )


def test_free_variables_of_an_expression_are_declared():
    assert shows(
        call_op("add", X, Var("y")),
        """
        free_var %x: Tensor[(2, 3), float32];
        free_var %y;
        add(%x, %y)
        """,
    )


def test_shared_nodes_have_one_line():
    shared = call_op("add", X, X)
    assert shows(
        Function((X,), call_op("multiply", shared, shared)),
        """
        fn (%x: Tensor[(2, 3), float32]) {
          %0 = add(%x, %x);
          multiply(%0, %0)
        }
        """,
    )


def test_lets_are_written_one_below_the_other():
    a, b = Var("a", TENSOR), Var("b")
    body = Let(a, call_op("negative", X), Let(b, a, call_op("add", a, b)))
    assert shows(
        Function((X,), body),
        """
        fn (%x: Tensor[(2, 3), float32]) {
          let %a: Tensor[(2, 3), float32] = negative(%x);
          let %b = %a;
          add(%a, %b)
        }
        """,
    )


def test_a_let_in_the_data_flow_has_a_block():
    a = Var("a")
    assert shows(
        Function((X,), call_op("abs", Let(a, X, Let(Var("b"), Let(a, X, a), a)))),
        """
        fn (%x: Tensor[(2, 3), float32]) {
          %0 = (
            let %a = %x;
            let %b = (
              let %a = %x;
              %a
            );
            %a
          );
          abs(%0)
        }
        """,
    )


def test_branches_have_blocks_with_their_own_lines():
    outside = call_op("abs", X)
    true = call_op("add", outside, call_op("negative", X))
    assert shows(
        Function((X, COND), Tuple((If(COND, true, outside), outside))),
        """
        fn (%x: Tensor[(2, 3), float32], %c: bool) {
          %0 = abs(%x);
          %1 = if (%c) {
            %2 = negative(%x);
            add(%0, %2)
          } else {
            %0
          };
          (%1, %0)
        }
        """,
    )


def test_a_closure_is_called_by_its_line_and_may_use_what_is_outside():
    outer = call_op("abs", X)
    closure = Function((Y,), call_op("add", Y, outer), attrs={"Primitive": 1})
    assert shows(
        Function((X,), Tuple((Call(closure, (X,)), outer))),
        """
        fn (%x: Tensor[(2, 3), float32]) {
          %0 = abs(%x);
          %1 = fn (%y: Tensor[(2, 3), float32], Primitive=1) {
            add(%y, %0)
          };
          %2 = %1(%x);
          (%2, %0)
        }
        """,
    )


def test_tuples_and_projections():
    pair = Tuple((X, Tuple((Y,)), Tuple(())))
    item = relay.TupleGetItem(relay.TupleGetItem(pair, 1), 0)
    assert shows(
        Function((X, Y), call_op("add", relay.TupleGetItem(pair, 0), item)),
        """
        fn (%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) {
          %0 = (%y,);
          %1 = ();
          %2 = (%x, %0, %1);
          %3 = (%2.1).0;
          add(%2.0, %3)
        }
        """,
    )


def test_globals_and_type_arguments():
    a = TypeVar("A")
    callee = Function((Var("x", a),), X, a, (a,))
    call = Call(GlobalVar("f"), (const(1),), None, (relay.scalar_type("int32"),))
    assert shows(Function((), call), "fn () {\n  @f<int32>(1)\n}")
    assert str(callee).splitlines()[1].startswith("fn <A>(%x_1: A) -> A {")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (const(1.0), "1f"),
        (const(0.1), "0.1f"),
        (const(1e-30), "1e-30f"),
        (const(-2), "-2"),
        (const(True), "True"),
        (const(3, "int64"), "3i64"),
        (const(3, "uint8"), "3u8"),
        (const(0.5, "float16"), "0.5f16"),
        (const(0.5, "float64"), "0.5f64"),
        (const(np.nan), "meta[relay.Constant][0]"),
        (const(np.inf), "meta[relay.Constant][0]"),
        (const([1]), "meta[relay.Constant][0]"),
    ],
)
def test_scalars_are_written_out_with_their_dtype(value: Expr, text: str):
    assert str(value) == text


def test_attributes_are_written_where_they_are_not_the_default():
    assert str(relay.nn.softmax(const(1.0))) == "nn.softmax(1f)"
    assert str(relay.nn.softmax(const(1.0), axis=1)) == "nn.softmax(1f, axis=1)"
    attrs = {"s": 'a"b', "t": (1, 2.0, None), "u": True, "odd name": {"k": 1}}
    function = Function((), const(1), attrs=attrs)
    assert str(function).splitlines()[0] == (
        r'fn (s="a\"b", t=[1, 2.0f, None], u=True, "odd name"={"k": 1}) {'
    )


def test_variables_of_one_name_are_told_apart():
    variables = [Var("x"), Var("x"), Var("x_1"), Var("x")]
    assert str(Function(tuple(variables), variables[2])).splitlines() == [
        "fn (%x, %x_1, %x_1_1, %x_2) {",
        "  %x_1_1",
        "}",
    ]


def typed(function: Function) -> Function:
    return relay.transform.InferType()(IRModule({"main": function}))["main"]


def test_calls_and_constants_of_a_typed_program_have_their_types_behind_them():
    function = typed(Function((X,), call_op("add", call_op("abs", X), const(1.0))))
    assert shows(
        function,
        """
        fn (%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
          %0 = abs(%x) /* ty=Tensor[(2, 3), float32] */;
          add(%0, 1f /* ty=float32 */) /* ty=Tensor[(2, 3), float32] */
        }
        """,
    )


def test_a_text_that_stands_for_itself_begins_with_its_version():
    header = '#[version = "0.0.5"]\n'
    assert X.astext() == f"{header}free_var {str(X).split()[1]} {TENSOR};\n%x"
    module = IRModule({"main": Function((), const([1.0]))})
    assert module.astext().startswith(f"{header}def @main() {{\n")
    assert module.astext(show_meta_data=False) == header + str(module)


def test_what_is_annotated_stands_behind_each_node_in_place_of_types():
    function = typed(Function((X,), Tuple((call_op("add", X, const(1.0)),))))
    text = function.astext(annotate=lambda node: f" /* {type(node).__name__} */")
    assert text.splitlines()[1:] == [
        "fn (%x: Tensor[(2, 3), float32] /* Var */) -> (Tensor[(2, 3), float32],) {",
        "  %0 = add(%x, 1f /* Constant */) /* Call */;",
        "  (%0,) /* Tuple */",
        "} /* Function */",
    ]


def test_an_origin_without_a_line_stands_behind_a_call():
    named, elsewhere = Span("conv1", 0, 0, 0, 0), Span("a.relay", 2, 2, 1, 4)
    assert str(Call(GlobalVar("f"), (), span=named)) == "@f() /* conv1 */"
    assert str(Call(GlobalVar("f"), (), span=elsewhere)) == "@f()"


@pytest.mark.parametrize("name", ["*/ 1", "/*", "line\nbreak", "\x00"])
def test_what_no_comment_can_hold_is_not_in_one(name: str):
    call = Call(GlobalVar("f"), (), span=Span(name, 0, 0, 0, 0))
    assert str(call) == "@f()"


def test_a_long_type_is_cut_in_comments():
    wide = relay.TupleType([TENSOR] * 500)
    function = Function((Var("x", wide),), call_op("copy", Var("y")))
    call = Call(GlobalVar("f"), (), checked_type_=wide)
    assert len(str(call)) < 1100
    assert str(call).endswith("... */")
    assert len(str(function)) > 10_000  # what the parser reads is whole


@pytest.mark.parametrize("name", ["a/b:0", "0", "a.b", "", 'quo"te', "line\nbreak"])
def test_odd_names_are_quoted(name: str):
    assert str(Var(name)).splitlines()[-1] == f"%{json.dumps(name)}"
    module = IRModule({name: Function((), GlobalVar(name))})
    quoted = json.dumps(name)
    assert str(module) == f"def @{quoted}() {{\n  @{quoted}\n}}"


def test_attributes_of_a_module_come_first():
    module = IRModule({"f": Function((), const(1))}, attrs={"target": "llvm"})
    assert str(module).startswith('#[attrs(target="llvm")]\n\ndef @f() {')


def test_larger_constants_stand_in_a_section_once_each():
    values = np.arange(3, dtype="int32")
    same = Tuple((const(values), const(values.copy()), const(np.ones(1))))
    text = astext(same)
    head, section = text.split("#[metadata]\n")
    assert head == (
        "(meta[relay.Constant][0], meta[relay.Constant][0], "
        "meta[relay.Constant][1])\n\n"
    )
    first, second = json.loads(section)["relay.Constant"]
    assert (first["dtype"], first["shape"]) == ("int32", [3])
    assert base64.b64decode(first["data"]) == values.tobytes()
    assert (second["dtype"], second["shape"]) == ("float64", [1])
    assert "metadata" not in astext(same, show_meta_data=False)


def test_a_constant_of_one_value_is_short():
    text = astext(const(np.broadcast_to(np.float32(1), (1000, 1000))))
    (entry,) = json.loads(text.split("#[metadata]\n")[1])["relay.Constant"]
    assert np.frombuffer(base64.b64decode(entry["repeat"]), "float32") == [1]
    assert entry["shape"] == [1000, 1000]


@pytest.mark.slow
@given(FUNCTIONS)
@examples(1.25)
def test_the_text_of_a_copy_is_the_same(function: Function):
    assert astext(wire.decode(wire.encode(function))) == astext(function)


@pytest.mark.slow
@given(modules(max_functions=3))
@examples(1.25)
def test_every_line_stands_before_its_uses(module: IRModule):
    for text in str(module).split("\ndef "):
        known: set[str] = set()
        for number, defined in re.findall(r"%(\d+)( = )?", text):
            assert bool(defined) == (number not in known)
            known.add(number)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_any_depth_is_printed_in_linear_size(kind: Callable[[int], Expr]):
    root = kind(DEPTH)
    assert len(str(root)) < 200 * len(post_order(root))


def test_many_paths_are_printed_once():
    assert len(str(calls(200)).splitlines()) == 201
