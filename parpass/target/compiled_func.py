"""`CompiledFunc`: a function of a module that is machine code already."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar, cast

from parpass.ir.node import Node, reflected
from parpass.ir.relay_expr import BaseFunc
from parpass.ir.tenants import Tenant, register_tenant
from parpass.ir.types.ty import FuncType, TensorType
from parpass.runtime.signature import Signature
from parpass.tir.function import PrimFunc, kernel_type


@reflected(is_graph=False)
class CompiledFunc(BaseFunc, frozen=True, eq=False):
    """An object with one function in it, and how that is called.

    Passes on other kinds of functions leave it alone.

    Attributes:
        code: The object, in the format of the target's system.
        interface: How the function is called, as JSON has it.
        target: The text of the target that it is for, resolved.
        attrs: Those that the function had.
    """

    namespace: ClassVar[str] = "target"

    code: bytes
    interface: str
    target: str
    attrs: Mapping[str, Any] | None = None

    @property
    def annotated_type(self) -> FuncType | None:
        """The type of a kernel, from tensors to tensors; of others None is known."""
        outputs = self.attributes.get(PrimFunc.NUM_OUTPUTS)
        if not outputs:
            return None
        shapes = [(one.shape or (), one.dtype) for one in self.signature.parameters]
        return kernel_type([TensorType(*cast("Any", one)) for one in shapes], outputs)

    @property
    def signature(self) -> Signature:
        """How the function is called."""
        return Signature.restored(json.loads(self.interface))


class _CompiledTenant(Tenant):
    function_kind = "target"

    def brief(self, node: Node) -> str:
        if not isinstance(node, CompiledFunc):
            return ""
        parameters = ", ".join(one.name for one in node.signature.parameters)
        return f"{node.signature.symbol}({parameters}), {len(node.code)} bytes"


register_tenant("target", _CompiledTenant())
