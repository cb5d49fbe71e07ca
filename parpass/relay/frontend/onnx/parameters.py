"""Inputs and weights of a model: parameters of a function, or constants in it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np
import onnx

from parpass.errors import ArgumentError, FrontendError, Hint, HintedMessage
from parpass.errors.core import did_you_mean
from parpass.ir.node import post_order
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import Dim, TensorType
from parpass.relay.binding import substitute
from parpass.relay.expr import Constant, Expr, Function, Var, const
from parpass.relay.frontend.onnx.model import Model
from parpass.relay.frontend.onnx.tensor_proto import dtype_of
from parpass.runtime.array_like import as_number_array
from parpass.runtime.dtypes import dtype_of as named_dtype
from parpass.runtime.dtypes import is_float_dtype
from parpass.runtime.ndarray import NDArray

OPEN = "*"  # in the place of a dimension's name: each that is open
_MOST_IN_EXAMPLE = 8  # names of dimensions


@dataclass(frozen=True, slots=True)
class InputSettings:
    """The settings of a caller for the inputs of models.

    Attributes:
        shapes: Shapes by the inputs' names; they override the model's.
        dtypes: The dtype of inputs for which the model has none, or dtypes by name.
        dims: Lengths by the names of dimensions, of all that are open under `*`.
        constants: The values of inputs that are no parameters then, by name.
        given: The shapes of values that the inputs will be given, by name. They tell
            open dimensions.
        needs_shapes: Whether the shapes of all inputs have to be known.
    """

    shapes: Mapping[str, Sequence[Dim]] = field(default_factory=dict[str, Any])
    dtypes: str | Mapping[str, str] = "float32"
    dims: Mapping[str, int] = field(default_factory=dict[str, Any])
    constants: Mapping[str, object] = field(default_factory=dict[str, Any])
    given: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Any])
    needs_shapes: bool = False

    def __post_init__(self) -> None:
        """Check them.

        Raises:
            FrontendError: They are no shapes, dtypes or lengths.
        """
        for name, dims in _mapping(self.shapes, "shape", "(1, 3, 224, 224)").items():
            if isinstance(dims, str) or not isinstance(dims, Sequence):
                raise FrontendError(
                    f"expected a sequence of dimensions for shape['{name}'], "
                    f"got {dims!r}",
                    source="shape",
                )
        for name, length in _mapping(self.dims, "dim", "1", "batch").items():
            if not isinstance(length, int) or isinstance(length, bool) or length < 0:
                raise FrontendError(
                    f"expected a length for dim['{name}'], got {length!r}", source="dim"
                )
        _mapping(self.constants, "const", "16000")
        dtypes = self.dtypes
        if not isinstance(dtypes, str):
            dtypes = _mapping(dtypes, "dtype", "'int8'")
        for one in [dtypes] if isinstance(dtypes, str) else dtypes.values():
            try:
                named_dtype(one)
            except ValueError as error:
                raise FrontendError(f"dtype=: {error}", source="dtype") from None

    def check_names(self, models: Iterable[Model]) -> None:
        """Check that what is said is about inputs and dimensions of models.

        Raises:
            FrontendError: No model has one of that name.
        """
        inputs = [one for model in models for one in model.proto.graph.input]
        names = {one.name: None for one in inputs}
        found = [dim.dim_param for one in inputs for dim in _dims_of(one)]
        dims = dict.fromkeys([*filter(None, found), OPEN])
        for given, hint, what, known in (
            (self.shapes, Hint.SHAPE_PARAMETER, "an input", names),
            (self.constants, Hint.CONST_PARAMETER, "an input", names),
            (self.dims, Hint.DIM_PARAMETER, "a dimension", dims),
        ):
            for name in given:
                if name not in known:
                    end = did_you_mean(name, known)
                    message = f" names '{name}', but no model has such {what}{end}"
                    raise FrontendError(HintedMessage(hint, message), source=name)

    def check_shapes(self, model: Model) -> None:
        """Check that all is known of the shapes of a model's inputs that has to be.

        Raises:
            FrontendError: It is not.
        """
        found = self.open_inputs(model.proto.graph)
        lacks = [
            one for one in found if self.needs_shapes and one.name not in self.given
        ]
        if lacks or any(one.dims is None for one in found):
            text = f"{model.source}: the shapes of its inputs must be known"
            raise self.open_error(text, model)

    def open_error(self, message: str, model: Model) -> FrontendError:
        """Return the error for what has to be known; it names the inputs that are open.

        Args:
            message: What has to be known where.
            model: The model.
        """
        found = self.open_inputs(model.proto.graph)
        if not found:
            return FrontendError(message, source=model.source)
        listed = ", ".join(map(str, found))
        text = HintedMessage(
            message,
            f"; open are {listed}; ",
            (Hint.OPEN_SHAPES, _example(found), _options(found)),
        )
        return FrontendError(text, source=model.source)

    def open_inputs(self, graph: onnx.GraphProto) -> list[OpenInput]:
        """Return the inputs whose shapes are not all known."""
        weights = {one.name for one in graph.initializer}
        found: list[OpenInput] = []
        for one in graph.input:
            is_tensor = one.type.WhichOneof("value") in (None, "tensor_type")
            if one.name in weights or one.name in self.constants or not is_tensor:
                continue
            shape = self._shape_of(one)
            if shape is None:
                found.append(OpenInput(one.name, None, needs_shape=True))
            elif not all(isinstance(dim, int) for dim in shape):
                is_told = one.name in self.shapes  # by the caller, to be open
                named = (
                    [""] * len(shape)
                    if is_told
                    else [dim.dim_param for dim in _dims_of(one)]
                )
                pairs = zip(shape, named, strict=True)
                dims = [dim if isinstance(dim, int) else name for dim, name in pairs]
                found.append(OpenInput(one.name, tuple(dims), needs_shape=is_told))
        return found

    def value(self, given: onnx.ValueInfoProto, model: Model) -> Expr:
        """Return what an input of a model is: a parameter, or a constant.

        Raises:
            FrontendError: It is no tensor of numbers, or not as declared.
        """
        source = model.source
        kind = given.type.WhichOneof("value")
        if kind not in (None, "tensor_type"):
            raise FrontendError(
                f"{source}: expected a tensor for input '{given.name}', got "
                f"a {str(kind).removesuffix('_type')}",
                source=source,
            )
        dtype, shape = self._dtype_of(given, source), self._shape_of(given)
        if given.name in self.constants:
            return self._constant(given.name, dtype, shape, source)
        told = self.given.get(given.name)
        if told is not None and shape is not None and not _fits(told, shape):
            raise FrontendError(
                f"{source}: input '{given.name}' is {TensorType(shape, dtype)}, but "
                f"the value for it has the shape {tuple(told)}",
                source=source,
            )
        return Var(given.name, TensorType(shape or (), dtype))

    def _constant(
        self, name: str, dtype: str, shape: Sequence[Dim] | None, source: str
    ) -> Constant:
        def refusal(text: str) -> FrontendError:
            message = HintedMessage(f"{source}: ", Hint.CONST_PARAMETER, f": {text}")
            return FrontendError(message, source=source)

        value = self.constants[name]
        try:
            array = as_number_array(value, f"input '{name}'", dtype)
        except ArgumentError as error:
            raise refusal(str(error)) from None
        if not is_float_dtype(dtype) and not np.array_equal(array, np.asarray(value)):
            raise refusal(f"expected values of {dtype} for '{name}', got {value!r:.80}")
        shape = array.shape if shape is None else shape
        if array.ndim == 0 and _fits((1,) * len(shape), shape):
            array = array.reshape((1,) * len(shape))
        if not _fits(array.shape, shape):
            raise refusal(
                f"expected a value of {TensorType(tuple(shape), dtype)} for input "
                f"'{name}', got one of the shape {array.shape}"
            )
        return const(array)

    def _shape_of(self, given: onnx.ValueInfoProto) -> tuple[Dim, ...] | None:
        """Return the shape of an input; None where nothing tells its rank."""
        if given.name in self.shapes:
            return tuple(self.shapes[given.name])
        told = self.given.get(given.name)
        if not given.type.tensor_type.HasField("shape"):
            return None if told is None else tuple(told)
        # A name does not tie dimensions together: each is unknown for itself.
        shape = tuple(map(self._length_of, _dims_of(given)))
        if told is None or not _fits(told, shape):
            return shape
        return tuple(told)

    def _length_of(self, dim: onnx.TensorShapeProto.Dimension) -> Dim:
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            return dim.dim_value
        found = self.dims.get(dim.dim_param, self.dims.get(OPEN))
        return UnknownDim() if found is None else found

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
                "is not numeric",
                source=source,
            )
        return dtype


class OpenInput(NamedTuple):
    """An input whose shape is not known.

    Attributes:
        name: Its name.
        dims: Lengths, or names of those that are open, empty where there is none; None
            if nothing tells the rank.
        needs_shape: Whether lengths of dimensions do not close it.
    """

    name: str
    dims: tuple[int | str, ...] | None
    needs_shape: bool = False

    def __str__(self) -> str:
        if self.dims is None:
            return f"'{self.name}' of no shape"
        dims = ", ".join(str(dim) or "?" for dim in self.dims)
        return f"'{self.name}' of ({dims})"


def _settings(inputs: Sequence[OpenInput]) -> tuple[dict[str, int], dict[str, Any]]:
    """Return lengths by the names of dimensions, and shapes, that close inputs."""
    dims = {
        dim or OPEN: 1
        for one in inputs
        for dim in one.dims or ()
        if isinstance(dim, str) and not one.needs_shape
    }
    if len(dims) > _MOST_IN_EXAMPLE:
        dims = {OPEN: 1}
    dims = {name: dims[name] for name in sorted(dims, key=OPEN.__eq__)}
    shapes = {
        one.name: tuple(dim if isinstance(dim, int) else 1 for dim in one.dims or (1,))
        for one in inputs
        if one.needs_shape
    }
    return dims, shapes


def _example(inputs: Sequence[OpenInput]) -> str:
    dims, shapes = _settings(inputs)
    texts = [f"dim={dims}"] if dims else []
    return ", ".join([*texts, f"shape={shapes}"] if shapes else texts)


def _options(inputs: Sequence[OpenInput]) -> str:
    dims, shapes = _settings(inputs)
    words = [word for name in dims for word in ("--dim", f"{name}=1")]
    for name, shape in shapes.items():
        words += ["--shape", f"{name}:{','.join(map(str, shape))}"]
    return shlex.join(words)


def _dims_of(given: onnx.ValueInfoProto) -> Sequence[onnx.TensorShapeProto.Dimension]:
    return given.type.tensor_type.shape.dim


def _fits(given: Sequence[int], shape: Sequence[Dim]) -> bool:
    """Return whether a value has a shape of which dimensions may be unknown."""
    return len(given) == len(shape) and all(
        not isinstance(dim, int) or dim == own
        for own, dim in zip(given, shape, strict=True)
    )


def _mapping(
    given: object, argument: str, example: str, name: str = "data"
) -> Mapping[str, Any]:
    if isinstance(given, Mapping):
        return cast("Mapping[str, Any]", given)
    of = "dimensions" if argument == "dim" else "inputs"
    raise FrontendError(
        f"expected {argument}= by the names of {of}, got {given!r:.80}; "
        f"try {argument}={{'{name}': {example}}}",
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
