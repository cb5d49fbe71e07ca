"""Counts over programs: nodes, operators, dtypes, MACs; and visits of all nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parpass.ir.module import IRModule
from parpass.ir.node import Node, post_order
from parpass.ir.op_table import Op
from parpass.relay.expr import Expr

if TYPE_CHECKING:
    from collections.abc import Callable
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from parpass.ir.adt import Constructor
from parpass.ir.node import children
from parpass.ir.structural import structural_hash
from parpass.ir.types import TensorType, Type
from parpass.relay.expr import Call, Function, GlobalVar
from parpass.transform import parse_pipeline


def post_order_visit(expr: Expr, fvisit: Callable[[Any], object]) -> None:
    """Call `fvisit` on each node of an expression once, children before parents."""
    for node in post_order(expr):
        if isinstance(node, Expr):
            fvisit(node)


def node_count(program: Expr | IRModule) -> int:
    """Return how many nodes a program has, operators not counted.

    A node that is used many times counts once in each function of a module.
    """
    if isinstance(program, IRModule):
        return sum(node_count(f) for f in program.functions_by_name.values())
    return sum(_counts(node) for node in post_order(program))


def _counts(node: Node) -> bool:
    return isinstance(node, Expr) and not isinstance(node, Op)


# By name: passes import analyses, so analyses do not import passes.
_FUSION = "SimplifyInference,FuseOps{fuse_opt_level=3}"


def extract_fused_functions(mod: IRModule) -> dict[str, Function]:
    """Return the primitive functions that FuseOps makes of `main`, one of each kind.

    Returns:
        The functions by their structural hashes, in the order in which they are called.
    """
    fused = parse_pipeline(_FUSION)(mod)
    primitive = (
        node
        for node in post_order(fused["main"])
        if isinstance(node, Function) and node.has_nonzero_attr("Primitive")
    )
    return {str(structural_hash(function)): function for function in primitive}


def list_op_freqs(mod: IRModule) -> dict[str, int]:
    """Return how many calls of each operator a module has, the most frequent first."""
    return dict(Counter(call.op.name for call in _op_calls(mod)).most_common())


def all_dtypes(expr: Expr) -> set[str]:
    """Return the dtypes of all values in an expression.

    Raises:
        UntypedError: InferType has not run on it.
    """
    found: set[str] = set()
    waiting = [
        node.checked_type
        for node in post_order(expr)
        if isinstance(node, Expr) and not isinstance(node, Op | GlobalVar | Constructor)
    ]
    seen = set(waiting)
    while waiting:
        inside = _parts(waiting.pop(), found)
        waiting += [part for part in inside if part not in seen]
        seen.update(inside)
    return found


def get_total_mac_number(program: Expr | IRModule) -> int:
    """Return the number of multiply-accumulate operations of the heavy operators.

    These are `nn.conv1d` to `nn.conv3d`, the transposed ones, `nn.dense`, `nn.matmul`
    and `nn.batch_matmul`. A call counts once, however often its function is called.

    Raises:
        UntypedError: InferType has not run on the program.
        IRTypeError: A shape in it is not known.
    """
    counted = ((call, _MACS.get(call.op.name)) for call in _op_calls(program))
    return sum(count(call) for call, count in counted if count is not None)


def _op_calls(program: Expr | IRModule) -> Iterator[Any]:
    roots = (
        program.functions_by_name.values()
        if isinstance(program, IRModule)
        else (program,)
    )
    for root in roots:
        for node in post_order(root):
            if isinstance(node, Call) and isinstance(node.op, Op):
                yield node


def _parts(type_: Type, dtypes: set[str]) -> tuple[Type, ...]:
    match type_:
        case TensorType():
            dtypes.add(type_.dtype)
            return ()
        case _:
            return type_.parts


def _shape(expr: Expr) -> tuple[int, ...]:
    found = expr.checked_type
    assert isinstance(found, TensorType)
    return found.concrete_shape


def _conv(call: Call) -> int:
    """Return the MACs of a convolution: the kernel's size for each output."""
    return math.prod(_shape(call)) * _kernel_size(call, "O")


def _conv_transpose(call: Call) -> int:
    """Return the MACs of a transposed convolution: the kernel's size for each output.

    As in TVM, these are the MACs of the convolution that gives an equal result, on data
    with zeros between its elements.
    """
    kernel = _kernel_size(call, "O") // call.attrs["groups"]
    return math.prod(_shape(call)) * kernel


def _kernel_size(call: Call, without: str) -> int:
    """Return the size of a weight without one axis, which may be blocked."""
    axes = [axis for axis in call.attrs["kernel_layout"] if axis.isalpha()]
    sizes = zip(axes, _shape(call.args[1]), strict=True)
    return math.prod(size for axis, size in sizes if axis.upper() != without)


def _product(call: Call) -> int:
    inner = -2 if call.attrs.get("transpose_a", False) else -1
    return math.prod(_shape(call)) * _shape(call.args[0])[inner]


_MACS: dict[str, Callable[[Call], int]] = {
    **{f"nn.conv{n}d": _conv for n in (1, 2, 3)},
    **{f"nn.conv{n}d_transpose": _conv_transpose for n in (1, 2, 3)},
    "nn.dense": _product,
    "nn.matmul": _product,
    "nn.batch_matmul": _product,
}


def count_layers(expr: Expr | IRModule, valid_ops: Iterable[str]) -> int:
    """Return the largest number of calls of some operators on one path.

    Branches that are parallel count as one; bodies of called functions do not count.

    Args:
        expr: An expression, or a module, whose `main` is counted.
        valid_ops: The names of the operators.

    Raises:
        UnknownOpError: There is no operator of a name.
    """
    root = expr["main"] if isinstance(expr, IRModule) else expr
    counted = {Op.get(name) for name in valid_ops}
    depths: dict[Node, int] = {}
    for node in post_order(root):
        below = max((depths[child] for child in children(node)), default=0)
        depths[node] = below + (isinstance(node, Call) and node.op in counted)
    return depths[root]
