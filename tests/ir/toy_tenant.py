"""A second IR on the base of Relay's, whose kinds have the names of Relay's.

Its programs are sums: a `Call` of an operator adds its arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from parpass.ir.attrs import Attrs
from parpass.ir.base_func import BaseFunc
from parpass.ir.dialect import Annotate, Dialect, FunctionPrinter, register_dialect
from parpass.ir.global_var import GlobalVar
from parpass.ir.node import FieldKind, Node, reflected
from parpass.ir.node.node_functor import NodeFunctor, NodeMutator, visits
from parpass.ir.op.op_table import Op
from parpass.ir.types import Type

ResultT = TypeVar("ResultT")


class TensorType(Type, frozen=True):
    """A type that has the fields of Relay's type of that name, too."""

    namespace: ClassVar[str] = "toy"
    visitor: ClassVar[str] = "visit_toy_type"

    shape: tuple[int, ...]
    dtype: str = "float32"


class ClipAttrs(Attrs, frozen=True):
    """Attributes that have the name of an operator's of Relay."""

    namespace: ClassVar[str] = "toy.attrs"

    a_min: float = 0.0
    a_max: float = 0.0


class Toy(Node, frozen=True, eq=False):
    """The base of expressions."""

    namespace: ClassVar[str] = "toy"


@reflected(is_graph=False, is_variable=True, type_annotation=FieldKind.TYPE)
class Var(Toy, frozen=True, eq=False):
    """A variable."""

    name_hint: str
    type_annotation: Type | None = None


@reflected(is_graph=True, op=FieldKind.CHILD, args=FieldKind.CHILDREN)
class Call(Toy, frozen=True, eq=False):
    """A call of an operator, or of a function of the module."""

    op: Node
    args: tuple[Node, ...]
    attrs: Attrs | None = None


@reflected(
    is_graph=True,
    scopes=("body",),
    params=FieldKind.BINDINGS,
    body=FieldKind.CHILD,
)
class Function(BaseFunc, frozen=True, eq=False):
    """A function."""

    namespace: ClassVar[str] = "toy"

    params: tuple[Var, ...]
    body: Node
    attrs: Mapping[str, Any] | None = None


class ToyFunctor(NodeFunctor[Node, ResultT], leaves=(GlobalVar, Op)):
    """Gives each node a result."""

    visit_var = visits(Var)
    visit_call = visits(Call)
    visit_function = visits(Function)
    visit_global_var = visits(GlobalVar)
    visit_op = visits(Op)


class ToyMutator(NodeMutator[Node], ToyFunctor[Node]):
    """Rewrites a program."""


class _Text(ToyFunctor[str]):
    def visit_var(self, var: Var) -> str:
        return var.name_hint

    def visit_call(self, call: Call) -> str:
        return f"{self.visit(call.op)}({', '.join(map(self.visit, call.args))})"

    def visit_function(self, function: Function) -> str:
        return f"{self.visit(function.body)}"

    def visit_leaf(self, leaf: Node) -> str:
        return f"@{leaf.name_hint}" if isinstance(leaf, GlobalVar) else str(leaf)


class _Printer(FunctionPrinter):
    def function(self, name: str, function: Any) -> str:
        return f"toy {name} = {function}\n"


class ToyTenant(Dialect):
    """What the base is told of this IR."""

    function_kind = "toy"

    def text(
        self,
        node: Node,
        *,
        show_meta_data: bool = False,
        annotate: Annotate | None = None,
    ) -> str:
        return _Text().visit(node)

    def printer(self, annotate: Annotate | None = None) -> FunctionPrinter:
        return _Printer()


register_dialect("toy", ToyTenant())
