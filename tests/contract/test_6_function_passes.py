"""Contract section 6a: function passes."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from parpass import relay
from parpass.diagnostic import Diagnostic, DiagnosticLevel
from parpass.errors import DiagnosticError, ReadOnlyModuleError
from parpass.ir.module import IRModule
from parpass.relay.expr import Function
from parpass.transform import FunctionPass, PassContext, PassInfo, Sequential
from tests.contract.marking import (
    Mark,
    Observe,
    Raise,
    Run,
    identity,
    marked,
    marks,
    module,
)
from tests.support.watching import InfoLog, Log, vetoing


def tag(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    return marked(func, "tag")


class Tag:
    """Tags functions."""

    def __init__(self, name: str) -> None:
        self.name = name

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        return marked(func, self.name)


class Give(FunctionPass):
    """Gives the same result for each function."""

    pass_info = PassInfo(0, "Give")

    def __init__(self, result: Any) -> None:
        self.result = result

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Any:
        return self.result


def test_6_1_the_decorator_mirrors_module_pass(run: Run):
    function_pass: Any = relay.transform.function_pass
    names = ["pass_func", "opt_level", "name", "required"]
    own = ["preserves", "cacheable"]
    assert list(inspect.signature(function_pass).parameters) == [*names, *own]
    made = function_pass(tag, opt_level=1)
    assert isinstance(made, relay.transform.FunctionPass)
    assert (made.info.name, made.info.opt_level) == ("tag", 1)
    assert marks(run(made, module())) == "tag"
    tags = function_pass(Tag, opt_level=2, name="N", required=["InferType"])
    assert relay.transform.FunctionPass in tags.__mro__
    assert tags("a").info is tags("b").info
    assert tags("a").info.name == "N"
    assert marks(run(tags("a"), module())) == "a"
    with pytest.raises(ValueError, match="opt_level for the function pass"):
        function_pass(tag)
    with pytest.raises(TypeError, match="callable or a class for function pass"):
        function_pass(7, opt_level=1, name="x")


def test_6_2_its_text_has_kind_name_and_level():
    text = "Run Function pass: N at the optimization level 3"
    assert str(Mark("N", 3)) == text


def test_6_3_bodies_come_first_then_diagnostics_then_infer_type(
    run: Run, capsys: pytest.CaptureFixture[str]
):
    class Say(FunctionPass):
        pass_info = PassInfo(0, "Say")

        def transform_function(
            self, func: Function, mod: IRModule, ctx: PassContext
        ) -> Function:
            assert ctx.diag_ctx is not None
            said = f"on {ctx.function_name}"
            ctx.diag_ctx.emit(Diagnostic(DiagnosticLevel.NOTE, None, said))
            return marked(func, "said")

    said: list[str] = []

    def take(_hook: str, _mod: Any, _name: str) -> bool:
        said.append(capsys.readouterr().err)
        return True

    log = Log(at=take)
    with PassContext(instruments=[log]):
        mod = run(Say(), module("a", "b"))
    assert log.log[2:4] == ["before Say", "should InferType"]
    assert [text.count("on ") for text in said[2:4]] == [0, 2]
    assert mod["a"].checked_type_ is not None


def test_6_4_bodies_see_the_functions_as_they_were(run: Run):
    mod = module("a", "b")
    before = dict(mod.functions_by_name)

    def others(_func: Function, seen: IRModule, ctx: PassContext) -> list[str]:
        assert ctx.same_as(PassContext.current())
        return [marks(seen, name) for name in seen.functions_by_name]

    result = run(Sequential([Mark("M"), Observe(others)]), mod)
    for name in "ab":
        assert marks(result, name) == "M ['M', 'M']"
        assert mod[name] is before[name]
    assert result is not mod


def test_6_4_the_module_is_neither_the_input_nor_the_result(run: Run):
    mod = module("a", "b")
    first, second = (marks(run(Observe(lambda _f, m, _c: id(m)), mod), n) for n in "ab")
    assert str(id(mod)) not in (first, second)


@pytest.mark.parametrize(
    ("attrs", "visited"),
    [
        ({"Compiler": "any"}, False),
        ({"Compiler": 0}, False),
        ({"SkipOptimization": 1}, False),
        ({"Extern": 1}, False),
        ({"SkipOptimization": 0}, True),
        ({"Extern": 0}, True),
        ({"Primitive": 1}, True),
        ({"Inline": 1}, True),
    ],
)
def test_6_6_functions_with_these_attributes_are_skipped(
    run: Run, attrs: dict[str, Any], visited: bool
):
    mod = module("a", b=identity(**attrs))
    result = run(Mark("M"), mod)
    assert marks(result, "a") == "M"
    assert marks(result, "b") == ("M" if visited else "")


def test_6_7_infer_type_follows_as_a_nested_pass(run: Run):
    log = InfoLog()
    transform = relay.transform
    passes = [transform.InferType(), transform.FoldConstant()]
    with PassContext(instruments=[log]):
        run(Sequential([*passes, transform.DeadCodeElimination()]), module())
    names = ["sequential", "InferType", "FoldConstant", "InferType"]
    assert log.names == [*names, "DeadCodeElimination", "InferType"]


def test_6_7_it_can_be_vetoed_but_not_disabled(run: Run):
    with PassContext(instruments=[Log(at=vetoing("InferType"))]):
        assert run(Mark(), module())["main"].checked_type_ is None
    with PassContext(disabled_pass=["InferType"]):
        assert run(Mark(), module())["main"].checked_type_ is not None


def test_6_8_functions_are_visited_in_the_order_of_the_module(run: Run):
    said: list[str] = []

    class Say(FunctionPass):
        pass_info = PassInfo(0, "Say")

        def transform_function(
            self, func: Function, mod: IRModule, ctx: PassContext
        ) -> Function:
            assert ctx.diag_ctx is not None
            name = str(ctx.function_name)
            ctx.diag_ctx.emit(Diagnostic(DiagnosticLevel.NOTE, None, name))
            return func

    names = ["c", "a", "d", "b", "e"]
    mod = module(*names)
    with PassContext() as context:
        result = run(Say(), mod)
    assert context.diag_ctx is not None
    said = [diagnostic.message for diagnostic in context.diag_ctx.diagnostics]
    assert said == names
    assert list(result.functions_by_name) == names
    assert [var.name_hint for var in result.get_global_vars()] == sorted(names)


@pytest.mark.parametrize("name", ["new", "main"])
def test_6_9_a_body_may_not_write_to_the_module(run: Run, name: str):
    class Write(FunctionPass):
        pass_info = PassInfo(0, "Write")

        def transform_function(
            self, func: Function, mod: IRModule, ctx: PassContext
        ) -> Function:
            mod[name] = func
            return func

    mod = module()
    with pytest.raises(ReadOnlyModuleError, match="'Write'") as caught:
        run(Write(), mod)
    assert caught.value.pass_name == "Write"
    assert "new" not in mod


@pytest.mark.parametrize("result", [None, 7, relay.const(1)])
def test_6_10_a_body_must_return_a_function(run: Run, result: Any):
    mod = module("a", "b")
    with pytest.raises(
        TypeError, match="'Give' must return a Function for function 'a"
    ):
        run(Give(result), mod)
    assert marks(mod, "a") == ""


def test_6_10_an_ill_formed_or_ill_typed_result_is_an_error(run: Run):
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(3,))
    with pytest.raises(DiagnosticError, match=r"'main'.*'y'"):
        run(Give(Function((x,), y)), module())
    with pytest.raises(DiagnosticError, match=r"function 'main'.*add"):
        run(Give(Function((x, y), relay.add(x, y))), module())


def test_6_11_an_exception_aborts_the_pass_and_writes_nothing(run: Run):
    mod = module("a", "b", "c")
    functions = dict(mod.functions_by_name)
    pipeline = Sequential([Mark("M"), Raise(ValueError("bad"), only="b")])
    with pytest.raises(ValueError, match="bad"):
        run(pipeline, mod)
    assert all(mod[name] is function for name, function in functions.items())


def test_6_12_an_empty_module_runs_no_bodies_but_infer_type(run: Run):
    log = InfoLog()
    with PassContext(instruments=[log]):
        assert len(run(Give(None), IRModule())) == 0
    assert log.names == ["Give", "InferType"]
