"""Contract section 2: PassContext, its scope, and which passes are enabled."""

from __future__ import annotations

import contextvars
import threading
import warnings
from typing import Any

import pytest

from parpass import relay
from parpass.errors import ArgumentError, PassContextError
from parpass.transform import ModulePass, PassContext, PassInfo, Sequential
from tests.contract.marking import Mark, MarkAll, Observe, Run, marks, module
from tests.support.watching import Log


def settings(context: PassContext) -> tuple[Any, ...]:
    return (
        context.opt_level,
        context.required_pass,
        context.disabled_pass,
        dict(context.config),
    )


def test_2_1_a_pass_reads_all_fields_of_the_context(run: Run):
    context = PassContext(3, ["a"], ["b"], None, {"relay.FuseOps.max_depth": 7})
    with context:
        mod = run(Observe(lambda _f, _m, ctx: settings(ctx)), module())
    assert marks(mod) == "(3, ('a',), ('b',), {'relay.FuseOps.max_depth': 7})"
    assert context.instruments == ()
    assert context.diag_ctx is None


def test_2_2_defaults(run: Run):
    with PassContext():
        mod = run(Observe(lambda _f, _m, ctx: settings(ctx)), module())
    assert marks(mod) == "(2, (), (), {})"
    assert PassContext().diag_ctx is None


def test_2_3_arguments_have_this_order():
    log = Log()
    context = PassContext(3, ["A"], ["B"], [log], {})
    assert settings(context) == (3, ("A",), ("B",), {})
    assert context.instruments == (log,)


@pytest.mark.parametrize("given", [{"A": 1}, ["A"], ("A",), {"A"}, iter(["A"])])
def test_2_4_lists_may_be_any_iterable_but_no_string(given: Any):
    assert PassContext(required_pass=given).required_pass == ("A",)
    with pytest.raises(ArgumentError, match="the str 'abc'"):
        PassContext(required_pass="abc")
    with pytest.raises(TypeError, match="not iterable"):
        PassContext(disabled_pass=7)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="expected names"):
        PassContext(disabled_pass=[7])  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="expected pass instruments"):
        PassContext(instruments=[object()])


def test_2_4_lists_are_copied_and_falsy_values_are_empty():
    given = ["A"]
    context = PassContext(required_pass=given, disabled_pass="")
    given.append("B")
    assert (context.required_pass, context.disabled_pass) == (("A",), ())


@pytest.mark.parametrize("level", ["2", None, 2.0])
def test_2_5_the_level_must_be_an_int(level: Any):
    with pytest.raises(TypeError, match="expected an int for opt_level"):
        PassContext(opt_level=level)


def test_2_5_a_negative_level_leaves_the_required_passes(run: Run):
    with PassContext(opt_level=-1, required_pass=["B"]):
        mod = run(Sequential([Mark("A"), Mark("B")]), module())
    assert marks(mod) == "B"
    assert PassContext(opt_level=True).opt_level == 1


def test_2_6_config_is_checked_at_once():
    assert dict(PassContext(config={}).config) == {}
    with pytest.raises(AttributeError):
        PassContext(config={"no.such.option": 1})


def test_2_7_its_text_has_all_settings():
    text = str(PassContext(3, ["A"], ["B"], [Log()]))
    for part in ("opt_level=3", "['A']", "['B']", "['Log']", "config={}"):
        assert part in text


def test_2_8_it_is_equal_only_to_itself():
    assert PassContext() != PassContext()
    with PassContext() as context:
        assert PassContext.current() == context
        assert PassContext.current().same_as(context)


def test_2_9_build_config_warns_and_gives_a_context(run: Run):
    with pytest.warns(DeprecationWarning, match="PassContext"):
        context = relay.build_config(3, ["A"], ["B"])
    assert settings(context) == (3, ("A",), ("B",), {})
    with context:
        pipeline = Sequential([Mark("A", 4), Mark("B"), Mark("C", 3)])
        assert marks(run(pipeline, module())) == "A C"


def test_2_10_state_follows_the_contextvars_context(run: Run):
    seen: list[PassContext] = []
    default = PassContext.current()
    with PassContext(opt_level=3) as context:
        thread = threading.Thread(target=lambda: seen.append(PassContext.current()))
        thread.start()
        thread.join()
        inherited = contextvars.copy_context()
        mod = run(Observe(lambda _f, _m, _c: PassContext.current().opt_level), module())
    assert seen[0].opt_level == 2
    assert inherited.run(PassContext.current) is context
    assert marks(mod) == "3"
    assert PassContext.current() is default


def test_2_11_the_default_is_one_persistent_object(run: Run):
    seen: list[PassContext] = []

    class Look(ModulePass):
        pass_info = PassInfo(0, "Look")

        def transform_module(self, mod: Any, ctx: PassContext) -> Any:
            seen.append(PassContext.current())
            return mod

    run(Look(), module())
    assert PassContext.current() is seen[0]
    assert seen[0].opt_level == 2


def test_2_12_enter_runs_the_hooks_and_then_pushes():
    outer = PassContext.current()
    context = PassContext(instruments=[Log(at=fail_at("enter"))])
    with pytest.raises(LookupError):
        context.__enter__()
    assert PassContext.current() is outer
    with PassContext() as entered:
        assert PassContext.current() is entered


def fail_at(hook: str) -> Any:
    def at(seen: str, _mod: Any, _name: str) -> bool:
        if seen == hook:
            raise LookupError(hook)
        return True

    return at


def test_2_13_exit_pops_first_and_swallows_nothing(run: Run):
    outer = PassContext.current()
    with (
        pytest.raises(LookupError, match="exit"),
        PassContext(instruments=[Log(at=fail_at("exit"))]),
    ):
        run(Mark(), module())
    assert PassContext.current() is outer
    with pytest.raises(KeyError), PassContext():
        raise KeyError
    assert PassContext.current() is outer


def test_2_14_the_context_hooks_see_the_outer_context(run: Run):
    seen: list[PassContext] = []
    outer = PassContext.current()
    look = Log(at=lambda _hook, _mod, _name: seen.append(PassContext.current()) or True)
    with PassContext(instruments=[look]) as inner:
        run(MarkAll(), module())
    assert seen == [outer, inner, inner, inner, outer]


def test_2_15_leaving_out_of_order_names_both_and_changes_nothing():
    with PassContext(opt_level=1) as first, PassContext(opt_level=3) as second:
        with pytest.raises(PassContextError) as caught:
            first.__exit__(None, None, None)
        assert PassContext.current() is second
    assert isinstance(caught.value, RuntimeError)
    assert "opt_level=1" in str(caught.value)
    assert "opt_level=3" in str(caught.value)
    with pytest.raises(PassContextError, match="none is entered"):
        first.__exit__(None, None, None)


def test_2_16_a_context_may_be_entered_again(run: Run):
    log = Log()
    context = PassContext(instruments=[log])
    with context, context:
        run(MarkAll(), module())
    with context:
        pass
    calls = ["enter", "enter", "should MarkAll", "before MarkAll", "after MarkAll"]
    assert log.log == [*calls, "exit", "exit", "enter", "exit"]


def test_2_17_nested_contexts_do_not_merge(run: Run):
    log = Log()
    outer = PassContext(3, instruments=[log], disabled_pass=["A"])
    pipeline = Sequential([MarkAll("A"), MarkAll("B", 3)])
    with outer:
        with PassContext():
            assert marks(run(pipeline, module())) == "A"
        assert log.log == ["enter"]
        assert marks(run(pipeline, module())) == "B"
    assert "before B" in log.log


def test_2_18_instruments_of_the_default_context_come_by_overriding(run: Run):
    log = Log()
    default = PassContext.current()
    default.override_instruments([log])
    try:
        run(MarkAll("A"), module())
    finally:
        default.override_instruments([])
    assert log.log == ["enter", "should A", "before A", "after A", "exit"]


@pytest.mark.parametrize(
    ("context", "ran"),
    [
        ({"opt_level": 2}, "A B"),
        ({"opt_level": 1}, "A"),
        ({"opt_level": 0}, ""),
        ({"opt_level": 0, "required_pass": ["B"]}, "B"),
        ({"disabled_pass": ["B"]}, "A"),
        ({"disabled_pass": ["B"], "required_pass": ["B"]}, "A"),
        ({"disabled_pass": ["b", "B2"]}, "A B"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*'b', but no pass has that name")
def test_2_19_disabled_beats_required_beats_level(
    run: Run, context: dict[str, Any], ran: str
):
    with PassContext(**context):
        assert marks(run(Sequential([Mark("A", 1), Mark("B", 2)]), module())) == ran


def test_2_20_a_pass_that_is_called_runs_whatever_the_context_says(run: Run):
    with PassContext(opt_level=-1, disabled_pass=["A"]):
        if_called = Mark("A", 9)
        assert marks(if_called(module())) == "A"
        assert marks(run(MarkAll("A", 9), module())) == "A"


def test_2_21_passes_are_known_by_the_name_in_their_info(run: Run):
    a_pass = relay.transform.FoldConstant()
    a_pass.pass_info = PassInfo(2, "Other")
    log = Log()
    with PassContext(disabled_pass=["FoldConstant"], instruments=[log]):
        run(Sequential([a_pass]), module())
    assert "before Other" in log.log
    log.log.clear()
    with PassContext(disabled_pass=["Other"], instruments=[log]):
        run(Sequential([a_pass]), module())
    assert "before Other" not in log.log


def test_2_9_it_warns_once_where_it_is_called():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        relay.build_config()
    assert [warning.filename for warning in caught] == [__file__]
