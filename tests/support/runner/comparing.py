"""Serial and parallel runs of the same, all that is seen of them compared."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import trio
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from parpass.remark import Remark
from parpass.runner import Runner
from parpass.transform import Pass
from tests.support.profiles import examples
from tests.support.runner.notebook import prompt
from tests.support.toy.ir import Program
from tests.support.toy.pipelines import Seen, see
from tests.support.toy.talking import listening
from tests.support.watching import Blind, ChangeLog, Log, RemarkLog, raising_at, vetoing

Watchers = Callable[[], list[Any]]
RunPass = Callable[[Pass, Any], Any]
Host = Callable[[Runner], RunPass]


def law_on(share: float) -> settings:
    """Return Hypothesis's settings for a law that takes runs to check."""
    suppressed = HealthCheck.function_scoped_fixture, HealthCheck.data_too_large
    return examples(share, *suppressed)


class Told(Log):
    """Logs each call with the text of the module that it is shown."""

    def _take(self, hook: str, mod: Any = None, pass_name: str = "") -> Any:
        answer = super()._take(hook, mod, pass_name)
        self.log[-1] += f"\n{mod}"
        return answer


def refusing(value: int) -> Callable[[Remark], object]:
    """Return what raises at remarks that have this value."""

    def at(remark: Remark) -> None:
        if remark.values.get("value") == value:
            raise LookupError(f"remark of {value}")

    return at


HOOKS = ["enter", "exit", "should", "before", "after", "failed"]


def instruments() -> st.SearchStrategy[Watchers]:
    """Generate ways to make instruments: observing ones or not, some hard to please."""
    names = st.sampled_from(["Add", "Say", "Keep", "sequential", "Check", "AddFrom"])
    answers = st.one_of(
        st.none(),
        st.builds(vetoing, names),
        st.builds(raising_at, st.sampled_from(HOOKS), names),
    )
    one = st.one_of(
        st.just(Blind),
        st.just(RemarkLog),
        st.just(ChangeLog),
        st.just(lambda: ChangeLog("A*", "f[01]")),
        st.integers(0, 4).map(lambda value: lambda: RemarkLog(refusing(value))),
        answers.map(lambda at: lambda: Told(at=at)),
    )

    def all_made(makers: list[Callable[[], Any]]) -> Watchers:
        return lambda: [make() for make in makers]

    return st.lists(one, max_size=2).map(all_made)


def context_settings() -> st.SearchStrategy[dict[str, Any]]:
    """Generate levels, and passes that are disabled or required."""
    names = st.lists(st.sampled_from(["Add", "Say", "Keep", "FailOn"]), max_size=2)
    return st.fixed_dictionaries(
        {
            "opt_level": st.integers(0, 3),
            "disabled_pass": names,
            "required_pass": names,
        }
    )


def on_pool(runner: Runner) -> RunPass:
    """Return what runs a pass on a module by a runner, under the current context."""
    return lambda root, mod: runner.run_sync(mod, root)


def under_trio(runner: Runner) -> RunPass:
    """Return what does so from trio."""
    return lambda root, mod: trio.run(runner.run, mod, root)


def under_asyncio(runner: Runner) -> RunPass:
    """Return what does so from asyncio: also a cell of a notebook that awaits it."""
    return lambda root, mod: asyncio.run(runner.run(mod, root))


def beside_a_loop(runner: Runner) -> RunPass:
    """Return what does so without awaiting it where a loop runs: a notebook's cell."""

    async def cell(root: Pass, mod: Any) -> Any:
        with prompt():
            return runner.run_sync(mod, root)

    return lambda root, mod: asyncio.run(cell(root, mod))


def in_a_thread(runner: Runner) -> RunPass:
    """Return what does so from a thread, in a copy of the contextvars context."""

    def run(root: Pass, mod: Any) -> Any:
        context = contextvars.copy_context()
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(context.run, runner.run_sync, mod, root).result()

    return run


HOSTS: dict[str, Host] = {
    "sync": on_pool,
    "trio": under_trio,
    "asyncio": under_asyncio,
    "notebook": beside_a_loop,
    "thread": in_a_thread,
}


def both(
    root: Pass,
    mod: Program,
    make: Watchers,
    given_settings: Mapping[str, Any],
    runner: Runner,
    config: Mapping[str, Any],
    on: Host = on_pool,
) -> tuple[Seen, Seen]:
    """Return what is seen of a serial run and of a parallel one.

    What is heard of passes and what instruments are told is compared. `config` is for
    the parallel run alone, beside the one in `given_settings`; `on` says from where the
    runner is called.
    """
    serial_watchers, parallel_watchers = make(), make()
    with listening() as heard_serially:
        serial = see(root, mod, *serial_watchers, settings=given_settings)
    with listening() as heard:
        parallel = see(
            root,
            mod,
            *parallel_watchers,
            run=on(runner),
            settings={
                **given_settings,
                "config": {**given_settings.get("config", {}), **config},
            },
        )
    assert heard == heard_serially
    assert [one.log for one in parallel_watchers] == [
        one.log for one in serial_watchers
    ]
    assert parallel.rendered_on == serial.rendered_on
    return serial, parallel
