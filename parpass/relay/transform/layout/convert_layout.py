"""ConvertLayout: convolutions in desired layouts; LayoutConfig skips some of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar, Token
from itertools import count
from typing import Any, Self, cast

from msgspec.structs import replace

from parpass.errors import ArgumentError, IRError
from parpass.ir.module import IRModule
from parpass.ir.op.op_registration import op_attrs
from parpass.ir.op.op_table import Op
from parpass.ir.types import TensorType
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.op.declaration.layout import Layout
from parpass.relay.op.hooks import CONVERT_OP_LAYOUT
from parpass.relay.transform.layout.layout_rewriter import LayoutRewriter
from parpass.relay.type_inference.infer import typed_function
from parpass.runner import propagate
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass

_skipped: ContextVar[frozenset[int]] = propagate(
    ContextVar("parpass_layout_config", default=frozenset())
)


class LayoutConfig:
    """Has ConvertLayout leave some convolutions alone, in a `with` block.

    Args:
        skip_layers: Which of the convolutions that are to be converted, counted from 0
            on in each function, those that others need before these.
    """

    def __init__(self, skip_layers: Iterable[int] | None = None) -> None:
        self.skip_layers = frozenset(skip_layers or ())
        self._tokens: list[Token[frozenset[int]]] = []

    def __enter__(self) -> Self:
        self._tokens.append(_skipped.set(self.skip_layers))
        return self

    def __exit__(self, *_error: object) -> None:
        if not self._tokens:
            raise IRError("expected a LayoutConfig that was entered to be left")
        _skipped.reset(self._tokens.pop())


def skipped_layers() -> frozenset[int]:
    """Return the convolutions that the nearest LayoutConfig leaves alone."""
    return _skipped.get()


_DEFAULT = "default"


@register_pass("relay._transform.ConvertLayout")
class ConvertLayout(FunctionPass):
    """Convert operators to other layouts, with as few transforms as possible.

    With `{"nn.conv2d": ["NHWC", "default"]}`::

        def @main(%x: Tensor[(1, 2, 8, 8), float32], \
%w: Tensor[(4, 2, 3, 3), float32]) {
          %0 = nn.conv2d(%x, %w);
          nn.relu(%0)
        }

    becomes::

        def @main(%x: Tensor[(1, 2, 8, 8), float32], \
%w: Tensor[(4, 2, 3, 3), float32]) -> Tensor[(1, 4, 6, 6), float32] {
          %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NHWC");
          %1 = layout_transform(%w, src_layout="OIHW", dst_layout="HWIO");
          %2 = nn.conv2d(%0, %1, data_layout="NHWC", kernel_layout="HWIO");
          %3 = nn.relu(%2);
          layout_transform(%3, src_layout="NHWC", dst_layout="NCHW")
        }

    The pass converts convolutions, transposed convolutions and poolings by their
    attributes. For other operators, register a rule with
    `relay.op.register_convert_op_layout`. Elementwise operators, poolings,
    concatenation, padding, normalisation, slices and reductions in between continue in
    the new layout, as do operators with a rule registered by
    `relay.op.register_infer_correct_layout`. Use `LayoutConfig` to leave some operators
    alone.

    Args:
        desired_layouts: For each operator, the layout of its data and, if it has one,
            of its kernel; `default` is the kernel layout that usually goes with the
            data layout.

    Raises:
        ArgumentError: The argument is no such mapping.
    """

    pass_info = PassInfo(3, "ConvertLayout", required=("InferType", "CanonicalizeOps"))
    cacheable = True

    def __init__(self, desired_layouts: Mapping[str, Sequence[str]]) -> None:
        self.desired_layouts = {
            Op.get(name).name: _layouts_for(name, layouts)
            for name, layouts in _mapping(desired_layouts).items()
        }

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function in the desired layouts."""
        rules = op_attrs(CONVERT_OP_LAYOUT)
        skipped, convolutions = skipped_layers(), count()

        def alter(call: Call, args: tuple[Expr, ...]) -> Expr | None:
            name = cast("Op", call.op).name
            desired = self.desired_layouts.get(name)
            if desired is None:
                return None
            if "kernel_layout" in (call.attrs or ()) and next(convolutions) in skipped:
                why = "layout kept: LayoutConfig skips it"
                ctx.remark("missed", why, call.span, name="LayoutKept", op=name)
                return call if args == call.args else Call(call.op, args, call.attrs)
            rule = rules.get(name)
            if rule is None:
                return _converted(call, args, desired)
            types = [arg.checked_type for arg in call.args]
            return rule(call.attrs, list(args), types, list(desired))

        rewriter = LayoutRewriter(alter)
        result = rewriter.visit(typed_function(func, mod))
        if not rewriter.altered:
            return func
        ctx.count("converted", rewriter.altered)
        return result


def _converted(
    call: Call, args: tuple[Expr, ...], desired: tuple[str, ...]
) -> Call | None:
    """Return a call in the desired layouts, by its attributes; None if it has none.

    One that has them already is pinned to them: it does not go on in another layout, as
    it would without a wish. What has an axis goes on in whatever layout its data has.

    Raises:
        ArgumentError: The operator has no layout, or there is no usual one for kernels.
    """
    attrs = call.attrs
    data, *kernel = desired
    if "data_layout" in (attrs or ()):
        changes = {"data_layout": data, "kernel_layout": _kernel(call, data, *kernel)}
        if attrs.out_layout:
            changes["out_layout"] = data
    elif "layout" in (attrs or ()):
        changes = {name: data for name in ("layout", "out_layout") if name in attrs}
    elif "axis" in (attrs or ()):
        return None
    else:
        raise ArgumentError(
            f"expected an operator with layouts, got '{cast('Op', call.op).name}'"
        )
    return Call(call.op, args, replace(attrs, **changes), (), call.span)


def _kernel(call: Call, data_layout: str, kernel_layout: str = _DEFAULT) -> str:
    """Return the layout for the kernel: as asked for, or the usual one."""
    if kernel_layout != _DEFAULT:
        return kernel_layout
    data = Layout.of(data_layout)
    spatial = "".join(axis for axis in data.axes if axis not in "NC")
    current = Layout.of(call.attrs.kernel_layout)
    if data.name == f"NC{spatial}":
        is_transposed = cast("Op", call.op).name.endswith("_transpose")
        return f"IO{spatial}" if is_transposed else f"OI{spatial}"
    if data.name == f"{spatial}NC":
        return f"{spatial}OI"
    if data.name == f"N{spatial}C":
        return f"{spatial}OI" if _is_depthwise(call, current) else f"{spatial}IO"
    raise ArgumentError(
        f"expected the layout of the kernel beside '{data.name}', for which there is "
        f"no usual one, such as ['{data.name}', 'OIHW4i4o']"
    )


def _is_depthwise(call: Call, layout: Layout) -> bool:
    weight = call.args[1].checked_type
    if call.attrs.groups == 1 or not isinstance(weight, TensorType):
        return False
    dims = layout.dims_of(weight.shape)
    return (dims["O"], dims["I"]) == (call.attrs.groups, 1)


def _mapping(given: object) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise ArgumentError(
            "expected layouts by operator, such as {'nn.conv2d': ['NHWC', 'default']}, "
            f"got {given!r}"
        )
    return cast("Mapping[str, Any]", given)


def _layouts_for(name: str, layouts: object) -> tuple[str, ...]:
    found = tuple(cast("Sequence[Any]", layouts)) if _is_list(layouts) else ()
    if not found or not all(isinstance(one, str) for one in found):
        raise ArgumentError(f"expected layouts for '{name}', got {layouts!r}")
    for one in found:
        if one != _DEFAULT:
            Layout.of(one)
    return found


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)
