"""Inputs and weights of a model: parameters of a function, or constants in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import onnx

from parpass.errors import FrontendError, Hint, HintedMessage
from parpass.ir.node import post_order
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import Dim, TensorType
from parpass.relay.binding import substitute
from parpass.relay.expr import Constant, Function, Var
from parpass.relay.frontend.onnx.tensor_proto import dtype_of
from parpass.runtime.dtypes import dtype_of as named_dtype
from parpass.runtime.ndarray import NDArray


@dataclass(frozen=True, slots=True)
class ParameterTypes:
    """The types that the caller sets for inputs of models.

    Attributes:
        shapes: Shapes by the inputs' names; they override the model's.
        dtypes: The dtype of inputs for which the model has none, or dtypes by name.
    """

    shapes: Mapping[str, Sequence[Dim]]
    dtypes: str | Mapping[str, str]

    @classmethod
    def of(cls, shape: object, dtype: object) -> ParameterTypes:
        """Return the types for arguments `shape=` and `dtype=`, which are checked.

        Raises:
            FrontendError: They are no shapes or no dtypes.
        """
        shapes = _mapping({} if shape is None else shape, "shape", "(1, 3, 224, 224)")
        for name, dims in shapes.items():
            if isinstance(dims, str) or not isinstance(dims, Sequence):
                raise FrontendError(
                    f"expected a sequence of dimensions for shape['{name}'], "
                    f"got {dims!r}",
                    source="shape",
                )
        dtypes = dtype if isinstance(dtype, str) else _mapping(dtype, "dtype", "'int8'")
        for one in [dtypes] if isinstance(dtypes, str) else dtypes.values():
            try:
                named_dtype(one)
            except ValueError as error:
                raise FrontendError(f"dtype=: {error}", source="dtype") from None
        return cls(shapes, dtypes)

    def parameter(self, given: onnx.ValueInfoProto, source: str) -> Var:
        """Return the parameter for an input of a model.

        Raises:
            FrontendError: It is no tensor of numbers, or nothing tells its rank.
        """
        kind = given.type.WhichOneof("value")
        if kind not in (None, "tensor_type"):
            raise FrontendError(
                f"{source}: expected a tensor for input '{given.name}', got "
                f"a {str(kind).removesuffix('_type')}",
                source=source,
            )
        annotation = TensorType(
            self._shape_of(given, source), self._dtype_of(given, source)
        )
        return Var(given.name, annotation)

    def _shape_of(self, given: onnx.ValueInfoProto, source: str) -> tuple[Dim, ...]:
        if given.name in self.shapes:
            return tuple(self.shapes[given.name])
        tensor = given.type.tensor_type
        if not tensor.HasField("shape"):
            raise FrontendError(
                HintedMessage(
                    f"{source}: input '{given.name}' has no shape in the model; ",
                    (Hint.INPUT_SHAPE, given.name),
                ),
                source=source,
            )
        # Names of dimensions do not tie them together: each is unknown for itself.
        return tuple(
            dim.dim_value
            if dim.HasField("dim_value") and dim.dim_value >= 0
            else UnknownDim()
            for dim in tensor.shape.dim
        )

    def _dtype_of(self, given: onnx.ValueInfoProto, source: str) -> str:
        code = given.type.tensor_type.elem_type
        if code == onnx.TensorProto.UNDEFINED:
            dtypes = self.dtypes
            return (
                dtypes if isinstance(dtypes, str) else dtypes.get(given.name, "float32")
            )
        dtype = dtype_of(code)
        if dtype is None:
            raise FrontendError(
                f"{source}: input '{given.name}' has element type {code}, which "
                "is not a number's",
                source=source,
            )
        return dtype


def _mapping(given: object, argument: str, example: str) -> Mapping[str, Any]:
    if isinstance(given, Mapping):
        return cast("Mapping[str, Any]", given)
    raise FrontendError(
        f"expected {argument}= by the names of inputs, got {given!r:.80}; "
        f"try {argument}={{'data': {example}}}",
        source=argument,
    )


def with_weights_as_parameters(
    function: Function, weights: Mapping[str, Constant]
) -> tuple[Function, dict[str, NDArray]]:
    """Return a function that is given its weights, and their values by name.

    The parameters for weights follow the function's own. A weight that is not in the
    body, because it was read while importing, as a shape is, becomes none.

    Args:
        function: A function with constants for its weights.
        weights: These constants, by the names that the parameters get.
    """
    read = {node for node in post_order(function) if isinstance(node, Constant)}
    given = {name: weight for name, weight in weights.items() if weight in read}
    variables = {
        weight: Var(name, weight.checked_type_) for name, weight in given.items()
    }
    body = substitute(function.body, variables)
    params = (*function.params, *variables.values())
    return Function(params, body), {name: one.data for name, one in given.items()}
