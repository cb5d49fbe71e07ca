"""TVM's PrimFuncs as a module: the laws of its adapter, and the way back."""

from __future__ import annotations

import pytest

from parpass.errors import ArgumentError

pytestmark = pytest.mark.foreign


def test_the_adapter_keeps_the_law():
    from tvm import s_tir, tirx

    from parpass.integrations import tvm as ptvm
    from parpass.testing import check_adapter
    from tests.support.tvm_programs import mark, program, unchanged

    passes = [
        ptvm.TVMPass(s_tir.transform.LowerInitBlock),
        mark,
        ptvm.TVMPass(s_tir.transform.ConvertBlocksToOpaque),
        ptvm.TVMPass(s_tir.transform.LowerOpaqueBlock),
        unchanged,
        ptvm.TVMPass(tirx.transform.FlattenBuffer),
        ptvm.TVMPass(tirx.transform.VectorizeLoop, enable_vectorize=True),
    ]
    check_adapter(ptvm.TVMModule.of(program()), passes)


def test_functions_go_back_onto_their_module_and_others_stay():
    import tvm

    from parpass.integrations.tvm import TVMFunction, TVMModule
    from tests.support.tvm_programs import network

    mod = network()
    module = TVMModule.of(mod)
    assert [*module.functions] == ["matmul", "add", "relu"]
    assert module.onto(mod)["main"].same_as(mod["main"])
    changed = TVMFunction(module.functions["add"].prim_func.with_attr("noted", 1))
    made = TVMModule({**module.functions, "add": changed}).onto(mod)
    assert int(made["add"].attrs["noted"]) == 1
    assert "noted" not in mod["add"].attrs
    tvm.ir.assert_structural_equal(made["main"], mod["main"], map_free_vars=True)


def test_functions_that_call_each_other_do_so_after_workers_had_them():
    import tvm

    from parpass.integrations.tvm import TVMFunction, TVMModule
    from tests.support.tvm_programs import calling

    mod = calling()
    apart = {
        name: TVMFunction.of_bytes(one.encoded)
        for name, one in TVMModule.of(mod).functions.items()
    }
    made = TVMModule(apart).onto(mod)
    tvm.ir.assert_structural_equal(made, mod)
    tvm.compile(made, target="llvm")


def test_a_store_on_disk_has_functions_of_this_version_alone():
    from parpass.integrations.tvm.tvm_module import TVMAdapter, TVMModule
    from tests.support.tvm_programs import program

    module = TVMModule.of(program(1))
    codec = TVMAdapter().portable_codec(module)
    encoded = codec.encode(module.functions["f0"], lambda _: None)
    assert encoded is not None
    assert codec.decode(encoded) == module.functions["f0"]
    with pytest.raises(ValueError, match="of another version"):
        codec.decode(b"0.26" + encoded[4:])


def test_a_module_is_what_its_text_says():
    from parpass.integrations.tvm.tvm_module import TVMAdapter, TVMModule
    from tests.support.tvm_programs import program

    adapter, module = TVMAdapter(), TVMModule.of(program(2))
    text = adapter.astext(module)
    assert adapter.astext(adapter.parse(text, "two.py")) == text
    relax = (
        "@I.ir_module\nclass Module:\n    @R.function\n"
        '    def main(x: R.Tensor((2,), "float32")):\n        return x\n'
    )
    with pytest.raises(ArgumentError, match=r"in 'net.py', got a .*Function, 'main'"):
        adapter.parse(relax, "net.py")


def test_what_is_no_module_is_refused():
    from parpass.integrations.tvm import TVMModule

    with pytest.raises(ArgumentError, match="expected an IRModule or a PrimFunc of "):
        TVMModule.of({"main": 1})
