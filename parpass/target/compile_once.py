"""The functions of modules to compile: equal ones once, and none that is stored.

A function of either IR is identified by the digest of everything its object depends on:
its structure, the names in its interface, the target, the settings, and the versions of
parpass and of LLVM. Its symbol contains the digest, so a library depends neither on
numbers in names nor on what was compiled before.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from parpass.ir.base_func import BaseFunc
from parpass.ir.module import IRModule
from parpass.ir.structural import structural_digest
from parpass.ir.tir_config import checks_bounds
from parpass.object_store import ObjectStore
from parpass.target.compiled_func import CompiledFuncCache
from parpass.target.llvm_object import llvmlite_version
from parpass.target.target import Target
from parpass.tir.function import PrimFunc
from parpass.transform import PassContext
from parpass.transform.config import ON_FAILURE, OnFailure
from parpass.transform.debug.bisect import Gate
from parpass.transform.instrument_hooks import hooks_of

_NUMBERED = re.compile(r"_\d+$")


class CompileOnce:
    """Functions of which some have to be compiled.

    Args:
        modules: The functions by name, of each module that is built.
        target: The machine, resolved.
        store: Where objects of earlier builds are; None for nowhere.
        tells_all: Whether a function's structure tells what its object is, as far as
            parpass goes; what of some it does not is compiled, and not kept.

    Attributes:
        missing: Those that are to be compiled, each under its symbol.
    """

    def __init__(
        self,
        modules: Sequence[Mapping[str, BaseFunc]],
        target: Target,
        store: ObjectStore | None = None,
        tells_all: Callable[[BaseFunc], bool] = lambda _: True,
    ) -> None:
        settings = _settings(target)
        keys: dict[str, str] = {}  # by symbol, of those that may be kept
        self._symbols: list[dict[str, str]] = []  # by name, of each module
        unique: dict[str, BaseFunc] = {}
        for functions in modules:
            symbols: dict[str, str] = {}
            for name, function in functions.items():
                base = _NUMBERED.sub("", name)
                key = _key(function, (*settings, base))
                symbol = symbols[name] = f"{base}_{key[:16]}"
                is_first = unique.setdefault(symbol, function) is function
                if is_first and tells_all(function):
                    keys[symbol] = key
            self._symbols.append(symbols)
        if not _all_passes_run():
            store = None
        self._kept = CompiledFuncCache(store, keys) if store is not None else None
        self._known = self._kept.of_earlier_builds(target) if self._kept else {}
        self.missing = IRModule(
            {
                symbol: _named(function, symbol)
                for symbol, function in unique.items()
                if symbol not in self._known
            }
        )

    def where_to_keep(self) -> CompiledFuncCache | None:
        """Return where what is missing is kept once it is compiled, if anywhere."""
        kept = self._kept
        # If it cannot be used that is said here; workers need not, of each function.
        return kept.for_workers() if kept and kept.store.drop_old() else None

    def all_of(self, compiled: IRModule) -> list[dict[str, BaseFunc]]:
        """Return all functions of each module, and keep what the workers could not.

        Args:
            compiled: What has come of those that were missing: mostly machine code.
        """
        if self._kept is not None and len(compiled):
            self._kept.complete(compiled.functions_by_name)
        found = {**self._known, **dict(compiled.functions_by_name)}
        return [
            {name: found[symbol] for name, symbol in symbols.items()}
            for symbols in self._symbols
        ]

    @property
    def num_known(self) -> int:
        """How many need not be compiled, since an earlier build did."""
        return len(self._known)


def _named(function: BaseFunc, symbol: str) -> BaseFunc:
    """Return a function under its symbol; those of other IRs are lowered under it."""
    if isinstance(function, PrimFunc):
        return function.with_attr("global_symbol", symbol)
    return function


def _key(function: BaseFunc, settings: tuple[str, ...]) -> str:
    params: Sequence[Any] = getattr(function, "params", ())
    names = [one.name_hint for one in params]
    if isinstance(function, PrimFunc):
        names += [buffer.name for buffer in function.buffer_map.values()]
    plain = function.without_attr("global_symbol")
    digest = structural_digest(plain).hex()
    return hashlib.sha256(repr((digest, names, settings)).encode()).hexdigest()


def _settings(target: Target) -> tuple[str, ...]:
    """Return what objects depend on besides their functions."""
    context = PassContext.current()
    passes = (context.opt_level, context.required_pass, context.disabled_pass)
    options = [
        (name, structural_digest(value).hex())
        for name, value in sorted(context.config.items())
        if name.startswith("tir.")
    ]
    told = (repr(passes), repr(options), repr(checks_bounds(context)))
    return (str(target), *told, _stamp(), llvmlite_version())


def _all_passes_run() -> bool:
    """Return whether all passes run, except for those that the settings name.

    Otherwise objects may differ from those of their keys, and bisection of passes would
    find objects that are stored already.
    """
    context = PassContext.current()
    return not (
        context.config.get(ON_FAILURE) == OnFailure.SKIP
        or Gate.of(context)
        or any(hooks_of(one).should_run for one in context.instruments)
    )


@functools.cache
def _stamp() -> str:
    return stamp_of(Path(__file__).parents[1])


def stamp_of(root: Path) -> str:
    """Return a stamp of the parpass in a folder, which changes with its files.

    It is of their sizes and times, in whole seconds, as in CPython's compiled files: a
    layer of an image keeps no more of them, and kernels may be shipped in the image.
    """
    told = hashlib.sha256()
    for path, found in sorted(_sources(root)):
        name = path.removeprefix(str(root))
        told.update(f"{name} {found.st_size} {found.st_mtime_ns // 10**9}\n".encode())
    return told.hexdigest()


def _sources(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _sources(Path(entry.path))
            elif entry.name.endswith(".py"):
                yield entry.path, entry.stat()
