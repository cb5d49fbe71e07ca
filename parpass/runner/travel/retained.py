"""Modules between stages: functions as bytes until somebody looks.

A function that came back from a worker stays packed. It is unpacked when a module pass,
an instrument or the caller looks, and it is not packed again for the next stage unless
somebody replaced it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parpass.runner.travel.bundles import Packed, Packer, unpack
from parpass.runner.travel.folder import Folder
from parpass.runner.travel.function_outcome import AbandonedError
from parpass.runner.travel.large_values import CoordinatorValues, NoLargeValues, Values
from parpass.transform import ModuleAdapter
from parpass.transform.collector import paused_collector
from parpass.transform.optimizations import Optimizations


class Held:
    """One function: as an object, as bytes, or as both."""

    __slots__ = ("function", "packed")

    def __init__(self, function: Any = None, packed: Packed | None = None) -> None:
        self.function = function
        self.packed = packed


class HeldModule:
    """A module of held functions, in place of the module that they would make.

    Attributes:
        base: The module that went into the first stage; gives all but the functions.
        held: The functions by name, in module order.
    """

    def __init__(self, base: Any, held: Mapping[str, Held]) -> None:
        self.base = base
        self.held = held
        self.made: Any = None


_NO_VALUES: Values = NoLargeValues()


class Retainer:
    """Keeps the functions of one run, with the folder through which they travel."""

    def __init__(
        self, adapter: ModuleAdapter, optimizations: Optimizations | None = None
    ) -> None:
        self.adapter = adapter
        self._optimizations = optimizations or Optimizations()
        self.stages = 0
        self.has_ended = False
        self._known: dict[int, Held] = {}
        self._folder: Folder | None = None
        self._values: CoordinatorValues | None = None

    @property
    def folder(self) -> Folder:
        """The folder of the run, made when it is first needed."""
        if self._folder is None:
            self._folder = Folder()
        return self._folder

    @property
    def values(self) -> CoordinatorValues:
        """The large values of the run."""
        if self._values is None:
            self._values = CoordinatorValues(self.folder, self._optimizations)
        return self._values

    def hold(self, mod: Any) -> HeldModule:
        """Return a module as held functions, bytes that are known with them."""
        if isinstance(mod, HeldModule):
            return mod if mod.made is None else self._held_again(mod, mod.made)
        held: dict[str, Held] = {}
        for name, function in self.adapter.functions(mod).items():
            known = self._known.get(id(function))
            if known is None or known.function is not function:
                known = Held(function)
            held[name] = known
        return HeldModule(mod, held)

    def _held_again(self, mod: HeldModule, made: Any) -> HeldModule:
        """Return a module that somebody was given, who may have changed it."""
        known = mod.held
        again = HeldModule(
            made,
            {
                name: known[name]
                if name in known and known[name].function is function
                else Held(function)
                for name, function in self.adapter.functions(made).items()
            },
        )
        again.made = made
        return again

    def module(self, mod: Any) -> Any:
        """Return the module that held functions make."""
        if not isinstance(mod, HeldModule):
            return mod
        if mod.made is None:
            functions = {
                name: self.function(held, mod.base) for name, held in mod.held.items()
            }
            mod.made = self.adapter.replace_functions(mod.base, functions)
            self._known = {
                id(held.function): held
                for held in mod.held.values()
                if held.packed is not None
            }
        return mod.made

    def unpack_all(self, mod: HeldModule) -> None:
        """Have functions as objects only, for a run that retains no bytes."""
        self.module(mod)
        for held in mod.held.values():
            held.packed = None

    def function(self, held: Held, base: Any) -> Any:
        """Return a held function as an object."""
        if held.function is None:
            self.check_open()  # the folder may be gone
            assert held.packed is not None
            # Where there are none, there need be no folder either.
            values = self.values if held.packed.bundle.values else _NO_VALUES
            with paused_collector:
                held.function = unpack(held.packed, self.adapter, values, base)
        return held.function

    def packer(self) -> Packer:
        """Return what packs functions of this run."""
        together = self._optimizations.bundles
        return Packer(self.adapter, self.values, together=together)

    def packed(self, held: Held, packer: Packer, *, keep: bool = True) -> Packed:
        """Return a held function as bytes, kept for the next time."""
        if held.packed is not None:
            return held.packed
        with paused_collector:
            packed = packer.pack(held.function)
        if keep:
            held.packed = packed
        return packed

    def check_open(self, *_: object) -> None:
        """End what goes on in a thread that a cancelled run abandoned.

        It may be called as a checkpoint, whose arguments do not matter to it.
        """
        if self.has_ended:
            raise AbandonedError

    def end(self) -> None:
        """Have what was abandoned end soon."""
        self.has_ended = True

    @property
    def has_folder(self) -> bool:
        """Whether there is anything to close."""
        return self._folder is not None

    def close(self) -> None:
        """Remove the run's folder."""
        self.has_ended = True
        if self._values is not None:
            self._values.close()
        if self._folder is not None:
            self._folder.remove()
            self._folder = None
