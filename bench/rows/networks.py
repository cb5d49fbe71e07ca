"""Row `networks`: nine real networks, cut into many functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import parpass
from bench.limit import Limit
from bench.measure import Setting, clocked, interleaved, ratio
from bench.table import Line, Row
from parpass import IRModule, PassContext, Sequential, relay
from parpass.ir.node import children, post_order
from parpass.runner import Runner

Run = Callable[[IRModule], IRModule]

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


def _serial(mod: IRModule) -> IRModule:
    with PassContext(opt_level=3):
        return _passes()(mod)


@dataclass(frozen=True)
class Networks:
    """Real networks as many functions.

    Attributes:
        networks: How many networks.
        cut: Cuts them; a function of a module, as it travels.
    """

    networks: int
    cut: Callable[[IRModule], IRModule]

    def module(self) -> IRModule:
        """Return all functions, typed."""
        # Here, because loading onnx takes long and the other rows do without it.
        from examples.real_networks import load, network_paths

        names = list(network_paths())[: self.networks]
        models = {name: load(name) for name in names}
        mod, _ = relay.frontend.from_onnx(models, freeze_params=True)
        return relay.transform.InferType()(self.cut(relay.transform.InferType()(mod)))

    def __call__(self, part: int, parts: int) -> tuple[IRModule, Run]:
        """Return a process's share of the functions and the passes, for `Limit`."""
        mod = self.module()
        names = list(mod.functions_by_name)[part::parts]
        return IRModule({name: mod[name] for name in names}), _serial


def by_fusion(mod: IRModule) -> IRModule:
    """Return what FuseOps puts together, each a function; without their callers."""
    fused = Sequential(
        [
            relay.transform.SimplifyInference(),
            relay.transform.FuseOps(fuse_opt_level=2),
            relay.transform.FunctionsFromFusion(),
        ]
    )(mod)
    functions = fused.functions_by_name.items()
    return IRModule({name: one for name, one in functions if name not in mod})


def by_blocks(mod: IRModule) -> IRModule:
    """Return each so many calls of each network as a function."""
    return IRModule(
        {
            f"{name}_{at}": block
            for name, function in mod.functions_by_name.items()
            for at, block in enumerate(cut(function, _BLOCK))
        }
    )


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
    with parpass.open_runner(workers=setting.workers) as runner:
        for cut_by in (by_blocks, by_fusion):
            yield from _measured(Networks(setting.scaled(9), cut_by), runner, setting)


def _measured(work: Networks, runner: Runner, setting: Setting) -> Iterator[Line]:
    mod, passes = work.module(), _passes()
    with PassContext(opt_level=3), Limit(work, setting.workers) as limit:
        runner.run_sync(mod, passes)
        sides = {
            "serial": clocked(lambda: _serial(mod)),
            "parallel": clocked(lambda: runner.run_sync(mod, passes)),
            "limit": limit.seconds,
        }
        times = interleaved(sides, setting.repeat)
    what = (
        f"four passes on {work.networks} real networks, cut "
        f"{work.cut.__name__.replace('_', ' ')} into {len(mod.functions):,} functions"
    )
    yield Line(what, "serial run : parallel run", ratio(times, "serial", "parallel"))
    yield Line(
        what,
        "parallel run : independent processes that send nothing back",
        ratio(times, "parallel", "limit"),
        times=times,
    )


ROWS = (Row("networks", _networks),)
