"""What passes log and warn of in uncommon ways is heard as in a serial run, too."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Generator
from contextlib import nullcontext
from typing import Any

import pytest

from parpass.diagnostic import Diagnostic, DiagnosticContext, Span, override_renderer
from parpass.errors import DiagnosticError
from parpass.instrument import PassInstrument
from parpass.runner import Runner
from parpass.transform import FunctionPass, Pass, PassContext, PassInfo, Sequential
from parpass.transform.config import ASKING_WORKERS_SECONDS
from tests.support.runner.pooled import POOLED
from tests.support.toy.ir import Fn, Program, program
from tests.support.toy.talking import LOGGER, Catch, WarnOfAll, listening

Body = Callable[[Fn, PassContext], Any]
logger = logging.getLogger(LOGGER)


class Do(FunctionPass):
    """Does something on each function, and returns it."""

    def __init__(self, body: Body, name: str = "Do") -> None:
        self.pass_info = PassInfo(0, name)
        self.body = body

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        self.body(func, ctx)
        return func


class OwnWarning(UserWarning):
    """As a program defines it in its main module."""


class Counted(UserWarning):
    """Its constructor takes something else than its `args`."""

    def __init__(self, text: str, count: int) -> None:
        super().__init__(text)
        self.count = count


class UncountedError(ValueError):
    """So does this one's."""

    def __init__(self, text: str, count: int) -> None:
        super().__init__(f"{text} {count}")


@pytest.fixture(autouse=True)
def main_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OwnWarning, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "OwnWarning", OwnWarning, False)


def explicitly(func: Fn, ctx: PassContext) -> None:
    warnings.warn_explicit("of the program", UserWarning, "model.relay", 3)


def by_compiling(func: Fn, ctx: PassContext) -> None:
    compile("x is 1", "<generated>", "eval")


def beyond_the_stack(func: Fn, ctx: PassContext) -> None:
    warnings.warn("deep", stacklevel=10_000)


def of_main(func: Fn, ctx: PassContext) -> None:
    warnings.warn(OwnWarning("mine", func.values), stacklevel=1)
    logger.warning("mine", extra={"kind": OwnWarning})


def made_otherwise(func: Fn, ctx: PassContext) -> None:
    warnings.warn(Counted("counted", len(func.values)), stacklevel=1)
    try:
        raise UncountedError("counted", 3)
    except UncountedError as error:
        logger.exception("counted", extra={"kind": type(error)})
        logger.warning("counted", extra={"error": error})


def catching(func: Fn, ctx: PassContext) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("quiet", stacklevel=1)
    for _ in range(2):
        warnings.warn("outer", stacklevel=1)


def catching_quietly(func: Fn, ctx: PassContext) -> None:
    warnings.warn("before", stacklevel=1)
    with warnings.catch_warnings():
        pass


def deciding(func: Fn, ctx: PassContext) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for _ in range(2):
            warnings.warn("surely", stacklevel=1)
        warnings.simplefilter("default")
        for _ in range(2):
            warnings.warn("once here", stacklevel=1)


def recording(func: Fn, ctx: PassContext) -> None:
    with warnings.catch_warnings(record=True) as caught:
        for _ in range(2):
            warnings.warn("caught", stacklevel=1)
    logger.warning("caught %d", len(caught))


ODD = [
    explicitly,
    by_compiling,
    beyond_the_stack,
    of_main,
    made_otherwise,
    catching,
    catching_quietly,
    deciding,
    recording,
]


def serially(root: Pass, mod: Program) -> Any:
    return root(mod)


def on(runner: Runner, asking: float) -> Callable[[Pass, Program], Any]:
    context = PassContext(config={ASKING_WORKERS_SECONDS: asking})
    return lambda root, mod: runner.run_sync(mod, root, context=context)


@pytest.mark.parametrize("action", ["default", "always", "once", "ignore"])
@pytest.mark.parametrize("asking", [0.0, 1e9])
def test_warnings_are_those_of_the_serial_run(
    runner: Runner, action: str, asking: float
):
    passes = Sequential([Do(body, body.__name__) for body in ODD])

    def heard_of(run: Callable[[Pass, Program], Any]) -> Any:
        globals().pop("__warningregistry__", None)
        sys.__dict__.pop("__warningregistry__", None)
        vars(warnings)["onceregistry"].clear()
        with listening(action=action) as heard:
            run(passes, program(1, 2, 3))
        return heard

    serial = heard_of(serially)
    assert heard_of(on(runner, asking)) == serial
    if action == "always":
        texts = {text for _, text, *_ in serial}
        assert {"of the program", "deep", "outer", "surely"} < texts


@pytest.fixture
def factory() -> Generator[list[str]]:
    """Have records be made by a factory that needs to know whose they are."""
    usual, made = logging.getLogRecordFactory(), list[str]()

    def make(name: str, *args: Any, **kwargs: Any) -> logging.LogRecord:
        made.append(name.partition(".")[0])
        record = usual(name, *args, **kwargs)
        record.top = made[-1]
        return record

    logging.setLogRecordFactory(make)
    yield made
    assert logging.getLogRecordFactory() is make
    logging.setLogRecordFactory(usual)


@pytest.mark.parametrize("asking", [0.0, 2e-5, 1e9])
def test_the_callers_factory_makes_the_records(
    runner: Runner, asking: float, factory: list[str], caplog: pytest.LogCaptureFixture
):
    def body(func: Fn, ctx: PassContext) -> None:
        logging.getLogger(LOGGER).warning("%(one)s", {"one": 1}, extra={"more": 2})

    def records(run: Callable[[Pass, Program], Any]) -> list[tuple[Any, ...]]:
        caplog.clear()
        factory.clear()
        run(Do(body), program(1, 2))
        assert factory == ["tests", "tests"]
        names = "top", "more", "threadName", "processName", "thread", "message"
        return [tuple(vars(one)[name] for name in names) for one in caplog.records]

    serial = records(serially)
    assert records(on(runner, asking)) == serial
    assert serial[0][0] == "tests"


class Watch(PassInstrument):
    """Logs, and does not observe the IR."""

    observes_ir = False

    def __init__(self, fails_after: str = "") -> None:
        super().__init__()
        self.fails_after = fails_after

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        logger.warning("before %s", info.name)

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        logger.warning("after %s", info.name)
        if info.name == self.fails_after:
            raise ValueError("hook")


def say(func: Fn, ctx: PassContext) -> None:
    logger.warning("on %s", func.values)
    assert ctx.diag_ctx is not None
    ctx.diag_ctx.emit(Diagnostic.warning(None, f"about {func.values}"))


@pytest.fixture
def rendered_as_logged() -> Generator[None]:
    def render(diag_ctx: Any) -> None:
        for one in diag_ctx.diagnostics:
            logger.warning("rendered %s", one.message)

    override_renderer(render)
    yield
    override_renderer(None)


@pytest.mark.usefixtures("rendered_as_logged")
@pytest.mark.parametrize("watch", [None, "", "First"])
@pytest.mark.parametrize("asking", [None, 0.0, 1e9])
def test_logs_hooks_and_diagnostics_are_heard_in_one_order(
    runner: Runner, watch: str | None, asking: float | None
):
    root = Sequential([Do(say, "First"), Do(say, "Second")])
    instruments = [] if watch is None else [Watch(watch)]

    def heard_of(run: Callable[[Pass, Program], Any], **config: Any) -> list[str]:
        with (
            listening() as heard,
            pytest.raises(ValueError, match="hook") if watch else nullcontext(),
            PassContext(instruments=instruments, config=config),
        ):
            run(root, program(1, 2))
        return [one[2] for one in heard]

    serial = heard_of(serially)
    config = {} if asking is None else {ASKING_WORKERS_SECONDS: asking}
    assert heard_of(lambda a, mod: runner.run_sync(mod, a), **config) == serial
    if watch:
        assert serial[-1] == "after First"


class Rendering(FunctionPass):
    """Renders contexts of its own; the last one ends it if a function says so."""

    pass_info = PassInfo(0, "Rendering")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        logger.warning("begins on %s", func.values)
        own = DiagnosticContext(mod)
        own.emit(Diagnostic.note(Span("a.toy", 1, 1, 1, 2), f"of {func.values}"))
        own.render()
        other = DiagnosticContext(Program({}, sources={"b.toy": "b"}))
        other.emit(Diagnostic.note(Span("b.toy", 1, 1, 1, 2), "other"))
        other.render()
        if 3 in func.values:
            own.emit_fatal(Diagnostic.error(None, "wrong"))
        return func


@pytest.mark.parametrize("asking", [None, 0.0, 1e9])
def test_what_a_body_renders_itself_is_rendered_here_in_its_turn(
    runner: Runner, asking: float | None
):
    def render(diag_ctx: DiagnosticContext) -> None:
        told = [one.message for one in diag_ctx.diagnostics]
        sources = sorted(diag_ctx.module.sources)
        logger.warning("%s of %s", told, sources)

    def heard_of(run: Callable[[Pass, Program], Any], **config: Any) -> list[str]:
        root = Sequential([Do(say), Rendering()])
        mod = Program({f"f{at}": Fn((at,)) for at in range(5)}, sources={"a.toy": "a"})
        override_renderer(render)
        try:
            with (
                listening() as heard,
                pytest.raises(DiagnosticError, match="wrong"),
                PassContext(config=config),
            ):
                run(root, mod)
        finally:
            override_renderer(None)
        return [one[2] for one in heard]

    serial = heard_of(serially)
    config = {} if asking is None else {ASKING_WORKERS_SECONDS: asking}
    assert heard_of(lambda a, mod: runner.run_sync(mod, a), **config) == serial
    assert "['of (3,)', 'wrong'] of ['a.toy']" in serial
    assert "['other'] of ['b.toy']" in serial


class Full(logging.Handler):
    """Raises on one function's records."""

    def emit(self, record: logging.LogRecord) -> None:
        if vars(record)["parpass_function"] == "f2":
            raise RuntimeError("disk full")


def say_twice(func: Fn, ctx: PassContext) -> None:
    for _ in range(2):
        say(func, ctx)


def test_what_was_reported_before_a_handler_raised_is_rendered(runner: Runner):
    shown: list[str] = []
    handler = Full()
    override_renderer(lambda it: shown.extend(one.message for one in it.diagnostics))
    logger.addHandler(handler)

    def outcome(run: Callable[[Pass, Program], Any], config: Any) -> Any:
        shown.clear()
        with (
            PassContext(config=config) as context,
            pytest.raises(RuntimeError, match="disk full") as caught,
        ):
            run(Do(say_twice), program(1, 2, 3, 4))
        assert context.diag_ctx is not None
        return caught.value.__notes__, list(shown), len(context.diag_ctx.diagnostics)

    try:
        serial = outcome(serially, {})
        assert outcome(lambda a, mod: runner.run_sync(mod, a), POOLED) == serial
        assert len(serial[1]) == 4
    finally:
        logger.removeHandler(handler)
        override_renderer(None)


@pytest.mark.parametrize("catches", [False, True])
def test_filters_that_passes_on_other_functions_reset_show_nothing_again(
    catches: bool, runner: Runner
):
    root = Sequential([Catch(), WarnOfAll(catches), Catch(), WarnOfAll(catches)])
    seen: list[Any] = []
    for pool in (None, runner):
        with listening() as heard, PassContext(config=POOLED if pool else {}):
            mod = program(1, 2, 3)
            _ = root(mod) if pool is None else pool.run_sync(mod, root)
        seen.append(heard)
    assert seen[0] == seen[1]


class QuietOnce(FunctionPass):
    """Quiets, by hand, a warning of one function, and warns on the others."""

    pass_info = PassInfo(0, "QuietOnce")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        if 7 in func.values:
            found: Any = warnings.filters[:]
            warnings.simplefilter("ignore")
            warnings.filters = found
        else:
            warnings.warn("some", stacklevel=1)
        return func


def test_filters_that_a_body_replaces_by_equal_ones_are_those_of_the_next_bodies(
    runner: Runner,
):
    mod = program(0, 7, *[0] * 60)
    with listening(action="default") as serial:
        QuietOnce()(mod)
    with listening(action="default") as parallel:
        runner.run_sync(mod, QuietOnce(), context=PassContext(config=POOLED))
    assert parallel == serial
