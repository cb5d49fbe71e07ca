"""The prelude: types and functions that programs often begin with, as in TVM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.missing_names import refusing
from parpass.ir.module import IRModule
from parpass.ir.relay_expr import GlobalVar


class Prelude:
    """Puts the prelude into a module; each function is an attribute of its name.

    The types are `List` (`Cons`, `Nil`), `Option` (`Some`, `None`) and `Tree` (`Rose`);
    `mod.get_type("List")` returns one with its constructors.

    Args:
        mod: The module; a new one if not given. What it has already stays.

    Attributes:
        mod: The module.
    """

    id: GlobalVar
    compose: GlobalVar
    flip: GlobalVar
    iterate: GlobalVar
    hd: GlobalVar
    tl: GlobalVar
    nth: GlobalVar
    update: GlobalVar
    length: GlobalVar
    map: GlobalVar
    filter: GlobalVar
    foldl: GlobalVar
    foldr: GlobalVar
    foldr1: GlobalVar
    sum: GlobalVar
    concat: GlobalVar
    rev: GlobalVar
    zip: GlobalVar
    map_accuml: GlobalVar
    map_accumr: GlobalVar
    unfoldl: GlobalVar
    unfoldr: GlobalVar
    tmap: GlobalVar
    size: GlobalVar

    def __init__(self, mod: IRModule | None = None) -> None:
        self.mod = IRModule() if mod is None else mod
        self.mod.import_from_std("prelude.rly")
        for name in Prelude.__annotations__:
            setattr(self, name, self.mod.get_global_var(name))


__all__ = ["Prelude"]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
