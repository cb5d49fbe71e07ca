"""TVM's objects as bytes: the JSON graph that TVM reads, written here.

`pickle` and `tvm.ir.save_json` end the process with apache-tvm-ffi 0.1.15, whose writer
reads what apache-tvm 0.27.0 has not filled in; its reader is sound. So objects are
written here, by what tvm-ffi says of the fields of each type, in the form of
`save_json`, and read by tvm-ffi. It takes as long as the writer of 0.1.14 did, and does
not depend on the version. TVMScript would be read in 40 to 70 ms a function, which is
what compiling one takes.

Nothing recurses along an object, and equal objects are equal bytes in each process.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import tvm
import tvm_ffi
from tvm_ffi.serialization import from_json_graph_str, to_json_graph_str

from parpass.errors import ArgumentError

# What a field's static type is, by the numbers of tvm-ffi's C interface: values of
# these are written in their place, and of others by the number of a node.
_INT_BOOL_FLOAT = frozenset({1, 2, 3})
_DTYPE = 5

# Types that TVM writes by a name, by which each process finds the object.
_NAMED = frozenset(
    {"ir.EnvFunc", "ir.Op", "ir.SourceName", "target.TargetKind", "tirx.Axis"}
)
_LOCAL = frozenset({"ffi.Module", "ffi.OpaquePyObject"})  # of one process alone
_OBJECTS = (tvm_ffi.Object, tvm_ffi.Tensor)
_NUMBERS = (bool, int, float)
_DTYPES = (tvm_ffi.dtype, tvm_ffi.core.DataType)


def encode(root: Any) -> bytes:
    """Return an object of TVM as bytes.

    Variables of one name in it may be several; global variables are one by name.

    Raises:
        ArgumentError: Something in it is of this process alone, such as a function; the
            message has the path to it.
    """
    return _Writer().graph(root)


def decode(encoded: bytes) -> Any:
    """Return the object from the result of `encode`, which may be of another process.

    Raises:
        Exception: The bytes are damaged, or of another version of TVM.
    """
    return from_json_graph_str(encoded.decode())


def global_names(encoded: bytes) -> frozenset[str]:
    """Return the names of the global variables that an encoded object refers to."""
    if b'"ir.GlobalVar"' not in encoded:
        return frozenset()
    nodes = json.loads(encoded)["nodes"]
    return frozenset(
        nodes[one["data"]["name_hint"]]["data"]
        for one in nodes
        if one["type"] == "ir.GlobalVar"
    )


def unify_globals(mod: Any) -> Any:
    """Return a copy of an IRModule in which one object stands for each global variable.

    Functions that were decoded one by one have objects of their own for them.
    """
    return decode(encode(mod))


class _Field(NamedTuple):
    name: str
    get: Callable[[Any], Any]
    is_inline: bool


class _Shape(NamedTuple):
    """The text form of the objects of a type.

    Attributes:
        type_key: TVM's name of the type.
        fields: Its fields, those of its bases first.
        template: The text of a node, but the values of its fields.
    """

    type_key: str
    fields: Sequence[_Field]
    template: str


class _Frame(NamedTuple):
    """An object whose parts are being written.

    Attributes:
        key: What identifies it.
        shape: How it is written; None for a container.
        values: What is known of its parts: numbers of nodes, or text.
        missing: The parts that have no number yet: place, part and key.
        steps: The steps of a path to the parts, by place.
    """

    key: Any
    type_key: str
    shape: _Shape | None
    values: list[Any]
    missing: list[tuple[int, Any, Any]]
    steps: Callable[[int], str]


class _Writer:
    def __init__(self) -> None:
        self._nodes: list[str] = []
        self._numbers: dict[Any, int] = {}
        # What a field gives is an object of its own, whose address is a key.
        self._kept: list[Any] = []
        self._stack: list[_Frame] = []

    def graph(self, root: Any) -> bytes:
        top = _Frame(None, "ffi.Array", None, [], [], _no_step)
        self._stack.append(top)
        self._place(top, root)
        while top.missing:
            frame = self._stack[-1]
            missing = frame.missing
            while missing:
                at, part, key = missing[-1]
                number = self._numbers.get(key)
                if number is None:
                    self._open(part, key)
                    break
                frame.values[at] = number
                missing.pop()
            else:
                self._stack.pop()
                self._close(frame)
        return (
            f'{{"root_index":{top.values[0]},"nodes":[{",".join(self._nodes)}]}}'
        ).encode()

    def _open(self, value: Any, key: Any) -> None:
        """Begin to write an object; those without parts are written at once."""
        self._kept.append(value)
        if isinstance(value, tvm_ffi.Tensor):
            self._add(key, "ffi.Tensor", json.dumps(_tensor_data(value)))
            return
        shape = _shape(cast("Any", type(value)))
        type_key = shape.type_key
        if type_key in _LOCAL:
            raise self._cannot_travel(value)
        if shape.fields:
            steps = functools.partial(_attribute, shape)
            frame = _Frame(key, type_key, shape, [], [], steps)
            for field in shape.fields:
                part = field.get(value)
                if field.is_inline:
                    frame.values.append(self._inline(part, frame))
                else:
                    self._place(frame, part)
        elif type_key in ("ffi.Array", "ffi.List"):
            frame = _Frame(key, type_key, None, [], [], _index)
            for part in value:
                self._place(frame, part)
        elif type_key in ("ffi.Map", "ffi.Dict"):
            keys = list(value.keys())
            frame = _Frame(key, type_key, None, [], [], functools.partial(_item, keys))
            for pair in value.items():
                self._place(frame, pair[0])
                self._place(frame, pair[1])
        else:
            self._add(key, type_key, self._without_fields(value, type_key))
            return
        self._stack.append(frame)

    def _place(self, frame: _Frame, part: Any) -> None:
        """Put a part into its place in a frame, by its number if it has one."""
        kind = _key_kind(cast("Any", type(part)))
        if kind is _OBJECTS:
            key = part.__chandle__()
        elif kind is tvm.ir.GlobalVar:
            key = str(part.name_hint)
        else:
            key = kind, part.hex() if kind is float else part  # 0.0 is not -0.0
        number = self._numbers.get(key)
        if number is None and not isinstance(part, _OBJECTS):
            number = self._leaf(frame, part, key)
        if number is None:
            frame.missing.append((len(frame.values), part, key))
        frame.values.append(number)

    def _inline(self, value: Any, frame: _Frame) -> str:
        """Return a number, or the name of a type of elements, as JSON."""
        if type(value) is float and 0 < abs(value) < sys.float_info.min:
            raise self._cannot_travel(
                value, frame.steps(len(frame.values)), frame, "TVM reads no subnormals"
            )
        return json.dumps(value if type(value) in _NUMBERS else str(value))

    def _leaf(self, frame: _Frame, value: Any, key: Any) -> int:
        kind = cast("Any", type(value))
        if value is None:
            return self._add(key, "None", "")
        if kind in _NUMBERS:
            return self._add(key, kind.__name__, self._inline(value, frame))
        if isinstance(value, _DTYPES):
            return self._add(key, "DataType", json.dumps(str(value)))
        if isinstance(value, str):
            return self._add(key, "ffi.String", json.dumps(str(value)))
        if isinstance(value, tvm_ffi.Device):
            numbers = [int(value.dlpack_device_type()), int(value.index)]
            return self._add(key, "Device", json.dumps(numbers))
        raise self._cannot_travel(value, frame.steps(len(frame.values)), frame)

    def _without_fields(self, value: Any, type_key: str) -> str:
        if type_key in _NAMED:
            return json.dumps(str(value.name))
        if isinstance(value, tvm_ffi.Shape):
            return json.dumps(list(value))
        return "{}"

    def _close(self, frame: _Frame) -> None:
        if frame.shape is None:
            numbers = ",".join(map(str, frame.values))
            self._add(frame.key, frame.type_key, f"[{numbers}]")
            return
        self._numbers[frame.key] = len(self._nodes)
        self._nodes.append(frame.shape.template % tuple(frame.values))

    def _add(self, key: Any, type_key: str, data: str) -> int:
        self._numbers[key] = number = len(self._nodes)
        content = f',"data":{data}' if data else ""
        self._nodes.append(f'{{"type":"{type_key}"{content}}}')
        return number

    def _cannot_travel(
        self,
        value: Any,
        last: str = "",
        opening: _Frame | None = None,
        why: str = "it belongs to this process",
    ) -> ArgumentError:
        frames = [one for one in self._stack[1:] if one is not opening]
        steps = [frame.steps(frame.missing[-1][0]) for frame in frames if frame.missing]
        where = ("".join(steps) + last).lstrip(".") or "the object itself"
        return ArgumentError(
            f"expected what other processes can have, got {type(value).__name__} at "
            f"{where}: {why}; call 'tvm.compile', or TVM passes themselves, on "
            "modules with such"
        )


@functools.cache
def _key_kind(kind: type) -> Any:
    """Return what identifies objects of a type: their address, or their kind."""
    if issubclass(kind, tvm.ir.GlobalVar):
        return tvm.ir.GlobalVar
    if issubclass(kind, _OBJECTS):
        return _OBJECTS
    if issubclass(kind, _DTYPES):
        return tvm_ffi.dtype  # a string for Python, too
    return str if issubclass(kind, str) else cast("Any", kind)


def _no_step(at: int) -> str:
    del at
    return ""


def _attribute(shape: _Shape, at: int) -> str:
    return f".{shape.fields[at].name}"


def _index(at: int) -> str:
    return f"[{at}]"


def _item(keys: Sequence[Any], at: int) -> str:
    key = keys[at // 2]
    return f"['{getattr(key, 'name_hint', key)}']"


def _tensor_data(value: Any) -> Any:
    """Return the content of a tensor as TVM writes it, which has a form of its own."""
    graph = json.loads(to_json_graph_str(value))
    return graph["nodes"][graph["root_index"]]["data"]


@functools.cache
def _shape(kind: type) -> _Shape:
    """Return how objects of a type are written, by what tvm-ffi says of the type."""
    own = cast("Any", kind).__tvm_ffi_type_info__
    bases: list[Any] = []
    info = own
    while info is not None:
        bases.append(info)
        info = info.parent_type_info
    fields = [
        _Field(
            one.name,
            one.getter,
            one.field_static_type_index in _INT_BOOL_FLOAT
            or one.field_static_type_index == _DTYPE,
        )
        for base in reversed(bases)
        for one in base.fields or ()
    ]
    if own.type_key in _NAMED:
        fields = []
    places = ",".join(f'"{one.name}":%s' for one in fields)
    template = f'{{"type":"{own.type_key}","data":{{{places}}}}}'
    return _Shape(own.type_key, fields, template)
