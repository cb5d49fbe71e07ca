"""Functions of loop programs, and the immutable mapping of their buffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

from msgspec import structs
from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.attrs import DictAttrs
from parpass.ir.base_func import BaseFunc
from parpass.ir.node import FieldKind, reflected
from parpass.ir.types import VOID, FuncType, TensorType, TupleType, Type
from parpass.tir.expr import Buffer, IntImm, SizeVar, Var, type_of
from parpass.tir.stmt import Stmt, plain, plain_attrs

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class NodeMap(Mapping[KeyT, ValueT], Generic[KeyT, ValueT]):
    """An immutable mapping from nodes to nodes, in the order in which it was given."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[KeyT, ValueT] | None = None) -> None:
        self._items: dict[KeyT, ValueT] = dict(items or {})

    def __getitem__(self, key: KeyT) -> ValueT:
        return self._items[key]

    def __iter__(self) -> Iterator[KeyT]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __reduce__(self) -> tuple[Any, ...]:
        return NodeMap, (self._items,)

    def __repr__(self) -> str:
        return f"NodeMap({self._items})"


_VARIABLES = {Var, SizeVar}


def _bindings(function: PrimFunc) -> tuple[Var, ...]:
    declared = [buffer.declared for buffer in function.buffer_map.values()]
    return (*function.params, *(var for one in declared for var in one))


@reflected(
    is_graph=False,
    scopes=("body",),
    bindings=_bindings,
    params=FieldKind.BINDINGS,
    buffer_map=FieldKind.MAPPING,
    body=FieldKind.CHILD,
    ret_type=FieldKind.TYPE,
)
class PrimFunc(BaseFunc, frozen=True, eq=False):
    """A function that executes a statement.

    Attributes:
        params: The parameters, scalars and handles.
        body: The statement.
        ret_type: The type of the returned value; none if it returns nothing.
        buffer_map: The buffers of parameters of dtype `handle`. They declare everything
            that is not bound otherwise: pointers, dimensions, strides and offsets.
        attrs: Attributes such as `global_symbol`, the external name, and `tir.noalias`.
            With `num_outputs` the function is a kernel: it writes all of its last
            `num_outputs` parameters, which are buffers, and other IRs call it as a
            function of tensors.
    """

    namespace: ClassVar[str] = "tir"
    may_be_open: ClassVar[bool] = True
    NUM_OUTPUTS: ClassVar[str] = "num_outputs"

    # Variables; a buffer stands for one, and what `ir_builder` or an axis has for one.
    params: Sequence[Any]
    body: Stmt
    ret_type: Type | None = VOID
    buffer_map: Mapping[Var, Buffer] = NodeMap()
    attrs: Mapping[str, Any] | None = None
    span: Span | None = None

    def __post_init__(self) -> None:
        params, body = cast("Any", self.params), cast("Any", self.body)
        kinds = {*map(type, params)}
        if type(params) is not tuple or not kinds <= _VARIABLES:
            self._take_buffers(self.params)
        if not isinstance(body, Stmt):
            raise IRTypeError(
                f"expected a statement for a PrimFunc's body, got {type(body).__name__}"
            )
        if cast("Any", self.ret_type) is None:
            force_setattr(self, "ret_type", VOID)
        if type(self.buffer_map) is not NodeMap:
            force_setattr(self, "buffer_map", NodeMap(self.buffer_map))
        if self.attrs is not None and type(self.attrs) is not DictAttrs:
            force_setattr(self, "attrs", plain_attrs(self.attrs))
        if not self.attrs:
            force_setattr(self, "attrs", None)
        self._check()

    def _take_buffers(self, params: Any) -> None:
        """Put a handle in the place of each buffer among the parameters."""
        found, buffers = list[Any](), dict(self.buffer_map or {})
        for given in params:
            param = given.asobject() if hasattr(given, "asobject") else given
            found.append(
                Var(param.name, "handle") if isinstance(param, Buffer) else param
            )
            if isinstance(param, Buffer):
                buffers[found[-1]] = param
        force_setattr(self, "params", tuple(found))
        force_setattr(self, "buffer_map", NodeMap(buffers))

    def _check(self) -> None:
        for param in self.params:
            if not isinstance(param, Var):
                raise IRTypeError(
                    "expected variables for a PrimFunc's parameters, got "
                    f"{type(param).__name__}"
                )
        for param, buffer in cast("Mapping[Any, Any]", self.buffer_map).items():
            if not (isinstance(param, Var) and isinstance(buffer, Buffer)):
                raise IRTypeError(
                    "expected a buffer_map from variables to buffers, got "
                    f"{type(param).__name__} and {type(buffer).__name__}"
                )

    @property
    def annotated_type(self) -> FuncType:
        """The type of the parameters and of the returned value.

        The type of a kernel follows from its buffers: from tensors to a tensor, or to a
        tuple of tensors. So calls of it in other IRs are typed.
        """
        outputs = self.attributes.get(self.NUM_OUTPUTS)
        if outputs:
            tensors = [_tensor_type(self.buffer_map[param]) for param in self.params]
            return kernel_type(tensors, outputs)
        return FuncType(tuple(map(type_of, self.params)), self.ret_type or VOID)

    @property
    def checked_type(self) -> FuncType:
        """The type, which needs no inference."""
        return self.annotated_type

    def with_attr(self, key: str | Mapping[str, Any], value: Any = None) -> Self:
        """Return this function with one or several more attributes."""
        new = {key: value} if isinstance(key, str) else key
        return self._with({**self.attributes, **{k: plain(v) for k, v in new.items()}})

    def with_body(self, new_body: Stmt, span: Span | None = None) -> PrimFunc:
        """Return this function with another body; itself if the body is the same."""
        if new_body is self.body and span is None:
            return self
        return structs.replace(self, body=new_body, span=span or self.span)

    def script(self, tir_prefix: str = "T", show_meta: bool = False) -> str:
        """Return the text, `str(self)`; TVM's Python script is not supported."""
        del tir_prefix, show_meta
        return str(self)


def kernel_type(tensors: Sequence[TensorType], num_outputs: int) -> FuncType:
    """Return the type of a kernel when it is called with tensors.

    Args:
        tensors: The tensors of all its parameters.
        num_outputs: The number of outputs, which come last.
    """
    given, results = tuple(tensors[:-num_outputs]), tuple(tensors[-num_outputs:])
    return FuncType(given, results[0] if num_outputs == 1 else TupleType(results))


def _tensor_type(buffer: Buffer) -> TensorType:
    """Return the type of what is in a buffer; a length that varies is not known."""
    dims = [dim.value if isinstance(dim, IntImm) else dim for dim in buffer.shape]
    return TensorType(cast("Any", dims), buffer.dtype)
