"""PrimFuncs: in modules beside Relay's functions, on the wire, in JSON, compared."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import HealthCheck, given

from parpass import (
    IRModule,
    assert_structural_equal,
    load_json,
    relay,
    save_json,
    structural_equal,
    structural_hash,
    tir,
)
from parpass.errors import MalformedJSONError
from parpass.ir import wire
from parpass.ir.types import PrimType
from parpass.transform import adapter_of
from tests.support.drawn import LOOP_MODULES, PRIM_FUNCS
from tests.support.profiles import examples

FEW = examples(1, HealthCheck.large_base_example)


def doubled(name: str = "i", size: Any = 8) -> tir.PrimFunc:
    i, handle = tir.Var(name, "int32"), tir.Var("a", "handle")
    buffer = tir.decl_buffer((size,), "float32", name.upper())
    store = tir.BufferStore(buffer, tir.BufferLoad(buffer, (i,)) * 2.0, (i,))
    return tir.PrimFunc(
        (handle,), tir.For(i, 0, size, 0, store), None, {handle: buffer}
    )


def deep(count: int) -> tir.PrimFunc:
    body: tir.Stmt = tir.Evaluate(0)
    value: tir.PrimExpr = tir.Var("x", "int32")
    params = (value,)
    for _ in range(count):
        value = tir.Add(value, 1)
        body = tir.IfThenElse(value > 0, body)
    return tir.PrimFunc(params, body)


def test_bound_variables_are_equal_by_where_they_are_bound():
    assert structural_equal(doubled("i"), doubled("j"))
    assert structural_hash(doubled("i")) == structural_hash(doubled("j"))
    assert not structural_equal(doubled("i"), doubled("i", 9))


def test_dimensions_are_bound_by_the_buffer_that_has_them():
    n, m = tir.Var("n", "int32"), tir.Var("m", "int32")
    assert structural_equal(doubled("i", n), doubled("i", m))
    assert not structural_equal(doubled("i", n), doubled("i", 8))


def test_free_variables_are_equal_to_themselves_alone():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    assert structural_equal(x + 1, x + 1)
    assert not structural_equal(x + 1, y + 1)
    assert structural_equal(x + 1, y + 1, map_free_vars=True)


def test_names_of_buffers_spans_and_derived_dtypes_are_no_structure():
    x = tir.Var("x", "int32")
    assert structural_equal(tir.Add(x, 1), tir.Add(x, 1, None, "int32"))
    assert not structural_equal(tir.IntImm("int32", 1), tir.IntImm("int64", 1))


def test_both_kinds_of_functions_are_in_one_module():
    x = relay.var("x", shape=(2,))
    mod = IRModule({"main": relay.Function((x,), relay.abs(x)), "kernel": doubled()})
    assert [type(one) for one in mod.functions_by_name.values()] == [
        relay.Function,
        tir.PrimFunc,
    ]
    again = load_json(save_json(mod))
    assert_structural_equal(again, mod)
    assert save_json(again) == save_json(mod)
    assert structural_hash(again) == structural_hash(mod)
    assert_structural_equal(pickle.loads(pickle.dumps(mod)), mod)


def test_a_function_may_be_open_in_a_module():
    x = tir.Var("x", "int32")
    mod = IRModule({"f": tir.PrimFunc((), tir.Evaluate(x))})
    assert mod["f"].body.value is x


def test_attributes_are_plain_values():
    func = doubled().with_attr("global_symbol", "f").with_attr({"n": tir.const(True)})
    assert dict(func.attributes) == {"global_symbol": "f", "n": True}
    assert func.with_body(tir.Evaluate(1)).attrs == func.attrs
    assert IRModule.from_expr(func)["f"] is func


def test_a_buffer_for_a_parameter_gets_a_handle():
    buffer = tir.decl_buffer((4,), name="A")
    func = tir.PrimFunc((buffer,), tir.Evaluate(0))
    (param,) = func.params
    assert param.dtype == "handle"
    assert func.buffer_map[param] is buffer


def test_the_type_is_that_of_the_parameters():
    x = tir.Var("x", "float32")
    func = tir.PrimFunc((x,), tir.Evaluate(0))
    assert func.checked_type.arg_types == (PrimType("float32"),)


@FEW
@given(PRIM_FUNCS)
def test_generated_functions_keep_their_structure_on_the_wire(func: Any):
    again = wire.decode(wire.encode(func), (), {})
    assert_structural_equal(again, func)
    adapter = adapter_of(IRModule(), "test")
    mod = IRModule({"main": func})
    encoded = adapter.encode_function(func, lambda _: None)
    assert_structural_equal(adapter.decode_function(encoded, (), mod), func)


@FEW
@given(LOOP_MODULES)
def test_generated_modules_keep_their_structure_in_json(mod: Any):
    text = save_json(mod)
    again = load_json(text)
    assert_structural_equal(again, mod)
    assert save_json(again) == text


@pytest.mark.slow
def test_deep_programs_are_compared_saved_and_sent():
    func = deep(3_000)
    assert structural_equal(func, deep(3_000))
    assert_structural_equal(load_json(save_json(func)), func)
    assert_structural_equal(wire.decode(wire.encode(func)), func)


HEAD = '{"parpass": 3, "nodes": [\n{"tir.IntImm": {"dtype": "int32", "value": 1}},\n'
X = '{"tir.Var": {"name": "x", "dtype": "int32"}},\n'


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('{"tir.IntImm": {"dtype": "int8", "value": 999}}', "a value that int8 has"),
        ('{"tir.Add": {"a": 0, "b": 0, "dtype": "bool"}}', "has no field 'dtype'"),
        ('{"tir.Add": {"a": 0}}', "needs 'b'"),
        ('{"tir.Evaluate": {"value": 9}}', "expected a reference"),
        ('{"tir.SeqStmt": {"seq": [0]}}', "expected statements for SeqStmt"),
        ('{"tir.Call": {"dtype": "int32", "op": 0, "args": []}}', "an operator"),
        (
            '{"tir.PrimFunc": {"buffer_map": [[1]], "params": [], "body": 0}}',
            "expected a new key and a value",
        ),
        (
            '{"tir.PrimFunc": {"buffer_map": 3, "params": [], "body": 0}}',
            "expected a list of pairs",
        ),
        ('{"tir.Broadcast": {"value": 0, "lanes": 999999999}}', "lanes"),
    ],
)
def test_hostile_json_is_refused(entry: str, message: str):
    with pytest.raises(MalformedJSONError, match=message):
        load_json(f'{HEAD}{X}{entry}\n], "root": {{"ref": 2}}}}')


def test_what_the_builder_has_for_a_pointer_is_a_parameter():
    ib = tir.ir_builder.create()
    pointer = ib.pointer("float32", name="A")
    pointer[0] = 1.0
    func = tir.PrimFunc([pointer], ib.get())
    assert func.params == (pointer.asobject(),)


def test_a_script_is_the_text():
    mod = IRModule({"f": doubled()})
    func: Any = mod["f"]
    assert mod.script() == str(mod)
    assert func.script() == str(func)
    assert structural_equal(relay.parse(mod.script(tir_prefix="tir")), mod)
