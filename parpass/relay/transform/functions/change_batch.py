"""ChangeBatch: a network for more inputs at once, or for fewer."""

from __future__ import annotations

from collections.abc import Mapping

from parpass.errors import ArgumentError, IRTypeError
from parpass.ir.module import IRModule
from parpass.ir.types import TensorType
from parpass.relay.binding import substitute
from parpass.relay.expr import Function, Var
from parpass.relay.transform.binding_check import expects_single_bindings
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass


@register_pass("relay._transform.ChangeBatch")
@expects_single_bindings
class ChangeBatch(FunctionPass):
    """Give parameters another length along one of their axes.

    With `{data: 0}` and a batch of 4::

        def @main(%data: Tensor[(1, 3), float32]) -> Tensor[(1, 3), float32] {
          nn.relu(%data)
        }

    becomes::

        def @main(%data: Tensor[(4, 3), float32]) -> Tensor[(4, 3), float32] {
          nn.relu(%data)
        }

    Shapes in attributes stay, such as those of `reshape`; what does not fit them any
    more is reported by InferType, which finds the types of all else.

    Args:
        data: The axis of the batch, by parameter or by its name. It is the name that
            counts, in every function.
        batch_size: The length.

    Raises:
        ArgumentError: `data` has something else.
        IRTypeError: A parameter is annotated as no tensor that has such an axis.
    """

    pass_info = PassInfo(1, "ChangeBatch")

    def __init__(
        self, data: Mapping[Var | str, int] | None = None, batch_size: int = 16
    ) -> None:
        self.data = {_name(key): axis for key, axis in (data or {}).items()}
        self.batch_size = batch_size

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function for another batch."""
        new = {
            param: Var(param.name_hint, self._resized(param), param.span)
            for param in func.params
            if param.name_hint in self.data
        }
        if not new:
            return func
        params = tuple(new.get(param, param) for param in func.params)
        body = substitute(func.body, new)
        return Function(params, body, None, func.type_params, func.attrs, func.span)

    def _resized(self, param: Var) -> TensorType:
        typ, axis = param.type_annotation, self.data[param.name_hint]
        if not isinstance(typ, TensorType) or not 0 <= axis < len(typ.shape):
            raise IRTypeError(
                f"expected a tensor with axis {axis} for parameter "
                f"'{param.name_hint}', got {typ}"
            )
        shape = (*typ.shape[:axis], self.batch_size, *typ.shape[axis + 1 :])
        return TensorType(shape, typ.dtype)


def _name(key: object) -> str:
    if isinstance(key, Var):
        return key.name_hint
    if isinstance(key, str):
        return key
    raise ArgumentError(f"expected parameters, or their names, got {key!r}")
