"""Peers that rewrite an IR from Python: TVM's Python visitor, and xDSL's rewriter.

Each gets the same random programs, and has the same pass as `bench.work.Swap` written
for it as its own users would write it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.work import PAIRS, Step

# Libraries and names in them are looked up when measured: none of them has to be there.
_import = importlib.import_module

Program = Sequence[Step]


def _tvm(programs: Sequence[Program]) -> Callable[[], object]:
    """Relax's `PyExprMutator`, the Python visitor of TVM's releases since Relay."""
    relax: Any = _import("tvm.relax")
    kind = _tensor_kind(relax)
    operators = {name: getattr(relax.op, name) for pair in PAIRS for name in pair}
    ops: dict[str, Any] = {}  # an operator's partner by its name in TVM
    example = relax.Var("x", kind)

    def op_of(name: str) -> Any:
        arity = 2 if name in _XDSL_BINARY else 1
        return operators[name](*[example] * arity).op

    for one, other in PAIRS:
        ops[op_of(one).name] = op_of(other)
        ops[op_of(other).name] = op_of(one)
    functions = [
        _relax_function(relax, kind, operators, program) for program in programs
    ]

    @relax.expr_functor.mutator
    class Swapper(relax.PyExprMutator):
        def visit_call_(self, call: Any) -> Any:
            call = self.visit_expr_post_order(call)
            new = ops.get(call.op.name)
            if new is None:
                return call
            return relax.Call(new, call.args, call.attrs)

    return lambda: [Swapper().visit_expr(function) for function in functions]


def _tensor_kind(relax: Any) -> Any:
    """Return the type of a tensor, under the name that this version has for it."""
    named = getattr(relax, "TensorStructInfo", None) or relax.TensorType
    return named((8, 8), "float32")


def _relax_function(
    relax: Any, kind: Any, operators: dict[str, Any], program: Program
) -> Any:
    builder = relax.BlockBuilder()
    params = [relax.Var("x", kind), relax.Var("y", kind)]
    values = list(params)
    with builder.function("main", params):
        with builder.dataflow():
            for step in program:
                args = [values[at] for at in step.args]
                values.append(builder.emit(operators[step.op](*args)))
            result = builder.emit_output(values[-1])
        builder.emit_func_output(result)
    return builder.get()["main"]


_XDSL_UNARY = {
    "negative": "SinOp",
    "abs": "AbsFOp",
    "exp": "ExpOp",
    "tanh": "TanhOp",
    "sigmoid": "CosOp",
    "sqrt": "SqrtOp",
}
_XDSL_BINARY = {
    "add": "AddfOp",
    "subtract": "SubfOp",
    "multiply": "MulfOp",
    "maximum": "MaximumfOp",
}


def _xdsl(programs: Sequence[Program]) -> Callable[[], object]:
    """A `RewritePattern`, driven by xDSL's `PatternRewriteWalker`, in place."""
    arith: Any = _import("xdsl.dialects.arith")
    builtin: Any = _import("xdsl.dialects.builtin")
    math: Any = _import("xdsl.dialects.math")
    rewriting: Any = _import("xdsl.pattern_rewriter")
    kinds: dict[str, Any] = {
        **{name: getattr(math, kind) for name, kind in _XDSL_UNARY.items()},
        **{name: getattr(arith, kind) for name, kind in _XDSL_BINARY.items()},
    }
    partners: dict[Any, Any] = {}
    for one, other in PAIRS:
        partners[kinds[one]], partners[kinds[other]] = kinds[other], kinds[one]
    functions = [_xdsl_function(kinds, program) for program in programs]
    mod = builtin.ModuleOp(functions)

    class Swap(rewriting.RewritePattern):
        def match_and_rewrite(self, op: Any, rewriter: Any, /) -> None:
            new = partners.get(type(op))
            if new is not None:
                rewriter.replace_op(op, new(*op.operands))

    walker = rewriting.PatternRewriteWalker(Swap(), apply_recursively=False)
    return lambda: walker.rewrite_module(mod)


def _xdsl_function(kinds: dict[str, Any], program: Program) -> Any:
    builtin: Any = _import("xdsl.dialects.builtin")
    func: Any = _import("xdsl.dialects.func")
    ir: Any = _import("xdsl.ir")
    kind = builtin.TensorType(builtin.f32, [8, 8])
    block = ir.Block(arg_types=[kind, kind])
    values = list(block.args)
    for step in program:
        op = kinds[step.op](*[values[at] for at in step.args])
        block.add_op(op)
        values.append(op.results[0])
    block.add_op(func.ReturnOp(values[-1]))
    return func.FuncOp("main", ((kind, kind), (kind,)), ir.Region(block))


@dataclass(frozen=True)
class Peer:
    """A peer that may be installed."""

    name: str
    build: Callable[[Sequence[Program]], Callable[[], object]]

    def make(self, programs: Sequence[Program]) -> Callable[[], object] | str:
        """Return what runs the pass on programs, or why there is nothing to run."""
        try:
            run = self.build(programs)
            run()
        except ModuleNotFoundError:
            return "not installed"
        except Exception as error:  # noqa: BLE001 -- the other peers are still wanted
            return f"does not run here: {error}"
        return run


PEERS = (Peer("TVM's PyExprMutator", _tvm), Peer("xDSL's rewriter", _xdsl))
