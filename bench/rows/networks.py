"""Row `networks`: nine real networks, cut into many functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import parpass
from bench.limit import Limit
from bench.measure import Setting, clocked, interleaved, ratio
from bench.table import Line, Row
from parpass import IRModule, Sequential, relay
from parpass.relay.node import children, post_order

_BLOCK = 30  # calls in a function


def _passes() -> Sequential:
    transform = relay.transform
    return Sequential(
        [
            transform.SimplifyInference(),
            transform.FoldConstant(),
            transform.EliminateCommonSubexpr(),
            transform.DeadCodeElimination(),
        ]
    )


@dataclass(frozen=True)
class NetworksShare:
    """A process's share of the blocks of so many networks, for `Limit`."""

    networks: int

    def __call__(self, part: int, parts: int) -> tuple[IRModule, Sequential]:
        """Return the share's module and the passes."""
        mod = _blocks(self.networks)
        names = list(mod.functions_by_name)[part::parts]
        return IRModule({name: mod[name] for name in names}), _passes()


def _blocks(networks: int) -> IRModule:
    """Return the blocks of so many networks as functions, typed."""
    # Here, because loading onnx takes long and the other rows do without it.
    from examples.real_networks import load, network_paths

    names = list(network_paths())[:networks]
    mod = relay.frontend.from_onnx({name: load(name) for name in names})
    typed = relay.transform.InferType()(mod)
    functions = {
        f"{name}_{at}": block
        for name, function in typed.functions_by_name.items()
        for at, block in enumerate(cut(function, _BLOCK))
    }
    return relay.transform.InferType()(IRModule(functions))


def cut(function: relay.Function, calls: int) -> Iterator[relay.Function]:
    """Yield a function's body in parts of so many calls, as functions.

    A part takes what it uses of earlier ones as parameters, and gives what later ones
    use. Constants go where they are used.
    """
    inner = (relay.Call, relay.Tuple, relay.TupleGetItem)
    order = [node for node in post_order(function.body) if isinstance(node, inner)]
    part_of: dict[relay.Expr, int] = {}
    count = 0
    for node in order:
        part_of[node] = count // calls
        count += isinstance(node, relay.Call)
    parts: list[list[relay.Expr]] = [[] for _ in range(part_of[order[-1]] + 1)]
    given = {order[-1]: None}  # in order: what other parts, or the caller, get
    for node in order:
        parts[part_of[node]].append(node)
        used = [one for one in children(node) if one in part_of]
        given |= {one: None for one in used if part_of[one] != part_of[node]}
    for part in parts:
        yield _as_function(part, [node for node in part if node in given])


def _as_function(
    part: Sequence[relay.Expr], results: Sequence[relay.Expr]
) -> relay.Function:
    mutator = relay.ExprMutator()
    inside = set(part)
    params: list[relay.Var] = []
    for node in part:
        for used in children(node):
            outside = used not in inside and used not in mutator.memo_map
            if outside and not isinstance(used, relay.Constant | relay.Op):
                params.append(relay.Var(f"p{len(params)}", used.checked_type))
                mutator.memo_map[used] = params[-1]
    fields = tuple(mutator.visit(node) for node in results)
    body = fields[0] if len(fields) == 1 else relay.Tuple(fields)
    return relay.Function(tuple(params), body)


def _networks(setting: Setting) -> Iterator[Line]:
    networks = setting.scaled(9)
    mod, passes = _blocks(networks), _passes()
    with (
        parpass.PassContext(opt_level=3),
        parpass.open_runner(workers=setting.workers) as runner,
        Limit(NetworksShare(networks), setting.workers) as limit,
    ):
        parpass.assert_structural_equal(runner.run_sync(mod, passes), passes(mod))
        sides = {
            "serial": clocked(lambda: passes(mod)),
            "parallel": clocked(lambda: runner.run_sync(mod, passes)),
            "limit": limit.seconds,
        }
        times = interleaved(sides, setting.repeat)
    count = len(mod.functions)
    what = f"four passes on {networks} real networks, cut into {count:,} functions"
    yield Line(what, "serial run : parallel run", ratio(times, "serial", "parallel"))
    yield Line(
        what,
        "parallel run : independent processes that send nothing back",
        ratio(times, "parallel", "limit"),
        times=times,
    )


ROWS = (Row("networks", _networks),)
