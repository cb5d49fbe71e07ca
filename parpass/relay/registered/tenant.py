"""What Relay answers the base of IRs: texts, and what Python's syntax means."""

from __future__ import annotations

from typing import Any

from parpass.ir.module import IRModule
from parpass.ir.op_table import Op
from parpass.ir.relay_expr import GlobalVar
from parpass.ir.tenants import Tenant, register_tenant
from parpass.relay.expr import Call, Expr, Function, as_expr, eta_expanded
from parpass.relay.text.brief import brief


class RelayTenant(Tenant):
    """Relay, in the namespace `relay`."""

    def text(self, program: Expr | IRModule, *, show_meta_data: bool) -> str:
        """Return an expression or a module in Relay's text format."""
        from parpass.relay.text.printer import astext  # workers print nothing

        return astext(program, show_meta_data=show_meta_data)

    def brief(self, node: Expr) -> str:
        """Return what tells an expression from others of its kind."""
        return brief(node)

    def as_function(self, node: Expr, mod: IRModule) -> Function:
        """Return a function that calls a global one, or a constant function."""
        if isinstance(node, GlobalVar):
            return eta_expanded(node, mod[node])
        return Function((), node)

    def closed(self, node: Expr) -> Function:
        """Return a function over the free variables and type variables."""
        # Analyses are loaded when first used, which is not by importing relay.
        from parpass.relay.analysis import free_type_vars, free_vars

        types = tuple(free_type_vars(node))
        return Function(tuple(free_vars(node)), node, None, types)

    def call(self, callee: Expr, args: tuple[Expr, ...]) -> Call:
        """Return a call."""
        return Call(callee, args)

    def operator(self, name: str, *operands: Any) -> Call:
        """Return a call of the operator of that name; numbers become constants."""
        return Call(Op.get(name), tuple(map(as_expr, operands)))

    def cast(self, node: Expr, dtype: str) -> Call:
        """Return a cast."""
        from parpass.relay.op import cast  # operators load when first used

        return cast(node, dtype)


register_tenant("relay", RelayTenant())
