"""Contract section 5: calling a pass, module passes, `module_pass`."""

from __future__ import annotations

import functools
import inspect
import pickle
from collections.abc import Callable
from typing import Any, cast

import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.structural import structural_equal
from parpass.relay.expr import Function
from parpass.transform import (
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    PrintIR,
    Sequential,
    module_pass,
)
from tests.contract.marking import (
    Mark,
    MarkAll,
    Raise,
    RaiseAll,
    Run,
    identity,
    marked,
    marks,
    module,
)
from tests.support.runner.failing import UserError

Body = Callable[[IRModule, PassContext], Any]


def made(body: Any, required: Any = None) -> Any:
    return module_pass(cast("Body", body), opt_level=0, name="made", required=required)


def keep(mod: IRModule, ctx: PassContext) -> IRModule:
    return mod


class Tag:
    """Tags each function."""

    kind = "tagging"

    def __init__(self, tag: str, *, twice: bool = False) -> None:
        self.tag = tag
        self.twice = twice

    def doubled(self) -> str:
        return self.tag * 2

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return IRModule({v: marked(f, self.tag) for v, f in mod.functions.items()})


def test_5_1_a_pass_runs_under_the_context_of_the_call(run: Run):
    seen: list[PassContext] = []

    def look(mod: IRModule, ctx: PassContext) -> IRModule:
        seen.append(ctx)
        return mod

    with PassContext():
        a_pass = made(look)
    with PassContext() as context:
        run(a_pass, module())
    assert seen == [context]


def test_5_2_info_and_pass_info_are_one_object():
    a_pass = MarkAll()
    assert isinstance(a_pass.info, PassInfo)
    assert a_pass.info is a_pass.pass_info


@pytest.mark.parametrize("given", [None, 7, "text", {"main": identity()}])
def test_5_3_what_is_no_module_is_refused(run: Run, given: Any):
    with pytest.raises(TypeError, match=r"pass 'MarkAll' expected .*IRModule.*, got"):
        run(MarkAll(), given)


def test_5_4_a_body_gets_the_current_context_and_may_return_its_input(run: Run):
    seen: list[bool] = []

    def look(mod: IRModule, ctx: PassContext) -> IRModule:
        seen.append(ctx.same_as(PassContext.current()))
        return mod

    mod = module()
    assert run(made(look), mod).same_as(mod)
    assert seen == [True]


@pytest.mark.parametrize("result", [None, 7, identity()])
def test_5_5_a_body_must_return_a_module(run: Run, result: Any):
    a_pass = made(lambda _mod, _ctx: result)  # pyright: ignore[reportUnknownLambdaType]
    with pytest.raises(TypeError, match="'made' must return a module, got "):
        run(a_pass, module())


def test_5_6_the_input_is_not_copied(run: Run):
    def add(mod: IRModule, ctx: PassContext) -> IRModule:
        mod["added"] = identity()
        return mod

    mod = module()
    assert run(made(add), mod) is mod
    assert "added" in mod


def test_5_7_its_text_has_kind_name_and_level():
    text = "Run Module pass: N at the optimization level 3"
    assert str(MarkAll("N", 3)) == text


@pytest.mark.parametrize("kind", [Raise, RaiseAll])
@pytest.mark.parametrize(
    "error", [UserError("bad", 7), NotImplementedError("bad"), KeyError("bad")]
)
def test_5_8_the_exception_of_a_body_propagates_as_itself(
    run: Run, kind: Callable[[Exception], Pass], error: Exception
):
    with pytest.raises(type(error)) as caught:
        run(kind(error), module())
    assert type(caught.value) is type(error)
    assert caught.value.args == error.args
    assert vars(caught.value).get("code") == vars(error).get("code")


def test_5_9_an_error_says_in_which_pass_once(run: Run):
    with pytest.raises(ValueError, match="bad") as caught:
        run(Sequential([Raise(ValueError("bad"), only="f")]), module("main", "f"))
    assert caught.value.__notes__ == ["in pass 'Raise', on function 'f'"]
    with pytest.raises(ValueError, match="bad") as caught:
        run(Sequential([RaiseAll(ValueError("bad"))]), module())
    assert caught.value.__notes__ == ["in pass 'RaiseAll'"]


def test_5_10_the_decorator_takes_these_arguments():
    names = ["pass_func", "opt_level", "name", "required"]
    own = ["preserves", "cacheable"]
    assert list(inspect.signature(module_pass).parameters) == [*names, *own]


def test_5_11_a_missing_level_is_refused_at_once():
    with pytest.raises(ValueError, match="opt_level for the module pass"):
        module_pass(keep)
    with pytest.raises(ValueError, match="opt_level"):
        module_pass()


@pytest.mark.parametrize("required", ["InferType", {"InferType"}])
def test_5_12_required_must_be_a_list_or_a_tuple(required: Any):
    with pytest.raises(TypeError, match="expected a list or a tuple"):
        made(keep, required=required)
    assert made(keep, required=None).info.required == ()
    assert made(keep, required=["a"]).info.required == ("a",)


def test_5_13_it_is_a_decorator_with_and_without_the_function(run: Run):
    first = module_pass(keep, opt_level=1)
    second = module_pass(opt_level=1)(keep)
    mod = module()
    for a_pass in (first, second):
        assert a_pass.info.name == "keep"
        assert run(a_pass, mod) is mod


def test_5_14_the_name_is_the_given_or_the_functions():
    for name, expected in ((None, "keep"), ("", "keep"), ("given", "given")):
        assert module_pass(keep, opt_level=1, name=name).info.name == expected
    unnamed: Body = lambda mod, ctx: mod  # noqa: E731 -- its name is the point
    assert module_pass(unnamed, opt_level=1).info.name == "<lambda>"
    with pytest.raises(AttributeError):
        module_pass(functools.partial(keep), opt_level=1)


def test_5_15_any_callable_is_accepted(run: Run):
    def tag(tag: str, mod: IRModule, ctx: PassContext) -> IRModule:
        return IRModule({v: marked(f, tag) for v, f in mod.functions.items()})

    assert marks(run(made(functools.partial(tag, "T")), module())) == "T"
    with pytest.raises(TypeError, match="expected a callable or a class"):
        made(7)


def test_5_16_the_function_form_is_a_module_pass(run: Run):
    a_pass = made(lambda: None)
    assert isinstance(a_pass, ModulePass)
    assert isinstance(a_pass, Pass)
    with pytest.raises(TypeError, match="positional argument"):
        run(a_pass, module())


def test_5_17_the_class_form_is_a_class_of_passes(run: Run):
    tags: Any = module_pass(Tag, opt_level=1)
    assert ModulePass in tags.__mro__
    assert marks(run(tags("T", twice=True), module())) == "T"


def test_5_18_the_class_form_reads_through_and_writes_outside(run: Run):
    tags: Any = module_pass(Tag, opt_level=1)
    assert (tags.__name__, tags.__doc__) == ("Tag", "Tags each function.")
    assert tags.__module__ == Tag.__module__
    assert list(inspect.signature(tags).parameters) == ["tag", "twice"]
    a_pass = tags("T")
    assert (a_pass.tag, a_pass.doubled(), a_pass.kind) == ("T", "TT", "tagging")
    with pytest.raises(AttributeError, match="'Tag' object has no attribute 'nope'"):
        _ = a_pass.nope
    a_pass.tag = "U"
    assert a_pass.tag == "U"
    assert marks(run(a_pass, module())) == "T"
    assert not hasattr(tags, "kind")
    assert Tag not in tags.__mro__


def test_5_19_one_info_is_shared_by_all_instances():
    tags = module_pass(Tag, opt_level=1)
    assert tags("a").info is tags("b").info
    assert tags("a").info.name == "Tag"


def test_5_20_a_class_without_the_method_fails_when_run(run: Run):
    empty: Any = type("Empty", (), {})
    a_pass: Any = made(empty)()
    with pytest.raises(AttributeError, match="transform_module"):
        run(a_pass, module())


def test_5_21_print_ir_prints_to_standard_error(
    run: Run, capsys: pytest.CaptureFixture[str]
):
    mod = module()
    assert run(Sequential([PrintIR("here")]), mod) is mod
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"PrintIR(here):\n{mod}\n"
    assert (PrintIR().info.name, PrintIR().info.opt_level) == ("PrintIR", 0)


def test_5_22_values_pickle(run: Run):
    info = pickle.loads(pickle.dumps(PassInfo(1, "x", ["a"])))
    assert (info.opt_level, info.name, info.required) == (1, "x", ("a",))
    config = {"tir.UnrollLoop": {"auto_max_step": 3}}
    context = pickle.loads(pickle.dumps(PassContext(3, ["a"], ["b"], config=config)))
    assert (context.opt_level, context.required_pass) == (3, ("a",))
    assert context.config["tir.UnrollLoop"].auto_max_step == 3
    function = identity()
    assert structural_equal(pickle.loads(pickle.dumps(function)), function)
    caller = Function((), relay.GlobalVar("main")(relay.const([1.0, 2.0])))
    mod = module("main", caller=caller)
    again = pickle.loads(pickle.dumps(mod))
    assert structural_equal(again, mod)
    assert again["caller"].body.op is again.get_global_var("main")
    # And unlike in TVM a pass keeps its body.
    assert marks(run(pickle.loads(pickle.dumps(Mark("M"))), again)) == "M"
