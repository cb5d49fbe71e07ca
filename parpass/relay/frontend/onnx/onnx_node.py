"""An ONNX node as its converter sees it, static values, and the type of converters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import onnx
from onnx import AttributeProto

from parpass.errors import (
    EvaluationError,
    FrontendError,
    Hint,
    HintedMessage,
    MalformedModelError,
)
from parpass.ir.node import children, post_order
from parpass.ir.types import Dim, TensorType
from parpass.relay.expr import Constant, Expr, TupleWrapper, Var, const
from parpass.relay.frontend.onnx.tensor_proto import array_of
from parpass.relay.functor import ExprFunctor
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.transform.evaluator import Evaluator
from parpass.relay.transform.fold_constant import ConstantFolder
from parpass.relay.type_inference.built import BuiltTypes
from parpass.runtime.dtypes import is_int_dtype
from parpass.transform import PassContext


class Quantized(NamedTuple):
    """The ints that floats were computed from: each is an int times the scale.

    Attributes:
        ints: The ints, without their zero point, as int16.
        scale: Broadcasts to them.
    """

    ints: Expr
    scale: Expr


class KnownValues:
    """The values of expressions that are the same whatever the model runs on.

    Each is worked out once, however often it is asked for.

    Args:
        weights: The constants that may become parameters; more may be added.

    Attributes:
        quantized: The floats that were computed from ints.
    """

    def __init__(self, weights: Collection[Expr] = ()) -> None:
        self._inputs = _Reads(lambda leaf: isinstance(leaf, Var))
        self._weights = _Reads(lambda leaf: leaf in weights)
        self._found: dict[Expr, npt.NDArray[Any]] = {}
        self.quantized: dict[Expr, Quantized] = {}

    def depends_on_inputs(self, expr: Expr) -> bool:
        """Return whether an expression depends on the model's inputs."""
        return self._inputs.visit(expr)

    def depends_on_weights(self, expr: Expr) -> bool:
        """Return whether an expression depends on the model's weights."""
        return self._weights.visit(expr)

    def value(self, expr: Expr) -> npt.NDArray[Any] | None:
        """Return the value of a tensor; None if it depends on the model's inputs.

        Raises:
            EvaluationError: It has none, or one that is too large.
        """
        if isinstance(expr, Constant):
            return expr.data.numpy()
        if self.depends_on_inputs(expr):
            return None
        if expr not in self._found:
            self._found[expr] = _evaluated(expr)
        return self._found[expr]


def _evaluated(expr: Expr) -> npt.NDArray[Any]:
    """Return the value of a tensor, as FoldConstant finds it, and within its limit."""
    with Evaluator.of(expr, PassContext.current()) as evaluator:
        folder = ConstantFolder(evaluator)
        folded = folder.visit(expr)
    if isinstance(folded, Constant):
        return folded.data.numpy()
    if folder.kept:
        raise EvaluationError(folder.kept[0].message)
    return np.asarray(evaluate(folded))  # of calls that are never folded


class _Reads(ExprFunctor[bool]):
    """Finds the expressions that depend on some leaves; visits each once."""

    def __init__(self, is_read: Callable[[Expr], bool]) -> None:
        super().__init__()
        self._is_read = is_read

    def visit_default(self, expr: Expr) -> bool:
        below = children(expr)
        return any(map(self.visit, below)) if below else self._is_read(expr)


_MOST_STEPS = 10_000
_MOST_SHOWN = 10  # inputs, in messages

Branch = Callable[[onnx.GraphProto, Sequence[Expr]], list[Expr]]
"""Converts a graph inside of a node, on inputs, to its results."""


class OnnxNode:
    """Inputs and attributes of one node, checked as they are read.

    A converter reads all attributes and inputs that it honours; those left unread are
    refused by `check_all_read`, so that none is ever ignored.

    Args:
        proto: The node.
        place: Where it is, for messages.
        source: The name of the model.
        opset: The version of the operators.
        inputs: The expressions of the inputs; None for one that is left out.
        types: Knows the types of the inputs.
        values: Knows the values that do not depend on the model's inputs.
        branch: Converts the graphs among its attributes.
        open_error: Returns the error for shapes that have to be known.
        names_read: The names that are read in the same graph, or given out.

    Attributes:
        quantized: The floats of the model that were computed from ints.
    """

    def __init__(
        self,
        proto: onnx.NodeProto,
        *,
        place: str,
        source: str,
        opset: int,
        inputs: Sequence[Expr | None],
        types: BuiltTypes,
        values: KnownValues,
        branch: Branch,
        open_error: Callable[[str], FrontendError],
        names_read: Collection[str],
    ) -> None:
        self.proto = proto
        self.place = place
        self.given = inputs
        self.graphs: list[onnx.GraphProto] = []  # those that are read
        self.opset = opset
        self.output_count = 1 + max(
            (at for at, name in enumerate(proto.output) if name), default=0
        )
        self._branch = branch
        self._open_error = open_error
        self._names_read = names_read
        self._source = source
        self._inputs_read: set[int] = set()
        self._types = types
        self._values = values
        self.quantized = values.quantized
        self._unread = {attribute.name: attribute for attribute in proto.attribute}

    @property
    def input_count(self) -> int:
        """How many inputs the node names, those that are left out included."""
        return len(self.given)

    def is_read(self, output: int) -> bool:
        """Return whether something reads an output."""
        names = self.proto.output[output : output + 1]
        return any(name in self._names_read for name in names)

    def refusal(self, message: str) -> FrontendError:
        """Return the error for something valid that is not supported."""
        return FrontendError(self._text(message), source=self._source)

    def fault(self, message: str) -> MalformedModelError:
        """Return the error for something that ONNX does not allow."""
        return MalformedModelError(self._text(message), source=self._source)

    def _text(self, message: str) -> HintedMessage:
        """Return a message with the place of the node, and the types of its inputs."""
        names = [name or "none" for name in self.proto.input[:_MOST_SHOWN]]
        found = [
            name if one is None else f"{name}: {self._types.get(one)}"
            for name, one in zip(names, self.given, strict=False)
        ]
        if len(self.proto.input) > _MOST_SHOWN:
            found.append(f"{len(self.proto.input) - _MOST_SHOWN} more")
        listed = ", ".join(found) or "none"
        return HintedMessage(f"{self.place}: ", message, f" (inputs: {listed})")

    def input(self, index: int) -> Expr:
        """Return an input that must be there."""
        found = self.optional(index)
        if found is None:
            raise self.fault(f"expected an input number {index + 1}, got none")
        return found

    def optional(self, index: int) -> Expr | None:
        """Return an input that may be left out."""
        self._inputs_read.add(index)
        return self.given[index] if index < len(self.given) else None

    def inputs(self) -> list[Expr]:
        """Return all inputs of a node that takes any number, but at least one."""
        return [self.input(index) for index in range(max(1, len(self.given)))]

    def types(self) -> list[TensorType | None]:
        """Return the types of all inputs; None for one that is left out."""
        return [None if one is None else self.type(one) for one in self.given]

    def shape(self, expr: Expr) -> tuple[int, ...]:
        """Return the shape of an input, or of what was built from inputs.

        Raises:
            FrontendError: A dimension is known only when the model runs.
        """
        return self.lengths(expr, range(self.rank(expr)))

    def lengths(self, expr: Expr, axes: Iterable[int]) -> tuple[int, ...]:
        """Return the lengths of some axes of an input, as `shape` does of all."""
        found = self._types.tensor(expr)
        axes = [*axes]
        rank = len(found.shape)
        if axes and max(axes) >= rank:
            raise self.fault(f"expected {max(axes) + 1} dimensions or more, got {rank}")
        wanted = [found.shape[axis] for axis in axes]
        known = tuple(dim for dim in wanted if isinstance(dim, int))
        if len(known) < len(wanted):
            raise self._open_error(
                self._text(
                    f"the shape of its input must be known here, but it is {found}"
                )
            )
        return known

    def dims(self, expr: Expr) -> tuple[Dim, ...]:
        """Return the shape of an input, of which dimensions may be unknown."""
        return self._types.tensor(expr).shape

    def rank(self, expr: Expr) -> int:
        """Return how many dimensions an input has, or what was built from inputs."""
        return len(self._types.tensor(expr).shape)

    def of_rank(self, rank: int, expr: Expr, what: str) -> Expr:
        """Return an input, which has to have so many dimensions.

        Raises:
            MalformedModelError: It has others.
        """
        got = self.rank(expr)
        if got != rank:
            dims = "dimension" if rank == 1 else "dimensions"
            raise self.fault(f"expected {rank} {dims} for its {what}, got {got}")
        return expr

    def count(self, expr: Expr, what: str) -> int:
        """Return the length of an input that has to be a vector."""
        return self.shape(self.of_rank(1, expr, what))[0]

    def has_static_shape(self, expr: Expr) -> bool:
        """Return whether all dimensions of an input are known."""
        return all(isinstance(dim, int) for dim in self._types.tensor(expr).shape)

    def dtype(self, expr: Expr) -> str:
        """Return the dtype of an input, or of what was built from inputs."""
        return self._types.tensor(expr).dtype

    def type(self, expr: Expr) -> TensorType:
        """Return the type of an input, or of what was built from inputs."""
        return self._types.tensor(expr)

    def scalar(self, value: float, like: Expr) -> Constant:
        """Return a constant scalar of the dtype of another expression.

        Raises:
            FrontendError: It is no whole number, as the dtype would have it.
        """
        dtype = self.dtype(like)
        if is_int_dtype(dtype) and value != int(value):
            raise self.refusal(f"{value} is not supported for values of {dtype}")
        return const(np.asarray(value), dtype)

    def known(self, index: int, what: str) -> npt.NDArray[Any]:
        """Return the value of an input that decides about what is built."""
        found = self.known_or_none(index)
        if found is None:
            raise self.unknown(self.input(index), f"its {what}")
        return found

    def unknown(self, expr: Expr, what: str) -> FrontendError:
        """Return the error for a value that has to be known, and depends on inputs."""
        found = [one for one in post_order(expr) if isinstance(one, Var)]
        names = ", ".join(f"'{one.name_hint}'" for one in found)
        return self._open_error(
            self._text(
                HintedMessage(
                    f"{what} depends on {names}; expected it to be known from "
                    "initializers, constants, shapes, and inputs fixed by ",
                    Hint.CONST_PARAMETER,
                )
            )
        )

    def known_or_none(self, index: int) -> npt.NDArray[Any] | None:
        """Return the value of an input; None if it depends on the model's inputs."""
        return self.value(self.input(index))

    def value(self, expr: Expr) -> npt.NDArray[Any] | None:
        """Return the value of a tensor; None if it depends on the model's inputs.

        Raises:
            FrontendError: It has none, or one that is too large.
        """
        try:
            return self._values.value(expr)
        except EvaluationError as error:
            raise self.refusal(f"its input has no value: {error}") from error

    def folded(self, expr: Expr) -> Expr:
        """Return a constant for a tensor that does not depend on the model's inputs."""
        value = self.value(expr)
        return expr if value is None else const(value)

    def is_known(self, index: int) -> bool:
        """Return whether an input is left out, or its value does not vary."""
        return self.optional(index) is None or self.known_or_none(index) is not None

    def known_number(self, index: int, what: str) -> float:
        """Return an input that decides about what is built, as one number."""
        array = self.known(index, what)
        if array.size != 1:
            raise self.fault(f"expected one number for its {what}, got {array.size}")
        return float(array.reshape(()))

    def known_ints(self, index: int, what: str) -> tuple[int, ...]:
        """Return an input that decides about shapes, as whole numbers."""
        array = self.known(index, what)
        if array.dtype.kind not in "iu":
            raise self.fault(
                f"expected whole numbers for its {what}, got {array.dtype}"
            )
        return tuple(int(value) for value in array.reshape(-1))

    def has(self, name: str) -> bool:
        """Return whether an attribute is given and unread."""
        return name in self._unread

    def integer(self, name: str, default: int) -> int:
        """Read a whole number."""
        return cast("int", self._read(name, AttributeProto.INT, default))

    def number(self, name: str, default: float) -> float:
        """Read a number."""
        return cast("float", self._read(name, AttributeProto.FLOAT, default))

    def integers(self, name: str) -> tuple[int, ...] | None:
        """Read a list of whole numbers; None where there is none."""
        found = self._read(name, AttributeProto.INTS, None)
        return None if found is None else tuple(cast("Sequence[int]", found))

    def numbers(self, name: str) -> tuple[float, ...] | None:
        """Read a list of numbers; None where there is none."""
        found = self._read(name, AttributeProto.FLOATS, None)
        return None if found is None else tuple(cast("Sequence[float]", found))

    def text(self, name: str, default: str) -> str:
        """Read a string."""
        found = cast("bytes", self._read(name, AttributeProto.STRING, default.encode()))
        return found.decode()

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Read a list of strings; None where there is none."""
        found = self._read(name, AttributeProto.STRINGS, None)
        if found is None:
            return None
        return tuple(one.decode() for one in cast("Sequence[bytes]", found))

    def tensor(self, name: str) -> npt.NDArray[Any] | None:
        """Read an array; None where there is none."""
        found = self._read(name, AttributeProto.TENSOR, None)
        if found is None:
            return None
        return array_of(cast("onnx.TensorProto", found), self.place, self._source)

    def drop(self, name: str) -> None:
        """Pass over an attribute that does not count here."""
        self._unread.pop(name, None)

    def graph(self, name: str) -> Callable[[Sequence[Expr]], list[Expr]]:
        """Read a graph, as what gives its results on inputs."""
        found = self._read(name, AttributeProto.GRAPH, None)
        if found is None:
            raise self.fault(f"expected the attribute '{name}', got none")
        self.graphs.append(cast("onnx.GraphProto", found))
        return lambda inputs: self._branch(cast("onnx.GraphProto", found), inputs)

    def steps(self, count: int) -> range:
        """Return the steps of a loop, which are all written out.

        Raises:
            FrontendError: They are too many for that.
        """
        if count > _MOST_STEPS:
            raise self.refusal(
                f"expected at most {_MOST_STEPS} steps, because each is expanded, got "
                f"{count}"
            )
        return range(count)

    def check_all_read(self) -> None:
        """Refuse the node if its converter left an attribute or an input unread."""
        for index, given in enumerate(self.given):
            if given is not None and index not in self._inputs_read:
                raise self.refusal(f"an input number {index + 1} is not supported")
        if self._unread:
            names = ", ".join(f"'{name}'" for name in self._unread)
            raise self.refusal(f"attribute {names} is not supported")

    def _read(self, name: str, kind: AttributeProto.AttributeType, default: Any) -> Any:
        attribute = self._unread.pop(name, None)
        if attribute is None:
            return default
        if attribute.type != kind:
            expected = AttributeProto.AttributeType.Name(kind)
            got = AttributeProto.AttributeType.Name(attribute.type)
            raise self.fault(f"expected {expected} for attribute '{name}', got {got}")
        return onnx.helper.get_attribute_value(attribute)


Converter = Callable[[OnnxNode], Expr | TupleWrapper]
"""Returns the expression of a node's first output, or those of several.

It reads every attribute that it honours, and raises `node.refusal(...)` for what is
valid but not supported, `node.fault(...)` for what ONNX does not allow.
"""
