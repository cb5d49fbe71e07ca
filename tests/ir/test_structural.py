from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given

from parpass import relay
from parpass.diagnostic import Span
from parpass.errors import IRTypeError, StructuralMismatchError
from parpass.ir import wire
from parpass.ir.attrs import Attrs
from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op
from parpass.ir.structural import (
    assert_structural_equal,
    structural_equal,
    structural_hash,
)
from parpass.ir.types import FuncType, TensorType, TypeVar
from parpass.relay.expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    const,
    var,
)
from tests.support.drawn import FUNCTIONS
from tests.support.profiles import examples
from tests.support.relay.deep import DEPTH, KINDS, calls, function_of
from tests.support.relay.programs import call_op, functions, modules

X, Y = var("x", shape=(2, 3)), var("y", shape=(2, 3))
TENSOR = relay.TensorType((2, 3))


def equal(lhs: object, rhs: object, *, map_free_vars: bool = False) -> bool:
    """Compare both ways round, and check that equal nodes have equal hashes."""
    result = structural_equal(lhs, rhs, map_free_vars)
    assert structural_equal(rhs, lhs, map_free_vars) == result
    hashes = [structural_hash(side, map_free_vars) for side in (lhs, rhs)]
    assert hashes[0] == hashes[1] or not result
    return result


def test_names_of_bound_variables_do_not_matter():
    def function(name: str) -> Function:
        param, local = var(name, shape=(2, 3)), Var(name + "local")
        return Function((param,), Let(local, param, call_op("add", local, param)))

    assert equal(function("a"), function("b"))


def test_the_order_of_binding_matters():
    assert not equal(Function((X, Y), X), Function((X, Y), Y))
    assert equal(Function((X, Y), X), Function((Y, X), Y))


def test_a_free_variable_equals_itself_alone():
    assert equal(call_op("add", X, Y), call_op("add", X, Y))
    assert not equal(call_op("add", X, Y), call_op("add", X, X))
    assert not equal(X, var("x", shape=(2, 3)))


def test_free_variables_may_be_mapped():
    assert equal(call_op("add", X, Y), call_op("add", Y, X), map_free_vars=True)
    assert not equal(call_op("add", X, X), call_op("add", Y, X), map_free_vars=True)
    assert not equal(X, var("x", shape=(3,)), map_free_vars=True)


def test_a_bound_variable_is_not_a_free_one():
    assert not equal(Function((X,), X), Function((X,), Y))
    assert not equal(Function((X,), Y), Function((Y,), Y))


def test_sharing_of_graph_nodes_is_part_of_the_structure():
    shared = call_op("add", X, Y)
    twice = call_op("multiply", shared, shared)
    apart = call_op("multiply", call_op("add", X, Y), call_op("add", X, Y))
    assert not equal(twice, apart)
    assert equal(apart, call_op("multiply", call_op("add", X, Y), call_op("add", X, Y)))


def test_an_empty_tuple_is_a_value_whether_it_is_shared_or_not():
    empty = Tuple(())
    shared, apart = Tuple((empty, empty)), Tuple((empty, Tuple(())))
    assert_structural_equal(shared, apart)
    assert structural_hash(shared) == structural_hash(apart)


def test_lists_are_equal_if_their_items_are():
    x, y = var("x", shape=(2,)), var("x", shape=(2,))
    assert structural_equal([x, Function((x,), x)], (x, Function((y,), y)))
    assert structural_hash([Function((x,), x)]) == structural_hash([Function((y,), y)])
    assert structural_equal([x], [y], map_free_vars=True)
    with pytest.raises(StructuralMismatchError, match=r"<root>\[1\]"):
        assert_structural_equal([x, x], [x, y])
    with pytest.raises(StructuralMismatchError, match="1 items"):
        assert_structural_equal([x], [x, x])


def test_keys_of_mappings_in_attributes_may_be_anything_plain():
    def with_attribute(value: Any) -> Function:
        return Function((), const(1), attrs={"a": value})

    one = with_attribute({1: "a", (2, "b"): None, "c": {}})
    assert structural_equal(one, with_attribute({"c": {}, (2, "b"): None, 1: "a"}))
    assert not structural_equal(one, with_attribute({"c": {}, (2, "b"): None, 2: "a"}))
    assert not structural_equal(with_attribute({1: 2}), with_attribute({"1": 2}))
    with pytest.raises(IRTypeError, match="plain values"):
        structural_hash(Call(var("f"), (), {var("x"): 1}))


def test_sharing_of_constants_and_projections_is_not():
    one, item = const(np.ones(3)), TupleGetItem(X, 0)
    assert equal(Tuple((one, one)), Tuple((one, const(np.ones(3)))))
    assert equal(Tuple((item, item)), Tuple((item, TupleGetItem(X, 0))))


def test_constants_are_compared_by_content():
    nan = np.array([np.nan, 1.0])
    assert equal(const(nan), const(nan.copy()))
    assert not equal(const(1), const(2))
    assert not equal(const(1), const(1.0))
    assert not equal(const([1, 1]), const([[1, 1]]))


def test_global_variables_are_compared_by_name():
    assert equal(GlobalVar("f"), GlobalVar("f"))
    assert not equal(GlobalVar("f"), GlobalVar("g"))


def test_annotations_and_return_types_count():
    assert not equal(Function((X,), X), Function((Var("x"),), X))
    assert not equal(Function((X,), X, TENSOR), Function((X,), X))
    inner = Let(Var("v", TENSOR), X, X), Let(Var("v"), X, X)
    assert not equal(*inner)


def test_spans_and_inferred_types_do_not_count():
    spanned = Call(Op.get("negative"), (X,), None, (), Span("s", 1, 1, 1, 2), TENSOR)
    assert equal(spanned, call_op("negative", X))


def test_attributes_are_compared_by_content_whatever_their_order():
    plain = Function((X,), X)
    one = plain.with_attr("a", 1)
    assert not equal(plain, one)
    assert equal(one.with_attr("b", 2), plain.with_attr("b", 2).with_attr("a", 1))
    assert not equal(one, plain.with_attr("a", True))
    assert not equal(one, plain.with_attr("a", 1.0))
    assert equal(plain.with_attr("a", np.nan), plain.with_attr("a", np.nan))
    assert not equal(relay.clip(X, 0.0, 1.0), relay.clip(X, 0.0, 2.0))
    assert equal(relay.clip(X, 0.0, 1.0), relay.clip(X, 0.0, 1.0))


def test_attributes_of_operators_have_a_class():
    softmax, log_softmax = relay.nn.softmax(X).attrs, relay.nn.log_softmax(X).attrs
    assert equal(softmax, relay.nn.softmax(X).attrs)
    assert equal(softmax, log_softmax) == (type(softmax) is type(log_softmax))


def test_types_are_compared_by_structure():
    assert equal(TENSOR, relay.TensorType((2, 3)))
    assert not equal(TENSOR, relay.TupleType((TENSOR,)))
    assert not equal(relay.TypeVar("float32"), relay.scalar_type("float32"))


def test_things_of_different_kinds_are_not_equal():
    assert not equal(X, TENSOR)
    assert not equal(X, const(1))
    assert not equal(IRModule({"x": const(1)}), const(1))


def test_modules_are_compared_by_name_whatever_their_order():
    f, g = Function((X,), X), Function((X,), call_op("negative", X))
    assert equal(IRModule({"f": f, "g": g}), IRModule({"g": g, "f": f}))
    assert not equal(IRModule({"f": f, "g": g}), IRModule({"f": g, "g": f}))
    assert not equal(IRModule({"f": f}), IRModule({"f": f, "g": g}))
    assert not equal(IRModule({"f": f}, attrs={"a": 1}), IRModule({"f": f}))


def test_sharing_between_functions_of_a_module_does_not_count():
    shared = call_op("negative", const(1))
    together = IRModule({"f": Function((), shared), "g": Function((), shared)})
    again = Function((), call_op("negative", const(1)))
    assert equal(together, IRModule({"f": Function((), shared), "g": again}))


def test_an_attribute_that_is_no_plain_value_is_refused():
    strange = msgspec.defstruct("Strange", [("a", Any)], bases=(Attrs,), frozen=True)
    call = Call(relay.op.get("abs"), (X,), strange(object()))
    with pytest.raises(IRTypeError, match=r"plain values .* got object"):
        structural_hash(call)


@pytest.mark.slow
@given(FUNCTIONS)
@examples(1.25)
def test_a_function_equals_its_copy(function: Function):
    assert equal(function, wire.decode(wire.encode(function)))


@pytest.mark.slow
@given(functions(), functions())
@examples(1.25)
def test_functions_are_equal_exactly_if_their_hashes_are(one: Function, two: Function):
    assert equal(one, two) == (structural_hash(one) == structural_hash(two))


@pytest.mark.slow
@given(modules(max_functions=3))
@examples(1.25)
def test_a_module_equals_its_copy(module: IRModule):
    assert equal(module, module.copy())


F = Function((X, Y), call_op("add", X, call_op("negative", Y)), TENSOR)


@pytest.mark.parametrize(
    ("lhs", "rhs", "path", "left", "right"),
    [
        (F, F.with_attr("a", 1), "<root>.attrs", "None", "DictAttrs({'a': 1})"),
        (
            F,
            Function(F.params, call_op("add", X, call_op("abs", Y)), TENSOR),
            "<root>.body.args[1].op.name",
            "'negative'",
            "'abs'",
        ),
        (
            Function((X, Y), X),
            Function((X, Y), Y),
            "<root>.body",
            "Var(x), bound elsewhere (node 0 in post-order)",
            "Var(y), bound elsewhere (node 1 in post-order)",
        ),
        (
            Function((X,), X),
            Function((var("x", shape=(1,)),), X),
            "<root>.params[0].type_annotation",
            "TensorType(shape=(2, 3), dtype='float32')",
            "TensorType(shape=(1,), dtype='float32')",
        ),
        (Tuple((X,)), Tuple((X, X)), "<root>", "Tuple(1 fields)", "Tuple(2 fields)"),
        (Tuple((X, Y)), Tuple((X, X)), "<root>.fields[1]", "Var(y)", "Var(x)"),
        (If(X, X, X), If(X, X, const(1)), "<root>.false_branch", "Var", "Constant"),
        (
            Tuple((const(1),)),
            Tuple((const(2),)),
            "<root>.fields[0].data",
            "NDArray(shape=(), dtype=int32) of 1",
            "NDArray(shape=(), dtype=int32) of 2",
        ),
        (TENSOR, relay.TensorType((1,)), "<root>", "TensorType", "TensorType"),
        (TENSOR, X, "<root>", "TensorType", "Var(x)"),
    ],
)
def test_the_error_shows_the_first_difference(
    lhs: Any, rhs: Any, path: str, left: str, right: str
):
    with pytest.raises(ValueError, match="not structurally equal") as caught:
        assert_structural_equal(lhs, rhs)
    assert isinstance(caught.value, StructuralMismatchError)
    assert caught.value.path == path
    first, on_left, on_right = str(caught.value).splitlines()
    assert first == f"not structurally equal: {path}"
    assert on_left.startswith(f"  left:  {left}")
    assert on_right.startswith(f"  right: {right}")


def test_a_difference_of_sharing_is_shown():
    shared = call_op("add", X, Y)
    apart = call_op("multiply", shared, call_op("add", X, Y))
    with pytest.raises(StructuralMismatchError) as caught:
        assert_structural_equal(call_op("multiply", shared, shared), apart)
    assert caught.value.path == "<root>.args[1]"
    assert "shared elsewhere" in str(caught.value)


def test_the_error_names_the_function_of_a_module():
    other = Function((X, Y), X)
    with pytest.raises(
        StructuralMismatchError, match="function 'f' at <root>"
    ) as caught:
        assert_structural_equal(IRModule({"f": F}), IRModule({"f": other}))
    assert caught.value.function == "f"
    with pytest.raises(StructuralMismatchError, match=r"'g' .*\n.*none.*\n.*there"):
        assert_structural_equal(IRModule({"f": F}), IRModule({"f": F, "g": F}))
    with pytest.raises(StructuralMismatchError, match=r"<root>\.attrs"):
        assert_structural_equal(IRModule({"f": F}, attrs={"a": 1}), IRModule({"f": F}))


def test_what_is_equal_passes_the_assertion():
    assert_structural_equal(F, F)


def test_a_long_path_is_shortened():
    def deep(end: Expr) -> Expr:
        for _ in range(1000):
            end = Tuple((end,))
        return end

    with pytest.raises(StructuralMismatchError) as caught:
        assert_structural_equal(deep(X), deep(Y))
    assert "...(981 more)..." in caught.value.path
    assert len(caught.value.path) < 300


@pytest.mark.slow
def test_the_hash_has_64_bits_and_is_the_same_in_every_process():
    body = call_op("add", X, const(np.arange(5.0)))
    function = Function((X,), body, TENSOR, attrs={"a": (1, "b")})
    script = (
        "import numpy as np\n"
        "from parpass import relay\n"
        "from parpass.ir.structural import structural_hash\n"
        "x = relay.var('x', shape=(2, 3))\n"
        "body = relay.add(x, relay.const(np.arange(5.0)))\n"
        "result = relay.TensorType((2, 3))\n"
        "f = relay.Function((x,), body, result, attrs={'a': (1, 'b')})\n"
        "print(structural_hash(f))"
    )
    command = [sys.executable, "-c", script]
    found = {int(subprocess.check_output(command)) for _ in range(2)}
    assert found == {structural_hash(function)}
    assert 0 <= structural_hash(function) < 2**64


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_any_depth_is_compared_and_hashed(kind: Callable[[int], Expr]):
    one, two = function_of(kind(DEPTH)), function_of(kind(DEPTH))
    assert structural_equal(one, two)
    assert structural_hash(one) == structural_hash(two)
    assert not structural_equal(one, function_of(kind(DEPTH - 1)))


def test_an_expression_is_not_equal_to_one_that_it_is_a_part_of():
    x = relay.var("x")
    assert not structural_equal(relay.exp(x), relay.exp(relay.exp(x)))
    assert not structural_equal(relay.exp(relay.exp(x)), relay.exp(x))


def test_many_paths_take_no_longer():
    assert equal(function_of(calls(200)), function_of(calls(200)))


def polymorphic(name: str, result: str) -> Function:
    var = TypeVar(name)
    x = relay.Var("x", var)
    inner = Function(
        (relay.Var("f", FuncType((TypeVar("C"),), var, (TypeVar("C"),))),), x
    )
    return Function((x,), inner, FuncType((), TypeVar(result)), (var,))


def test_type_variables_are_equal_by_where_they_are_bound() -> None:
    assert structural_equal(polymorphic("A", "A"), polymorphic("B", "B"))
    same = structural_hash(polymorphic("B", "B"))
    assert structural_hash(polymorphic("A", "A")) == same


def test_a_free_type_variable_is_equal_only_to_itself() -> None:
    assert not structural_equal(polymorphic("A", "D"), polymorphic("B", "B"))
    assert not structural_equal(polymorphic("A", "D"), polymorphic("A", "E"))
    assert structural_equal(polymorphic("A", "D"), polymorphic("B", "D"))


def test_the_type_arguments_of_operators_follow_from_the_others() -> None:
    x = relay.var("x", "float32")
    bare = relay.negative(x)
    typed = Call(bare.op, bare.args, bare.attrs, (TensorType(()),))
    assert structural_equal(bare, typed)
    assert structural_hash(bare) == structural_hash(typed)
    f = relay.var("f")
    given = Call(f, (x,), None, (TensorType(()),))
    assert not structural_equal(Call(f, (x,)), given)
    with pytest.raises(StructuralMismatchError, match="type_args"):
        assert_structural_equal(Call(f, (x,)), given)


def test_how_many_objects_a_constant_is_does_not_matter_to_type_parameters():
    def identity() -> Function:
        x = Var("x", TypeVar("A"))
        return Function((x,), x, TypeVar("A"), (TypeVar("A"),))

    one = const(1.0)
    first = Tuple((identity(), Tuple((one, one)), identity()))
    assert equal(first, Tuple((identity(), Tuple((const(1.0), one)), identity())))
    other = Function((Var("x", TypeVar("A")),), one, TypeVar("B"), (TypeVar("A"),))
    assert not equal(first, Tuple((identity(), Tuple((one, one)), other)))
