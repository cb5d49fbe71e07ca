from __future__ import annotations

import functools
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

import parpass as tvm
from parpass import PackedFunc, relay
from parpass.errors import ArgumentError, UnknownFunctionError
from parpass.function_registry import declare_functions
from parpass.transform import FunctionPass
from tests.support.registering import registering_for_a_while


@pytest.fixture(autouse=True)
def free() -> Iterator[None]:
    """Leave the registry as it was."""
    with registering_for_a_while():
        yield


def add(a: int, b: int) -> int:
    """Return the sum."""
    return a + b


def same(value: Any) -> Any:
    return value


def test_a_registered_function_is_found_by_its_name():
    tvm.register_func("test.add", add)
    assert tvm.get_global_func("test.add")(1, 2) == 3
    assert tvm.get_global_func("test.add")(a=1, b=2) == 3
    assert "test.add" in tvm.list_global_func_names()


def test_it_is_a_decorator_with_a_name_and_without():
    @tvm.register_func("test.twice")
    def twice(x: int) -> int:
        return 2 * x

    @tvm.register_func
    def thrice(x: int) -> int:
        return 3 * x

    assert isinstance(twice, PackedFunc)
    assert twice is tvm.get_global_func("test.twice")
    assert (twice(2), tvm.get_global_func("thrice")(2), thrice(2)) == (4, 6, 6)


def test_a_name_is_taken_once_unless_it_is_overridden():
    tvm.register_func("test.add", add)
    with pytest.raises(ArgumentError, match=r"is registered as 'test\.add' already"):
        tvm.register_func("test.add", min)
    tvm.register_func("test.add", min, override=True)
    assert tvm.get_global_func("test.add")(1, 2) == 1


def test_a_removed_function_is_missing():
    tvm.register_func("test.add", add)
    tvm.remove_global_func("test.add")
    tvm.remove_global_func("test.add")
    assert tvm.get_global_func("test.add", allow_missing=True) is None


def test_an_unknown_name_is_refused_with_the_nearest():
    tvm.register_func("test.add", add)
    with pytest.raises(UnknownFunctionError) as caught:
        tvm.get_global_func("test.ad")
    assert str(caught.value).startswith("no global function named 'test.ad'; did you")
    assert "'test.add'" in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(("name", "f"), [("test.x", 3), (3, add), ("", add)])
def test_what_cannot_be_registered_is_refused(name: Any, f: Any):
    with pytest.raises(ArgumentError, match="expected a"):
        tvm.register_func(name, f)


def test_a_callable_is_handed_over_as_a_packed_function():
    heard: list[str] = []
    given: list[object] = []

    @tvm.register_func("test.callhello")
    def callhello(f: Callable[[str], None]) -> None:
        given.append(f)
        f("hello world")

    callhello(tvm.convert(heard.append))
    callhello(heard.append)
    assert heard == ["hello world"] * 2
    assert all(isinstance(f, PackedFunc) for f in given)


def test_a_callable_comes_back_as_a_packed_function():
    @tvm.convert
    def adder(n: int) -> Callable[[int], int]:
        return lambda x: x + n

    assert isinstance(adder(2), PackedFunc)
    assert adder(2)(3) == 5


@pytest.mark.parametrize("body", [add, len, int, functools.partial(add, 1), "a".join])
def test_callables_are_converted_once(body: Callable[..., Any]):
    packed = tvm.convert(body)
    assert isinstance(packed, PackedFunc)
    assert packed.body is body
    assert tvm.convert(packed) is packed


@pytest.mark.parametrize(
    "value",
    [3, "x", None, relay.var("x"), relay.transform.FoldConstant(), tvm.IRModule()],
)
def test_other_values_are_left_as_they_are(value: Any):
    assert tvm.convert(value) is value
    assert tvm.convert(same)(value) is value


def test_a_list_is_converted_to_what_nodes_keep():
    assert tvm.convert([1, [2, "x"]]) == (1, (2, "x"))
    given = [1]
    assert tvm.convert(same)(given) is given


def test_it_looks_like_what_it_wraps():
    packed = tvm.convert(add)
    assert (packed.__name__, packed.__doc__) == ("add", "Return the sum.")
    assert repr(packed).startswith("PackedFunc(<function add at ")
    assert packed.same_as(packed)
    assert not packed.same_as(tvm.convert(add))


def test_packed_functions_travel():
    assert pickle.loads(pickle.dumps(tvm.convert(add)))(1, 2) == 3
    n = 5

    def more(x: int) -> int:
        return x + n

    assert pickle.loads(cloudpickle.dumps(tvm.convert(more)))(1) == 6


def test_every_shipped_pass_is_a_global_function():
    passes = relay._transform
    made = tvm.get_global_func("relay._transform.FoldConstant")()
    assert isinstance(made, relay.transform.FoldConstant)
    assert isinstance(passes.FoldConstant(), relay.transform.FoldConstant)
    assert {"FoldConstant", "InferType", "DeadCodeElimination"} <= set(dir(passes))
    for name in dir(passes):
        if name in relay.transform.__all__:
            assert getattr(passes, name).body is getattr(relay.transform, name)
    with pytest.raises(AttributeError, match=r"_transform\.FoldConst'; did you mean"):
        _ = passes.FoldConst


def test_a_pass_registered_by_hand_is_in_the_namespace():
    mine = relay.transform.InferType()
    tvm.register_func("relay._transform.Mine", lambda: mine)
    assert relay._transform.Mine() is mine


def test_declared_modules_are_imported_when_a_function_is_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "declared_functions.py").write_text(
        "from parpass.function_registry import register_func\n"
        "register_func('test.declared', len)\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    declare_functions("declared_functions")
    assert "declared_functions" not in sys.modules
    assert tvm.get_global_func("test.declared")("abc") == 3


@pytest.mark.slow
def test_passes_are_known_before_relay_is_imported_by_the_user():
    program = (
        "import parpass as tvm\n"
        "print(tvm.get_global_func('relay._transform.FoldConstant')().info.name)"
    )
    output = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert output == "FoldConstant\n"


@pytest.mark.slow
def test_workers_need_not_know_what_a_pass_requires():
    class Mark(FunctionPass):
        pass_info = tvm.PassInfo(0, "Mark")

        def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
            return func.with_attr("Marked", 1)

    class Needs(FunctionPass):
        pass_info = tvm.PassInfo(0, "Needs", ["Mark"])

        def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
            return func.with_attr("WasMarked", int(func.has_nonzero_attr("Marked")))

    tvm.register_func("relay._transform.Mark", lambda: Mark())
    one = relay.Function((), relay.const(1.0))
    mod = tvm.IRModule({f"f{at}": one for at in range(8)})
    config = {"parpass.asking_workers_seconds": 0.0}
    with tvm.PassContext(config=config):
        result = tvm.run_pipeline_sync(mod, tvm.Sequential([Needs()]), workers=1)
    functions = result.functions_by_name.values()
    assert [one.attrs and one.attrs["WasMarked"] for one in functions] == [1] * 8
