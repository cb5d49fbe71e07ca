"""Row `incremental`: what a run costs whose functions were compiled before.

By one runner with a function cache in memory, and by processes of their own with one on
disk. What was edited is edited anew in each round, so that nothing of it is known.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import parpass
from bench.fresh import in_fresh_process
from bench.measure import Figure, Setting, clocked, interleaved, median, ratio
from bench.table import Goal, Line, Row
from bench.work import USE_WORKERS, Work, generated_function, light_passes, no_pass
from parpass import FunctionCache, IRModule, PassContext, Sequential, relay

_NODES = 10
_READERS = 100
_SIZES = (100, 1_000, 10_000, 100_000)
_KIND = relay.TensorType((8, 8), "float32")


def _incremental(setting: Setting) -> Iterator[Line]:
    count = setting.scaled(10_000, 200)
    readers = setting.scaled(_READERS, 2)
    passes = Sequential(light_passes())
    plain = _module(count, readers)
    cache = FunctionCache()
    fresh = itertools.count()
    with (
        parpass.open_runner(workers=setting.workers, cache=cache) as cached,
        parpass.open_runner(workers=setting.workers) as uncached,
        PassContext(config=USE_WORKERS),
    ):

        def first() -> object:
            cache.clear()
            return cached.run_sync(plain, passes)

        def edited() -> object:
            return cached.run_sync(_with_body(plain, next(fresh)), passes)

        def resigned() -> object:
            return cached.run_sync(_with_signature(plain, next(fresh)), passes)

        sides = {
            "no cache": clocked(lambda: uncached.run_sync(plain, passes)),
            "first": clocked(first),
            "again": clocked(lambda: cached.run_sync(plain, passes)),
            "edited": clocked(edited),
            "resigned": clocked(resigned),
        }
        interleaved(sides, 1)  # not counted: what is loaded once
        times = interleaved(sides, max(3, setting.fewer))
    what = f"eight light passes on {count:,} functions of {_NODES} nodes"
    yield Line(
        what,
        "first run, with an empty cache : run without one",
        ratio(times, "first", "no cache"),
        Goal(1.05),
        times=times,
    )
    for side, text, goal in (
        ("again", "nothing edited", 2.0),
        ("edited", "one body edited", 5.0),
        ("resigned", f"a type edited that {readers} functions read", None),
    ):
        share = ratio(times, side, "first").times(100, "%")
        yield Line(
            what,
            f"{text}, share of the first run",
            share,
            None if goal is None else Goal(goal),
        )
    yield from _on_disk(setting, what, count, readers)
    yield from _growth(setting, passes)


def _on_disk(setting: Setting, what: str, count: int, readers: int) -> Iterator[Line]:
    """Yield what it costs to fill a cache on disk, and to recall all from it."""
    with tempfile.TemporaryDirectory() as root:
        folders: list[Path] = []

        def seconds(folder: Path | None) -> float:
            args = folder, setting.workers, count, readers
            return in_fresh_process(_seconds_in_process, *args)

        def filled() -> float:
            folders.append(Path(root, str(len(folders))))
            return seconds(folders[-1])

        sides = {
            "no cache on disk": lambda: seconds(None),
            "filling": filled,
            "second process": lambda: seconds(folders[-1]),
        }
        times = interleaved(sides, max(3, setting.fewer))
    for side, text, goal in (
        ("filling", "cache on disk: first run, with an empty folder", 1.3),
        ("second process", "cache on disk: nothing edited, another process", 0.06),
    ):
        yield Line(
            what,
            f"{text} : run without one",
            ratio(times, side, "no cache on disk"),
            Goal(goal),
            times={one: times[one] for one in (side, "no cache on disk")},
        )


def _seconds_in_process(
    folder: Path | None, workers: int, count: int, readers: int
) -> float:
    """Return the time of a run in this process, whose workers are warm.

    Args:
        folder: That of a cache; None for none.
        workers: How many workers.
        count: How many functions.
        readers: How many of them read the type of another one, besides.
    """
    plain = _module(count, readers)
    cache = None if folder is None else FunctionCache(folder)
    with (
        parpass.open_runner(workers=workers, cache=cache) as runner,
        PassContext(config=USE_WORKERS),
    ):
        # What is loaded once: other passes, so that no result is known.
        runner.run_sync(Work(100, _NODES, no_pass).module(), Sequential(no_pass()))
        run = clocked(lambda: runner.run_sync(plain, Sequential(light_passes())))
        return run()


def _growth(setting: Setting, passes: Sequential) -> Iterator[Line]:
    """Yield the time of a run that recalls all, by the number of functions."""
    each: dict[int, Figure] = {}
    seconds: dict[int, float] = {}
    for size in _SIZES:
        count = setting.scaled(size, 50)
        mod = Work(count, _NODES, no_pass).module()
        cache = FunctionCache()
        with (
            parpass.open_runner(workers=setting.workers, cache=cache) as runner,
            PassContext(config=USE_WORKERS),
        ):
            runner.run_sync(mod, passes)
            sides = {"again": clocked(lambda: runner.run_sync(mod, passes))}  # noqa: B023
            times = interleaved(sides, max(3, setting.fewer))
        seconds[count] = median(times["again"]).value
        each[count] = median(times["again"]).times(1e6 / count, "us")
    yield Line(
        "nothing edited, by the number of functions",
        f"for a function of {max(each):,} : of {list(each)[1]:,}",
        Figure(each[max(each)].value / each[list(each)[1]].value),
        Goal(1.2),
        note=", ".join(
            f"{count:,}: {figure.value:.0f} us each" for count, figure in each.items()
        ),
        curves={
            "functions": [float(count) for count in seconds],
            "nothing edited": list(seconds.values()),
        },
    )


def _module(count: int, readers: int) -> IRModule:
    functions: Mapping[str, object] = (
        Work(count, _NODES, no_pass).module().functions_by_name
    )
    mod = IRModule(dict(functions))
    called = relay.GlobalVar("called")
    x = relay.var("x", _KIND)
    mod[called] = relay.Function((x,), relay.negative(x), _KIND)
    for at in range(readers):
        x = relay.var("x", _KIND)
        mod[f"reader{at}"] = relay.Function((x,), relay.sum(relay.Call(called, (x,))))
    return relay.transform.InferType()(mod)


def _with_body(mod: IRModule, seed: int) -> IRModule:
    """Return the module with another body of one function."""
    edited = mod.copy()
    edited["f0"] = generated_function(1_000_000 + seed, _NODES)
    return edited


def _with_signature(mod: IRModule, seed: int) -> IRModule:
    """Return the module with a function that states another type."""
    edited = mod.copy()
    kind = relay.TensorType((8, 8 + seed), "float32")
    x = relay.var("x", _KIND)
    body = relay.zeros((8, 8 + seed), "float32")
    edited["called"] = relay.Function((x,), body, kind)
    return edited


ROWS = (Row("incremental", _incremental),)
