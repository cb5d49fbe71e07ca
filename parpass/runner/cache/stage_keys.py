"""The keys of stages: digests of all that results can depend on but the functions.

These are the passes with their options, the settings, what is registered, the module
without its functions, and the code: that of the program, if anything of these names it,
and of what is installed. Where a part cannot be known there is no key, and a reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from msgspec.structs import astuple

from parpass.program_modules import program_modules
from parpass.replicated_tables import Entry, program_entries, value_of
from parpass.runner.cache.function_cache import digest_of
from parpass.runner.cache.program import (
    UnknownProgramError,
    digest_of_libraries,
    digests_of_sources,
)
from parpass.runner.cache.value_digest import (
    UnknownValueError,
    ValueDigest,
    digest_of_module,
    digest_of_value,
)
from parpass.runner.follow.logging_state import LoggingState
from parpass.runner.follow.process_state import ProcessState
from parpass.runner.follow.snapshot import Snapshot
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.budget import budgets_of
from parpass.transform.checked_adapter import unchecked
from parpass.transform.config import CHECK_ANALYSES, CHECK_CONTRACT, OnFailure
from parpass.transform.debug.bisect import OPT_BISECT, OPT_BISECT_LIMIT
from parpass.transform.debug.reproducer import REPRODUCER
from parpass.transform.pass_info import is_restoring
from parpass.transform.passes import declared_cacheable

_FORMAT = 8  # of keys and results
# Options of runs that look for a fault, in which passes have to run.
_INSPECTING = (
    REPRODUCER,
    CHECK_ANALYSES,
    CHECK_CONTRACT,
    OPT_BISECT,
    OPT_BISECT_LIMIT,
)
# Tables that passes do not look at, for what they do to a function.
_LOOKED_UP_BY_PROGRAMS = "adapter of", "key of a pass", "programs of", "wrapping of"
_UNDECLARED = (
    "its class does not say cacheable = True, which declares that results depend on "
    "the function, the options and the code alone"
)


class UnknownKeyError(Exception):
    """A stage has no key; the text says why."""


class StageKey(NamedTuple):
    """The key of a stage.

    Attributes:
        content: The digest of all that results depend on but the functions.
        modules: The modules of the program that are in it; None if it has none, as
            nothing runs the program's code.
    """

    content: bytes
    modules: Collection[str] | None


class StageKeys:
    """Makes the keys of the stages of a run.

    Attributes:
        uncached: The passes without a key, by name, and why.
    """

    def __init__(self, adapter: ModuleAdapter, context: PassContext) -> None:
        self._adapter, self._context = adapter, context
        self.uncached: dict[str, str] = {}

    def first_stage(
        self, steps: Sequence[Pass], base: Any
    ) -> tuple[int, StageKey | None]:
        """Return how many of the first passes form a stage, and its key.

        Either all of them have a digest, or none has. So a pass of which nothing can
        be kept does not take others along. There is no key if results are not to be
        kept. Of `base`, the module, all but the functions is read.
        """
        config = self._context.config
        if any(map(config.get, _INSPECTING)):
            return len(steps), None
        failures = {one.on_failure for one in budgets_of(steps, config)}
        if failures - {OnFailure.FAIL}:
            why = "what fails is skipped, or tried again"
            return len(steps), self.note(steps, why)
        try:
            settings = self._settings(base)
        except UnknownKeyError as error:
            return len(steps), self.note(steps, str(error))
        known = [self._known(step, settings) for step in steps]
        for at, step in enumerate(steps[1:], 1):
            if known[at - 1] is None and self._restores(step, steps[at - 1]):
                known[at] = None  # what restores after a pass goes along with it
        others = (at for at, one in enumerate(known) if bool(one) != bool(known[0]))
        count = next(others, len(steps))
        stage = [one for one in known[:count] if one is not None]
        if not stage:
            return count, None
        parts = [settings.content, *(one.content for one in stage)]
        modules = None
        if any(one.names_program for one in stage):
            found = program_modules()
            try:
                parts.append(_digest_of_program(found))
            except (UnknownProgramError, UnknownValueError) as error:
                return count, self.note(steps[:count], _unknown_program(error))
            modules = frozenset(found)
        return count, StageKey(digest_of(*parts), modules)

    def _restores(self, step: Pass, before: Pass) -> bool:
        """Return whether a pass restores what the one before has left open."""
        return is_restoring(step, self._adapter.restoring_pass(before.function_kind))

    def note(self, steps: Sequence[Pass], why: str) -> None:
        """Note why passes have no key."""
        for step in steps:
            self.uncached[step.info.name] = why

    def _known(self, step: Pass, settings: ValueDigest) -> ValueDigest | None:
        """Return the digest of a pass; None, with a note, if it has none.

        It `names_program` if a key with it has the program.
        """
        declared = declared_cacheable(step)
        if not declared:
            return self.note([step], _UNDECLARED)
        try:
            found = digest_of_value(step)
        except UnknownValueError as error:
            return self.note([step], str(error))
        named = found.names_program or settings.names_program
        return ValueDigest(found.content, declared is True and named)

    def _settings(self, base: Any) -> ValueDigest:
        """Return the digest of all but the passes, the functions, and the program."""
        taken = astuple(Snapshot.take(self._context))
        digests = [
            _digest("the settings have no key", (_process_settings(), *taken)),
            _digest("the adapter has no key", unchecked(self._adapter)),
            *map(_registered, program_entries()),
        ]
        try:
            context = self._adapter.encode_context(base)
        except Exception as error:  # noqa: BLE001 -- of an adapter; the run says more
            raise UnknownKeyError(f"the module cannot be encoded: {error}") from None
        version = str(_FORMAT).encode()
        contents = [one.content for one in digests]
        return ValueDigest(
            digest_of(version, digest_of_libraries(), context, *contents),
            any(one.names_program for one in digests),
        )


def _registered(entry: Entry) -> ValueDigest:
    """Return the digest of what is registered."""
    value = value_of(entry)
    about = entry.table, str(entry.key), entry.is_removed
    found = _digest(f"what is registered has no key: {entry}", (about, value))
    made = getattr(value, "__wrapped__", value)  # of a pass by its name
    is_pass = isinstance(made, type) and issubclass(made, Pass)
    if is_pass or entry.table in _LOOKED_UP_BY_PROGRAMS:
        return found._replace(names_program=False)
    return found


def _digest(problem: str, value: Any) -> ValueDigest:
    """Return the digest of a value.

    Raises:
        UnknownKeyError: It has none.
    """
    try:
        return digest_of_value(value)
    except UnknownValueError as error:
        raise UnknownKeyError(f"{problem}: {error}") from None


def is_program_as_loaded() -> bool:
    try:
        for _ in digests_of_sources(program_modules()):
            pass
    except UnknownProgramError:
        return False
    return True


def _digest_of_program(modules: Mapping[str, ModuleType]) -> bytes:
    """Return the digest of the program's files, and of the values in its modules.

    Of `__main__` it is the file alone: no other process has its values, and passes that
    are defined there have what they name by value.
    """
    sources = [repr(one) for one in digests_of_sources(modules)]
    main = modules.get("__main__")
    parts = [
        digest_of_module(module) for module in modules.values() if module is not main
    ]
    return digest_of("\n".join(sources).encode(errors="surrogatepass"), *parts)


def _unknown_program(error: Exception) -> str:
    return (
        f"the program has no key: {error}; a version, such as "
        "cacheable = '1', stands for the code of the pass and of all that it uses"
    )


def _process_settings() -> list[Any]:
    """Return what is set in this process that passes can see without naming it."""
    state, logging = ProcessState.take(), LoggingState.take()
    return [
        state.recursion_limit,
        state.max_str_digits,
        state.locale,
        logging.disabled_level,
        sorted(logging.levels.items()),
        logging.disabled_loggers,
        logging.filters,
        logging.level_names,
        logging.added_methods,
        state.decimal[:-2],  # without the flags that computing sets
        [str(trap) for trap in state.decimal[-1]],
        state.numpy,
    ]
