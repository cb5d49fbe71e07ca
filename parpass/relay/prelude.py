"""The prelude: types and functions that programs often start from, as in TVM."""

from __future__ import annotations

from parpass.ir.global_var import GlobalVar
from parpass.ir.module import IRModule


class Prelude:
    """Adds the prelude to a module; its functions are attributes of this object.

    The types are `List` (`Cons`, `Nil`), `Option` (`Some`, `None`) and `Tree` (`Rose`);
    `mod.get_type("List")` returns a type and its constructors.

    Args:
        mod: The module; by default a new one. Existing definitions are kept.

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
