"""An IR as most compilers have it: operations know their function, and that its module.

Its adapters are right or careless, and state nothing of how functions are changed
except where their name says so. Each is registered for one class of modules.
"""

from __future__ import annotations

import ast
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

from parpass.transform import (
    BlobSink,
    FunctionPass,
    ModuleAdapter,
    ModulePass,
    PassContext,
    PassInfo,
    Source,
    register_adapter,
)


class Op:
    """An operation."""

    def __init__(self, name: str, parent: Fn) -> None:
        self.name, self.parent = name, parent


class Fn:
    """A function."""

    def __init__(self, name: str, *ops: str) -> None:
        self.name, self.note = name, "noted"
        self.ops = [Op(one, self) for one in ops]
        self.parent: Any = None
        self.callees: list[Fn] = []

    def text(self) -> str:
        """Return what it consists of."""
        return f"{self.name}: {' '.join(op.name for op in self.ops)}"


class Mod:
    """A module."""

    def __init__(self, functions: Mapping[str, Any] | None = None) -> None:
        self.functions: Any = {} if functions is None else functions

    def texts(self) -> list[str]:
        """Return the texts of its functions."""
        return [one.text() for one in self.functions.values()]


class StatedMod(Mod):
    """A module whose adapter says that functions are values, which they are not."""


class LosingMod(Mod):
    """A module whose adapter loses state."""


class DraggingMod(Mod):
    """A module whose adapter pickles functions with their module."""


class SettingMod(Mod):
    """A module whose adapter sets what functions know of it."""


class AlwaysSettingMod(Mod):
    """A module whose adapter does so even for those who only read."""


class Adapter(ModuleAdapter):
    """As a beginner writes one."""

    module_type = Mod
    function_type = Fn

    def with_functions(self, mod: Mod, functions: Mapping[str, Any]) -> Mod:
        return type(mod)(functions)

    def size(self, function: Fn, limit: int) -> int:
        return min(len(function.ops), limit)


class Stating(Adapter):
    mutability = None


class Losing(Adapter):
    def encode_function(self, function: Fn, blob_sink: BlobSink) -> bytes:
        return pickle.dumps((function.name, [op.name for op in function.ops]))

    def decode_function(
        self, encoded: bytes | memoryview, sources: Any, mod: Mod
    ) -> Fn:
        name, ops = pickle.loads(encoded)
        function = Fn(name, *ops)
        del function.note
        function.parent = mod
        return function


class Dragging(Adapter):
    def encode_function(self, function: Fn, blob_sink: BlobSink) -> bytes:
        return pickle.dumps(function)

    def decode_function(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: Mod
    ) -> Fn:
        return pickle.loads(encoded)


class AlwaysSetting(Adapter):
    def with_functions(self, mod: Mod, functions: Mapping[str, Any]) -> Mod:
        made = super().with_functions(mod, functions)
        for function in functions.values():
            function.parent = made
        return made


class Setting(AlwaysSetting):
    def read_only(self, mod: Mod, functions: Mapping[str, Any], reader: str) -> Mod:
        return type(mod)(functions)


class FunctionDefs(ModuleAdapter):
    """Modules are dicts of `ast.FunctionDef`."""

    module_type = dict
    function_type = ast.FunctionDef

    def functions(self, mod: Any) -> Any:
        return mod

    def with_functions(self, mod: Any, functions: Any) -> Any:
        return functions

    def size(self, function: Any, limit: int) -> int:
        return min(function.end_lineno, limit)


ADAPTERS: dict[type, ModuleAdapter] = {
    Mod: Adapter(),
    StatedMod: Stating(),
    LosingMod: Losing(),
    DraggingMod: Dragging(),
    SettingMod: Setting(),
    AlwaysSettingMod: AlwaysSetting(),
}
for _kind, _adapter in ADAPTERS.items():
    register_adapter(_kind, _adapter)


def module(kind: type[Mod] = Mod, *, knows: bool = True) -> Mod:
    """Return a module of three functions, which know it or not."""
    mod = kind({name: Fn(name, "add", "nop", "mul") for name in ("a", "b", "c")})
    if knows:
        for function in mod.functions.values():
            function.parent = mod
    return mod


class DropNops(FunctionPass):
    """Drops operations in place, and returns the function."""

    pass_info = PassInfo(0, "DropNops")

    def transform_function(self, func: Fn, mod: Mod, ctx: PassContext) -> Fn:
        func.ops[:] = [op for op in func.ops if op.name != "nop"]
        return func


class Append(FunctionPass):
    """Appends to a function the operations of another one, which it copies."""

    pass_info = PassInfo(0, "Append")

    def transform_function(self, func: Fn, mod: Mod, ctx: PassContext) -> Fn:
        func.ops += [Op(op.name, func) for op in mod.functions["a"].ops]
        return func


class Spoil(FunctionPass):
    """Changes another function than its argument."""

    pass_info = PassInfo(0, "Spoil")

    def transform_function(self, func: Fn, mod: Mod, ctx: PassContext) -> Fn:
        mod.functions["b"].ops.clear()
        return func


class Clear(ModulePass):
    """Changes the module that it is given, and returns it, or raises."""

    pass_info = PassInfo(0, "Clear")

    def __init__(self, error: str = "") -> None:
        self.error = error

    def transform_module(self, mod: Mod, ctx: PassContext) -> Mod:
        functions = mod.functions
        functions["a"].ops.clear()
        del functions["b"]
        if self.error:
            raise ValueError(self.error)
        return mod


class Fold(FunctionPass):
    """Adds constants of `ast` in place."""

    pass_info = PassInfo(0, "Fold")

    def transform_function(self, func: Any, mod: Any, ctx: PassContext) -> Any:
        return Folder().visit(func)


class Folder(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.BinOp(
                ast.Constant(int(left)), ast.Add(), ast.Constant(int(right))
            ):
                return ast.copy_location(ast.Constant(left + right), node)
            case _:
                return node
