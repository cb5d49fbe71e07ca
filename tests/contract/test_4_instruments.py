"""Contract section 4: instruments, their order, and what happens if one fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from parpass.instrument import PassInstrument, pass_instrument
from parpass.transform import ModulePass, PassContext, PassInfo, Sequential
from tests.contract.marking import Mark, MarkAll, Raise, Run, marks, module
from tests.support.watching import InfoLog, Log, raising_at, vetoing

At = Callable[[str, Any, str], Any]


def pair(a: At | None = None, b: At | None = None) -> tuple[Log, Log, list[str]]:
    """Return instruments `a` and `b` with one log."""
    log: list[str] = []
    return Log("a.", log, a), Log("b.", log, b), log


def test_4_1_every_hook_is_optional(run: Run):
    class Nothing(PassInstrument):
        pass

    class OnlyAfter(PassInstrument):
        called = 0

        def run_after_pass(self, mod: Any, info: PassInfo) -> None:
            self.called += 1

    only = OnlyAfter()
    with PassContext(instruments=[Nothing(), only]):
        assert marks(run(MarkAll(), module())) == "MarkAll"
    assert only.called == 1


def test_4_2_the_decorator_has_three_forms():
    class Plain:
        pass

    for made in (pass_instrument(Plain), pass_instrument()(Plain)):
        assert issubclass(made, PassInstrument)

    @pass_instrument
    class Bare:
        pass

    assert issubclass(Bare, PassInstrument)
    with pytest.raises(TypeError, match="pi_cls must be a class"):
        pass_instrument(7)  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_4_3_a_decorated_class_derives_from_both(run: Run):
    class Plain:
        """Counts."""

        def __init__(self, start: int) -> None:
            self.count = start

        def run_before_pass(self, mod: Any, info: PassInfo) -> None:
            self.count += 1

    made = pass_instrument(Plain)
    assert (made.__name__, made.__doc__) == ("Plain", "Counts.")
    assert made.__module__ == Plain.__module__
    one = made(5)
    assert isinstance(one, Plain)
    assert isinstance(one, PassInstrument)
    assert pass_instrument(made) is made
    with PassContext(instruments=[one]):
        run(MarkAll(), module())
    assert one.count == 6


def test_4_4_a_subclass_need_not_call_the_constructor_of_the_base(run: Run):
    class Forgetful(PassInstrument):
        def __init__(self) -> None:
            self.count = 0

        def run_before_pass(self, mod: Any, info: PassInfo) -> None:
            self.count += 1

    class Without(PassInstrument):
        pass

    forgetful = Forgetful()
    with PassContext(instruments=[forgetful, Without()]):
        run(MarkAll(), module())
    assert forgetful.count == 1


def test_4_5_hooks_are_bound_at_construction(run: Run):
    log = Log()

    def replaced(mod: Any, info: PassInfo) -> None:
        raise AssertionError

    log.run_before_pass = replaced
    with PassContext(instruments=[log]):
        run(MarkAll("A"), module())
    assert "before A" in log.log


def test_4_6_a_hook_counts_when_the_class_defines_it(run: Run):
    class Child(InfoLog):
        run_after_pass = PassInstrument.run_after_pass

    child = Child()
    with PassContext(instruments=[child]):
        run(MarkAll(), module())
    assert (len(child.before), len(child.after)) == (1, 0)


def test_4_7_its_name_is_that_of_its_class():
    assert Log().name == str(Log()) == "Log"


def test_4_8_enter_goes_in_list_order():
    first, second, log = pair()
    with PassContext(instruments=[first, second]):
        assert log == ["a.enter", "b.enter"]


def test_4_9_an_enter_failure_exits_the_entered_ones_in_reverse(run: Run):
    log: list[str] = []
    failing = Log("c.", log, raising_at("enter"))
    instruments = [Log("a.", log), Log("b.", log), failing, Log("d.", log)]
    context = PassContext(instruments=instruments)
    outer = PassContext.current()
    with pytest.raises(LookupError):
        context.__enter__()
    assert log == ["a.enter", "b.enter", "c.enter", "b.exit", "a.exit"]
    assert PassContext.current() is outer
    assert context.instruments == tuple(instruments)
    log.clear()
    run(MarkAll(), module())
    assert log == []


def test_4_9_errors_of_the_rollback_surface_together():
    first, second, _ = pair(raising_at("exit"), raising_at("enter"))
    with pytest.raises(ExceptionGroup) as caught:
        PassContext(instruments=[first, second]).__enter__()
    texts = [str(error) for error in caught.value.exceptions]
    assert texts == ["enter fails", "exit fails"]


def test_4_10_exit_goes_in_list_order_and_all_are_exited(run: Run):
    first, second, log = pair(raising_at("exit"))
    context = PassContext(instruments=[first, second])
    with pytest.raises(LookupError), context:
        run(MarkAll(), module())
    assert log[-2:] == ["a.exit", "b.exit"]
    assert context.instruments == (first, second)


def test_4_11_an_exit_failure_is_chained_to_the_error_of_the_body(run: Run):
    context = PassContext(instruments=[Log(at=raising_at("exit"))])
    with pytest.raises(LookupError) as caught, context:
        run(Raise(ValueError("body")), module())
    assert isinstance(caught.value.__context__, ValueError)


def test_4_12_an_error_of_the_body_lets_all_exit(run: Run):
    first, second, log = pair()
    context = PassContext(instruments=[first, second])
    with pytest.raises(ValueError, match="body"), context:
        run(Raise(ValueError("body")), module())
    assert log[-2:] == ["a.exit", "b.exit"]
    assert context.instruments == (first, second)


def test_4_13_failures_at_enter_name_the_instrument():
    with pytest.raises(LookupError) as caught:
        PassContext(instruments=[Log(at=raising_at("enter"))]).__enter__()
    assert caught.value.__notes__ == ["in enter_pass_ctx of instrument 'Log'"]


def test_4_14_should_run_is_asked_of_every_instrument(run: Run):
    first, second, log = pair(vetoing("A"))
    mod = module()
    with PassContext(instruments=[first, second]):
        assert run(MarkAll("A"), mod) is mod
        run(MarkAll("B"), mod)
    assert log[2:-2] == ["a.should A", "b.should A"] + [
        f"{who}.{hook} B" for hook in ("should", "before", "after") for who in "ab"
    ]


def test_4_15_a_pass_that_the_context_requires_bypasses_should_run(run: Run):
    log = Log(at=vetoing("A", "InferType"))
    with PassContext(required_pass=["A"], instruments=[log]):
        assert marks(run(Mark("A"), module())) == "A"
    assert log.log == ["enter", "before A", "should InferType", "after A", "exit"]


def test_4_15_what_the_pass_info_requires_does_not_count(run: Run):
    mod = module()
    with PassContext(instruments=[Log(at=vetoing("A"))]):
        assert run(MarkAll("A", required=["A"]), mod) is mod


def test_4_16_a_veto_gives_the_same_module_back(run: Run):
    log = Log(at=vetoing("A"))
    mod = module()
    with PassContext(instruments=[log]):
        assert run(Mark("A"), mod) is mod
    assert log.log == ["enter", "should A", "exit"]


def test_4_17_hooks_see_the_module_before_and_after(run: Run):
    log = InfoLog()
    mod = module()
    a_pass = MarkAll("A")
    with PassContext(instruments=[log]):
        result = run(a_pass, mod)
    assert log.before[0] is mod
    assert log.after[0] is result
    assert log.seen[0] is a_pass.info


def test_4_17_a_function_pass_is_seen_with_its_result(run: Run):
    log = InfoLog()
    with PassContext(instruments=[log]):
        run(Sequential([Mark("A"), Mark("B")]), module())
    seen = dict(zip(log.names, map(marks, log.before), strict=True))
    assert seen == {"sequential": "", "A": "", "InferType": "A B", "B": "A"}
    assert [marks(mod) for mod in log.after] == ["A", "A", "A B", "A B", "A B"]


@pytest.mark.parametrize("answer", [None, "yes"])
def test_4_18_should_run_must_return_a_bool_or_an_int(run: Run, answer: Any):
    def answering(what: Any) -> Log:
        return Log(at=lambda _hook, _mod, _name: what)

    with PassContext(instruments=[answering(1)]):
        assert marks(run(MarkAll("A"), module())) == "A"
    with (
        pytest.raises(TypeError, match="should_run of instrument 'Log' must return"),
        PassContext(instruments=[answering(answer)]),
    ):
        run(MarkAll(), module())


@pytest.mark.parametrize(
    ("hook", "calls"),
    [
        ("should", ["a.should A"]),
        ("before", ["a.should A", "b.should A", "a.before A"]),
        (
            "after",
            [
                *["a.should A", "b.should A", "a.before A", "b.before A", "a.after A"],
                "b.failed A",
            ],
        ),
    ],
)
def test_4_19_an_error_in_a_hook_propagates_at_once(
    run: Run, hook: str, calls: list[str]
):
    first, second, log = pair(raising_at(hook))
    context = PassContext(instruments=[first, second])
    mod = module()
    with pytest.raises(LookupError, match=f"{hook} fails"), context:
        run(MarkAll("A"), mod)
    assert log == ["a.enter", "b.enter", *calls, "a.exit", "b.exit"]
    assert context.instruments == (first, second)
    assert marks(mod) == ""


def test_4_20_an_error_in_the_body_leaves_no_after_but_failed(run: Run):
    first, second, log = pair()
    with (
        pytest.raises(ValueError, match="body"),
        PassContext(instruments=[first, second]),
    ):
        run(Raise(ValueError("body")), module())
    assert log[6:] == ["a.failed Raise", "b.failed Raise", "a.exit", "b.exit"]


def test_4_21_a_sequential_is_watched_around_its_children(run: Run):
    log = Log()
    with PassContext(instruments=[log], disabled_pass=["B"]):
        run(Sequential([MarkAll("A"), MarkAll("B")], name="s"), module())
    assert log.log[1:-1] == [
        *["should s", "before s", "should A", "before A", "after A", "after s"]
    ]


def test_4_21_a_vetoed_sequential_skips_its_body(run: Run):
    mod = module()
    with PassContext(instruments=[Log(at=vetoing("s"))]):
        assert run(Sequential([Mark()], name="s"), mod) is mod


def test_4_22_passes_called_inside_a_module_pass_are_nested(run: Run):
    class Calls(ModulePass):
        pass_info = PassInfo(0, "Calls")

        def transform_module(self, mod: Any, ctx: PassContext) -> Any:
            return Mark("A")(mod)

    log = Log()
    with PassContext(instruments=[log]):
        run(Calls(), module())
    assert [call for call in log.log[1:-1] if "should" not in call] == [
        *["before Calls", "before A", "before InferType"],
        *["after InferType", "after A", "after Calls"],
    ]


def test_4_23_an_instrument_listed_twice_is_called_twice(run: Run):
    log = Log()
    with PassContext(instruments=[log, log]):
        run(MarkAll("A"), module())
    hooks = ["enter", "should A", "before A", "after A", "exit"]
    assert log.log == [hook for hook in hooks for _ in range(2)]


def test_4_24_overriding_exits_the_old_and_enters_the_new(run: Run):
    first, second, log = pair()
    context = PassContext(instruments=[first])
    with context:
        context.override_instruments([second])
        assert context.instruments == (second,)
        run(MarkAll("A"), module())
    calls = ["b.enter", "b.should A", "b.before A", "b.after A", "b.exit"]
    assert log == ["a.enter", "a.exit", *calls]


def test_4_24_a_context_that_is_not_active_may_be_overridden():
    first, second, log = pair()
    context = PassContext(instruments=[first])
    context.override_instruments([second])
    assert log == ["a.exit", "b.enter"]


def test_4_25_if_an_old_exit_fails_none_is_left_and_the_next_override_installs():
    first, second, log = pair(raising_at("exit"))
    context = PassContext(instruments=[first])
    with pytest.raises(LookupError):
        context.override_instruments([second])
    assert context.instruments == ()
    assert log == ["a.exit"]
    context.override_instruments([second])
    assert context.instruments == (second,)
    assert log == ["a.exit", "b.enter"]


def test_4_26_if_a_new_enter_fails_the_entered_ones_are_exited():
    first, second, log = pair(None, raising_at("enter"))
    context = PassContext()
    with pytest.raises(LookupError):
        context.override_instruments([first, second])
    assert log == ["a.enter", "b.enter", "a.exit"]
    assert context.instruments == (first, second)


@pytest.mark.parametrize("nothing", [None, []])
def test_4_27_overriding_with_nothing_leaves_none(run: Run, nothing: Any):
    log = Log()
    with PassContext(instruments=[log]) as context:
        context.override_instruments(nothing)
        run(MarkAll(), module())
    assert context.instruments == ()
    assert log.log == ["enter", "exit"]


def test_4_28_a_fresh_default_context_has_an_empty_list():
    seen: list[tuple[Any, ...]] = []

    def look() -> None:
        seen.append(PassContext.current().instruments)

    import contextvars

    contextvars.Context().run(look)
    assert seen == [()]
