"""Passes in the global function registry, by name; and PrintIR, a pass that prints."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, cast

from parpass.errors import ArgumentError, UnknownPassError
from parpass.function_registry import (
    get_global_func,
    global_func_names,
    known_func,
    register_func,
)
from parpass.replicated_tables import ReplicatedTable
from parpass.transform.context import PassContext
from parpass.transform.pass_info import PassInfo
from parpass.transform.passes import ModulePass, Pass, flat_passes

FactoryT = TypeVar("FactoryT", bound=Callable[..., Any])

_TVM_PREFIXES = ("transform.", "relay._transform.")  # where TVM looks for passes

_keys: ReplicatedTable[str, None] = ReplicatedTable("key of a pass")


def register_pass(key: str) -> Callable[[FactoryT], FactoryT]:
    """Register a pass class, a factory or a pass under a key; a decorator.

    Pipelines and `required` find it by the last part of the key. TVM's keys are
    `transform.NAME` and `relay._transform.NAME`; a function registered by
    `register_func` under such a key also counts as a factory of passes. Placed above
    `@function_pass(...)`, this registers the resulting pass.

    The key shows where a pass comes from. Of parpass's own passes, those that TVM has
    use TVM's keys, and loop passes use `tir.transform.NAME`; the others use
    `parpass.NAME`.

    Raises:
        ArgumentError: The key is taken.
    """

    def register(factory: FactoryT) -> FactoryT:
        given = cast("object", factory)
        made_by = ConstantFactory(given) if isinstance(given, Pass) else factory
        try:
            register_func(key, made_by)
        except ArgumentError:
            is_whole = isinstance(key, str) and callable(made_by)  # pyright: ignore[reportUnnecessaryIsInstance]
            before = known_func(key) if is_whole else None
            if before is None:
                raise
            by = getattr(before.body, "__module__", None) or "something else"
            raise ArgumentError(
                f"a pass is registered as '{key}' already, by {by}; a prefix, as in "
                f"'my_package.{_short_name(key)}', keeps packages apart"
            ) from None
        _keys[key] = None
        return factory

    return register


class ConstantFactory:
    """The factory of a pass that was registered itself, without options."""

    def __init__(self, made: Pass) -> None:
        self.made = made

    def __call__(self) -> Pass:
        return self.made


def registered_passes() -> Mapping[str, Callable[..., Pass]]:
    """Return the factories of all registered passes by short name, sorted.

    Modules that declare passes are imported first.
    """
    return {_short_name(key): made for key, made in _factories(declared=True)}


def pass_keys() -> Mapping[str, str]:
    """Return the keys of all registered passes by short name, sorted."""
    return {_short_name(key): key for key, _ in _factories(declared=True)}


def name_of_factory(is_wanted: Callable[[Callable[..., Any]], bool]) -> str | None:
    """Return the name by which `create_pass` finds a factory; None if there is none.

    That is the short name, or the whole key where another pass has the short one.
    """
    # What made a pass is mostly known, and to import all other passes takes a while.
    for declared in (False, True):
        everything = [*_factories(declared=declared)]
        by_short_name = {_short_name(key): made for key, made in everything}
        keys = [key for key, made in everything if is_wanted(made)]
        for key in keys:
            if is_wanted(by_short_name[_short_name(key)]):
                return _short_name(key)
        if keys:
            return keys[0]
    return None


def names_in_contexts(
    is_wanted: Callable[[Callable[..., Any]], bool] | None = None,
    *,
    declared: bool = True,
) -> dict[str, str]:
    """Return the names of registered passes in contexts, by those and short names.

    A pass that is registered as `Inline` may have a `PassInfo` of another name.
    """
    found: dict[str, str] = {}
    for key, made in _factories(declared=declared):
        if is_wanted is not None and not is_wanted(made):
            continue
        info = getattr(getattr(made, "made", made), "pass_info", None)
        name = info.name if isinstance(info, PassInfo) else _short_name(key)
        found[name] = name
        found.setdefault(_short_name(key), name)
    return found


def pass_factory(
    name: str, is_wanted: Callable[[Callable[..., Any]], bool] | None = None
) -> Callable[..., Any] | None:
    """Return the factory of a pass, by a name as for `create_pass`, or None.

    Of several passes with that short name, one that is wanted comes first. Modules of
    passes that were declared are imported only if none that is wanted is known yet: of
    one IR none of them registers a name that something else has.
    """
    known: list[Callable[..., Any]] = []
    for declared in (False, True):
        known = [made for _, made in _factories(name, declared=declared)]
        wanted = known if is_wanted is None else [*filter(is_wanted, known)]
        if wanted:
            return wanted[-1]
    if known:
        return known[-1]
    of, _, short = name.rpartition(".")
    for key in (name, f"{of}.transform.{short}", f"{of}._transform.{short}"):
        function = get_global_func(key, allow_missing=True)
        if function is not None:
            return function.body
    return None


def _factories(
    name: str | None = None, *, declared: bool
) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the keys and factories of passes, by default all, sorted by short name.

    Of several with one short name, the one that counts is last.
    """

    def is_wanted(key: str) -> bool:
        return (name is None or _short_name(key) == name) and _is_pass_key(key)

    for key in sorted(global_func_names(is_wanted, declared=declared), key=_rank):
        function = known_func(key)
        if function is not None:
            yield key, function.body


def create_pass(name: str, options: Mapping[str, Any] | None = None) -> Pass:
    """Return a new pass by its name, by its full key, or by TVM's name for it.

    TVM's name `tir.Simplify` stands for the key `tir.transform.Simplify`.

    Raises:
        UnknownPassError: No pass has this name; the message suggests the nearest names.
        ArgumentError: The pass does not accept these options, or the object registered
            under that name does not return a pass.
    """
    factory = pass_factory(name)
    if factory is None:
        raise UnknownPassError(name, registered_passes())
    return make_pass(name, factory, options)


def make_pass(
    name: str, factory: Callable[..., Any], options: Mapping[str, Any] | None = None
) -> Pass:
    """Return a new pass of a factory that is registered under a name.

    Raises:
        ArgumentError: It does not take these options, or gives no pass, or one that
            has no `PassInfo`.
    """
    try:
        made = cast("object", factory(**(options or {})))
    except TypeError as error:
        raise ArgumentError(
            f"pass '{name}' cannot be made with options {dict(options or {})}: {error}"
        ) from error
    if not isinstance(made, Pass):
        raise ArgumentError(
            f"expected a function that gives a pass under the name '{name}'; the one "
            f"that is registered gives {made!r:.80}"
        )
    for one in flat_passes(made):
        one.info  # noqa: B018 -- which raises if there is none
    return made


def _is_pass_key(key: str) -> bool:
    return key in _keys or key in _keys.missing or key.startswith(_TVM_PREFIXES)


def _short_name(key: str) -> str:
    return key.rpartition(".")[2]


def _rank(key: str) -> tuple[str, bool, bool]:
    # Of several keys with one short name the last counts: TVM's `transform.NAME`, or
    # else what the program registered, as it may not know of what is shipped.
    return _short_name(key), key.startswith("transform."), key in _keys.added


@register_pass("transform.PrintIR")
class PrintIR(ModulePass):
    """Print the module to standard error and return it unchanged.

    Args:
        header: Printed first, to tell several printings apart.
    """

    pass_info = PassInfo(opt_level=0, name="PrintIR")

    def __init__(self, header: str = "") -> None:
        self.header = header

    def transform_module(self, mod: Any, ctx: PassContext) -> Any:
        """Print the module."""
        sys.stderr.write(f"PrintIR({self.header}):\n{mod}\n")
        return mod
