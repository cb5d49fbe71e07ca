"""TVM's objects as bytes: nothing is lost, and equal objects are equal bytes."""

from __future__ import annotations

from typing import Any

import pytest

from parpass.errors import ArgumentError

pytestmark = pytest.mark.foreign


def round_trip(value: Any) -> Any:
    from parpass.integrations.tvm.graph_codec import decode, encode

    encoded = encode(value)
    made = decode(encoded)
    assert encode(made) == encoded
    return made


@pytest.mark.parametrize("which", ["program", "calling", "network"])
def test_modules_come_back_as_they_were(which: str):
    import tvm

    from tests.integrations.tvm import tvm_programs

    mod = getattr(tvm_programs, which)()
    made = round_trip(mod)
    tvm.ir.assert_structural_equal(made, mod, map_free_vars=True)
    assert made.script() == mod.script()


@pytest.mark.parametrize("value", [0.1, -0.0, float("nan"), float("-inf"), 1e308])
def test_floats_come_back_to_the_bit(value: float):
    from tvm import tirx

    made = round_trip(tirx.const(value, "float64"))
    assert float(made.value).hex() == value.hex()


def test_what_looks_alike_for_python_stays_apart():
    import tvm_ffi

    given = [1, True, 1.0, 0.0, -0.0, "int32", tvm_ffi.dtype("int32"), "", None]
    made = round_trip(tvm_ffi.convert(given))
    assert [repr(one) for one in made] == [repr(one) for one in given]


def test_text_of_any_sort_comes_back():
    import tvm_ffi

    given = ['"quoted"\n\\', "%s %d", "\N{SNOWMAN}", "a" * 100]
    assert [*round_trip(tvm_ffi.convert(given))] == given


def test_a_target_and_options_come_back():
    import tvm

    target = tvm.target.Target({"kind": "llvm", "mcpu": "core-avx2"}, host="llvm")
    assert str(round_trip(target)) == str(target)
    config = {"tirx.UnrollLoop": {"auto_max_step": 3}, "tirx.disable_vectorize": True}
    with tvm.transform.PassContext(config=config) as context:
        assert str(round_trip(context.config)) == str(context.config)


def test_deep_expressions_need_no_stack():
    from tvm import tirx

    from parpass.integrations.tvm.graph_codec import encode

    deep = tirx.Var("x", "int32")
    for _ in range(5000):
        deep = tirx.Add(deep, tirx.Var("y", "int32"))
    assert encode(deep).count(b'"prim.Add"') == 5000


def test_what_stays_in_its_process_is_named_by_its_path():
    import tvm_ffi

    from parpass.integrations.tvm.graph_codec import encode
    from tests.integrations.tvm.tvm_programs import program

    local = tvm_ffi.convert_func(lambda: 1)
    mod = program(2).with_attr("hooks", {"first": [local]})
    path = r"attrs\.__dict__\['hooks'\]\['first'\]\[0\]: it belongs to this process"
    with pytest.raises(ArgumentError, match=rf"got Function at {path}"):
        encode(mod)


def test_numbers_that_tvm_cannot_read_are_refused():
    from tvm import tirx

    from parpass.integrations.tvm.graph_codec import encode

    with pytest.raises(ArgumentError, match="float at value: TVM reads no subnormals"):
        encode(tirx.const(1e-310, "float64"))


def test_global_variables_of_one_name_are_one_again():
    import tvm

    from parpass.integrations.tvm.graph_codec import unify_globals
    from tests.integrations.tvm.tvm_programs import calling

    mod = calling()
    apart = {name.name_hint: round_trip(one) for name, one in mod.functions.items()}
    made = unify_globals(tvm.IRModule(apart))
    tvm.ir.assert_structural_equal(made, mod)
