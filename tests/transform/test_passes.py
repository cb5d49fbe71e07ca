from typing import Any

import pytest

from parpass.diagnostic import DiagnosticLevel
from parpass.errors import (
    ArgumentError,
    PassInputError,
    PassResultError,
    ReadOnlyModuleError,
)
from parpass.transform import (
    FunctionPass,
    FunctionwisePass,
    ModulePass,
    PassContext,
    PassInfo,
    Sequential,
)
from tests.support.toy.ir import (
    Fn,
    Program,
    checked_program,
    program,
    values_of,
)
from tests.support.toy.passes import (
    Add,
    AddFrom,
    Duplicate,
    FailOn,
    FailWhole,
    Keep,
    ReturnWrong,
    Say,
    Write,
)


def test_a_call_takes_one_module_only():  # D6
    with pytest.raises(TypeError):
        Add()(program(1), PassContext())  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize("wrong", [None, 7, "text"])
def test_something_that_is_no_module_is_refused(wrong: Any):  # 5.3
    with pytest.raises(
        PassInputError, match=r"pass 'Add' expected .*Program"
    ) as caught:
        Add()(wrong)
    assert isinstance(caught.value, TypeError)
    assert caught.value.pass_name == "Add"


@pytest.mark.parametrize("wrong", [None, 7, Fn(())])
def test_a_module_pass_must_return_a_module(wrong: Any):  # 5.5
    class Wrong(ModulePass):
        pass_info = PassInfo(0, "Wrong")

        def transform_module(self, mod: Program, ctx: PassContext) -> Any:
            return wrong

    with pytest.raises(PassResultError) as caught:
        Wrong()(program())
    assert str(caught.value).startswith(
        f"module pass 'Wrong' must return a module, got {type(wrong).__name__}"
    )
    assert f"{__file__}:{Wrong.transform_module.__code__.co_firstlineno}" in str(
        caught.value
    )
    assert caught.value.pass_name == "Wrong"


def test_an_error_in_a_module_pass_is_raised_as_itself_with_the_pass():  # 5.8
    with pytest.raises(ValueError, match="the module is bad") as caught:
        FailWhole()(program())
    assert caught.value.__notes__ == ["in pass 'FailWhole'"]


def test_a_pass_without_a_body_says_what_it_lacks():  # 5.20
    class Empty(ModulePass):
        pass_info = PassInfo(0, "Empty")

    class EmptyToo(FunctionPass):
        pass_info = PassInfo(0, "EmptyToo")

    with pytest.raises(NotImplementedError, match="'Empty' has no transform_module"):
        Empty()(program())
    with pytest.raises(NotImplementedError, match="'EmptyToo' has no transform_func"):
        EmptyToo()(program(1))


def test_function_passes_see_the_module_as_it_stood_before():  # 6.4
    result = AddFrom("f1")(program(1, 2))
    assert values_of(result) == {"f0": (1, 2), "f1": (2, 2)}


def test_function_passes_get_one_module_that_is_neither_input_nor_result():  # 6.4
    class Look(FunctionPass):
        pass_info = PassInfo(0, "Look")

        def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
            seen.append(mod)
            return func

    seen: list[Program] = []
    mod = program(1, 2)
    result = Look()(mod)
    assert seen[0] is seen[1]
    assert seen[0] is not mod
    assert seen[0] is not result


def test_functions_that_the_ir_excludes_are_skipped():  # 6.6
    mod = program(1, skipped=Fn((7,), skip=True))
    assert values_of(Add()(mod)) == {"f0": (2,), "skipped": (7,)}


def test_a_functionwise_module_pass_visits_them_too():
    class AddEverywhere(FunctionwisePass):
        pass_info = PassInfo(0, "AddEverywhere")

        def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
            return func.with_values(value + 1 for value in func.values)

    mod = program(1, skipped=Fn((7,), skip=True))
    assert values_of(AddEverywhere()(mod)) == {"f0": (2,), "skipped": (8,)}
    assert isinstance(AddEverywhere(), ModulePass)


def test_a_functionwise_pass_is_a_module_pass_by_its_body_too():
    class Level(FunctionwisePass):
        pass_info = PassInfo(0, "Level")

        def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
            assert ctx is PassContext.current()
            return func.with_values([ctx.opt_level])

    made = Level().transform_module(program(7, 8), PassContext(opt_level=3))
    assert values_of(made) == {"f0": (3,), "f1": (3,)}


def test_functions_that_did_not_change_keep_their_identity():
    mod = program(1, skipped=Fn((7,), skip=True))
    assert Add(0)(mod)["f0"] is mod["f0"]
    assert Add(1)(mod)["skipped"] is mod["skipped"]


def test_writing_to_the_module_is_refused():  # 6.9
    with pytest.raises(ReadOnlyModuleError, match="pass 'Write'") as caught:
        Write()(program(1))
    assert caught.value.pass_name == "Write"


@pytest.mark.parametrize("wrong", [None, 7, program()])
def test_a_function_pass_must_return_a_function(wrong: Any):  # 6.10
    mod = program(1, 2)
    with pytest.raises(PassResultError) as caught:
        ReturnWrong(wrong)(mod)
    assert str(caught.value).startswith(
        f"pass 'ReturnWrong' must return a Fn for function 'f0', got "
        f"{type(wrong).__name__}"
    )
    assert (caught.value.pass_name, caught.value.function) == ("ReturnWrong", "f0")
    assert mod == program(1, 2)


def test_an_error_in_a_function_pass_names_pass_and_function():  # 6.11
    mod = program(1, 2, 2)
    with pytest.raises(ValueError, match="met 2") as caught:
        FailOn(2)(mod)
    assert caught.value.__notes__ == ["in pass 'FailOn', on function 'f1'"]
    assert mod == program(1, 2, 2)


def test_an_empty_module_runs_no_bodies_but_the_restoring_pass_is_entered():  # 6.12
    assert ReturnWrong()(checked_program()) == checked_program()


def test_the_restoring_pass_checks_what_function_passes_made():  # 6.3
    assert Add(1)(checked_program(1))["f0"] == Fn((2,), checked=True)
    with pytest.raises(ValueError, match="-1 is negative") as caught:
        Add(-2)(checked_program(1))
    assert caught.value.__notes__ == ["in pass 'Check', on function 'f0'"]


def test_a_sequential_feeds_each_pass_with_the_result_of_the_last():  # 7.3
    assert Sequential([Add(), Duplicate(), Add()])(program(1)) == (
        program(3, f0_copy=Fn((3,)))
    )


@pytest.mark.parametrize("nothing", [None, [], ()])
def test_a_sequential_may_be_empty(nothing: Any):  # 7.1
    mod = program(1)
    assert Sequential(nothing)(mod) is mod
    assert Sequential(nothing).passes == ()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"passes": Add()}, "expected a list of passes for 'sequential'"),
        ({"passes": {Add()}}, "expected a list of passes for 'sequential'"),
        ({"passes": [print]}, "expected passes in 'sequential', got <built-in"),
        ({"required": "Add"}, "a list or a tuple of names for required of pass 's"),
        ({"required": {"Add"}}, "a list or a tuple of names for required of pass"),
        ({"opt_level": "2"}, "expected an int for opt_level"),
    ],
)
def test_a_sequential_refuses_arguments_of_the_wrong_kind(
    arguments: dict[str, Any], complaint: str
):  # 7.1, 7.2
    with pytest.raises(ArgumentError, match=complaint):
        Sequential(**arguments)


def test_diagnostics_of_one_pass_do_not_reach_the_next(
    capsys: pytest.CaptureFixture[str],
):
    Sequential([Say(DiagnosticLevel.NOTE), Keep(), Add()])(program(1))
    assert capsys.readouterr().err == "note: saw 1\n --> source:1:1\n"
