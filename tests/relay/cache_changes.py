"""A hundred ways in which what a pass makes can change between two runs.

`cache_changes.txt` has them. Each is a module that defines `value`, of which a pass
that is declared makes what it adds to a function. The module is defined twice, with a
number in it (`NUMBER`) that is another one the second time; or a statement is run in
it.

`python -m tests.relay.cache_changes` runs all of them in a process of its own, and
prints as JSON what came of each.
"""

from __future__ import annotations

import json
import re
import sys
import types
import warnings
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from parpass.errors import CacheMismatchWarning
from parpass.runner import FunctionCache, Runner, open_runner
from parpass.transform import FunctionPass, PassInfo, Sequential
from tests.support.toy.ir import Fn, Program


class Way(NamedTuple):
    """One way.

    Attributes:
        source: The module.
        then: The statement that changes something; None if the number does.
        breach: What the page on caches calls it, where a pass must not look at that.
    """

    source: str
    then: str | None
    breach: str | None


def _ways() -> dict[str, Way]:
    text = Path(__file__).with_suffix(".txt").read_text("utf-8")
    found: dict[str, Way] = {}
    for block in re.split(
        "^=== ", re.sub("(?m)^##### .*$", "", text), flags=re.MULTILINE
    )[1:]:
        title, _, body = block.partition("\n")
        source, _, then = body.partition("--- then\n")
        name, _, breach = title.rstrip("]").partition(" [")
        found[name] = Way(source, then or None, breach or None)
    return found


WAYS = _ways()

_NAME = "changing_rules"
_PASS = """
class Mine(FunctionPass):
    pass_info = PassInfo(0, "Mine")
    cacheable = True
    value = staticmethod(value)
    def __init__(self, option=None): self.option = option
    def transform_function(self, func, mod, ctx):
        option = getattr(self.option, "n", self.option)
        if callable(option): option = option()
        found = type(self).value()
        told = repr((found, option)).encode()
        return func.with_values((*func.values, crc32(told)))
"""


class Result(NamedTuple):
    """What came of one way.

    Attributes:
        is_fresh: Whether the run after the change gave what a run without a cache does.
        recalled: How many results the run before the change recalled, which was the
            second one of the same.
        told: The warnings, and why nothing was kept.
    """

    is_fresh: bool
    recalled: int
    told: list[str]


def _module(source: str, number: int, **given: Any) -> types.ModuleType:
    """Define the module of a way anew."""
    module = types.ModuleType(_NAME)
    sys.modules[_NAME] = module
    names = FunctionPass, PassInfo, zlib.crc32
    vars(module).update(zip(("FunctionPass", "PassInfo", "crc32"), names, strict=True))
    vars(module).update(given)
    text = source.replace("NUMBER", str(number)) + _PASS
    exec(compile(text, f"<{_NAME}>", "exec"), vars(module))
    return module


def _made(module: types.ModuleType, runner: Runner | None) -> Program:
    """Return what the pass of a module makes, by a runner or serially."""
    step: Any = module.Mine(getattr(module, "OPTION", None))
    mod = Program({"f": Fn((1,))})
    return Sequential([step])(mod) if runner is None else runner.run_sync(mod, step)


def _recalled(runner: Runner) -> int:
    assert runner.last_report is not None
    assert runner.last_report.cache is not None
    return runner.last_report.cache.recalled


def _why_not(runner: Runner) -> list[str]:
    assert runner.last_report is not None
    assert runner.last_report.cache is not None
    return list(runner.last_report.cache.uncached.values())


def defined(source: str) -> Result:
    """Run the pass of a module twice, and once when it was defined otherwise."""
    with open_runner(workers=0, cache=FunctionCache()) as runner:
        first, second = (_made(_module(source, 1), runner) for _ in range(2))
        recalled, told = _recalled(runner), _why_not(runner)
        module = _module(source, 2)
        made, expected = _made(module, runner), _made(module, None)
    is_fresh = made == expected and made != first == second
    return Result(is_fresh, recalled, told)


def mutated(source: str, statement: str, verify: float = 0.0, **given: Any) -> Result:
    """Run the pass of a module twice, and once after a statement was run in it."""
    module = _module(source, 1, **given)
    cache = FunctionCache(verify=verify)
    with (
        warnings.catch_warnings(record=True) as caught,
        open_runner(workers=0, cache=cache) as runner,
    ):
        warnings.simplefilter("always", CacheMismatchWarning)
        first = _made(module, runner)
        if not verify:
            _made(module, runner)
        recalled, told = _recalled(runner), _why_not(runner)
        exec(statement, vars(module))
        made = _made(module, runner)
        expected = made if verify else _made(module, None)
    is_fresh = made == expected and made != first
    return Result(is_fresh, recalled, [*told, *(str(one.message) for one in caught)])


def run(way: Way, path: str) -> Result:
    """Run what one way has."""
    if way.then is None:
        return defined(way.source)
    Path(path).write_text("1", "utf-8")
    return mutated(way.source, way.then, 0.0 if way.breach is None else 1.0, PATH=path)


def main(folder: str) -> None:
    """Run all ways, and print what came of each."""
    run(WAYS["a global function"], f"{folder}/first")  # parpass loads what it needs
    ways = enumerate(WAYS.items())
    found = {what: run(way, f"{folder}/{at}") for at, (what, way) in ways}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
