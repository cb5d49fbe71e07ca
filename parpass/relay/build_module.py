"""`relay.build` and what is around it: from a network to a library of machine code."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from parpass.errors import ArgumentError
from parpass.errors.missing_names import refusing
from parpass.ir.module import IRModule
from parpass.relay.backend.executor_factory import GraphExecutorFactoryModule
from parpass.relay.backend.network_library import Run, library_runs
from parpass.relay.binding import bind_params_by_name
from parpass.relay.expr import Function
from parpass.relay.interpreter.interpreter import create_executor
from parpass.relay.transform.fusion.functions_from_fusion import FunctionsFromFusion
from parpass.relay.transform.pipelines import default_pipeline
from parpass.runner import Runner, RunReport, open_runner
from parpass.runtime.compiled_module import Module
from parpass.target.object_store import ObjectStore
from parpass.target.target import Target
from parpass.transform import Pass, PassContext, Sequential

_Report = Callable[[RunReport], object]


def build(
    ir_mod: IRModule | Function,
    target: Any = None,
    target_host: Any = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
    *,
    executor: str = "graph",
    workers: int | None = None,
    runner: Runner | None = None,
    cache: bool = True,
    report: _Report | None = None,
) -> GraphExecutorFactoryModule:
    """Compile a network to a library, on every core, and wait for it.

    ::

        mod, params = relay.frontend.from_onnx(model)
        with tvm.transform.PassContext(opt_level=3):
            lib = relay.build(mod, target="llvm", params=params)
        lib.export_library("net.so")
        module = tvm.runtime.graph_executor.GraphModule(lib["default"](tvm.cpu()))

    The network is simplified and its operators are fused, as the context's level says;
    each kernel that comes of it is lowered, optimised and compiled by a worker. What
    has no rule of lowering is computed by numpy: `numpy_functions` has the names. The
    library is the same, to the byte, whatever the number of workers.

    Args:
        ir_mod: The network: a module whose `main` has no control flow, or a function.
        target: The machine; the current target, or this machine, if none is given.
        target_host: The machine that calls; the same one.
        params: Values of parameters of `main`, by name.
        mod_name: Under which name the library has the network.
        executor: What runs the library: `graph` for the graph executor; with `aot` the
            library has a function, `default_run`, that C calls, too, and `c_header`
            gives what declares it.
        workers: How many processes may work; None for as many as there are cores, 0
            for none but this one.
        runner: Whose processes work, so that several builds start them once; then
            `workers` says nothing.
        cache: Whether kernels that an earlier build compiled are taken from disk, and
            new ones kept there; see `parpass.target.object_store`.
        report: Called with the report of each of the two runs: of the passes of Relay,
            and of those from its kernels to machine code, unless all are known.

    Raises:
        ArgumentError: `executor` or `mod_name` is none.
        CodeGenError: The network has control flow, or shapes that are not known, or
            something has no machine code, or llvmlite is not installed.
        TargetError: There is no such target.
    """
    del target_host
    wanted = _resolved(target)
    runs = network_runs(
        ir_mod, wanted, params, mod_name, executor=executor, cache=cache
    )
    with open_runner(workers=workers) as own, wanted:
        made = None
        while True:
            try:
                run = runs.send(made)
            except StopIteration as end:
                return end.value
            made = (runner or own).run_sync(run.mod, run.pipeline, report=report)


async def build_async(
    ir_mod: IRModule | Function,
    target: Any = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
    *,
    executor: str = "graph",
    workers: int | None = None,
    runner: Runner | None = None,
    cache: bool = True,
    report: _Report | None = None,
) -> GraphExecutorFactoryModule:
    """Compile a network to a library, on every core; await it under trio or asyncio.

    `build` says what the arguments are, and what comes of them.
    """
    wanted = _resolved(target)
    runs = network_runs(
        ir_mod, wanted, params, mod_name, executor=executor, cache=cache
    )
    async with open_runner(workers=workers) as own:
        made = None
        with wanted:
            while True:
                try:
                    run = runs.send(made)
                except StopIteration as end:
                    return end.value
                by = runner or own
                made = await by.run(run.mod, run.pipeline, report=report)


def network_pipeline() -> Sequential:
    """Return the passes from a network to a module of kernels, which Relay describes.

    Those are the passes of the current context's level, which end with fusion, and
    `FunctionsFromFusion`.
    """
    context = PassContext.current()
    passes: list[Pass] = [
        default_pipeline(context.opt_level, ["main"], required=context.required_pass),
        FunctionsFromFusion(),
    ]
    return Sequential(passes, name="network")


def network_runs(
    given: IRModule | Function,
    target: Target,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
    *,
    executor: str = "graph",
    cache: bool = True,
) -> Generator[Run, Any, GraphExecutorFactoryModule]:
    """Yield what is to be run, be sent what comes of it, and return the library.

    For whoever drives a build by a runner of their own; the target, which is to be the
    current one meanwhile, is resolved. See `build` for arguments and errors.
    """
    if executor not in ("graph", "aot"):
        raise ArgumentError(f"expected executor 'graph' or 'aot', got {executor!r}")
    if not mod_name.isidentifier():
        raise ArgumentError(f"expected a name such as 'net', got {mod_name!r}")
    mod = _bound(given, params)
    what = "simplifying the network, and fusing its operators"
    fused = yield Run(mod, network_pipeline(), what)
    store = ObjectStore() if cache else None
    image = yield from library_runs(fused, target, mod_name, store, executor)
    return GraphExecutorFactoryModule(Module(image))


def _resolved(target: Any) -> Target:
    return Target(target or Target.current() or "llvm").resolved()


def _bound(given: IRModule | Function, params: Mapping[str, Any] | None) -> IRModule:
    module = given if isinstance(given, IRModule) else IRModule.from_expr(given)
    if params:
        module = module.copy()
        module["main"] = bind_params_by_name(module["main"], params)
    return module


def optimize(
    mod: IRModule | Function,
    target: Any = None,
    params: Mapping[str, Any] | None = None,
) -> tuple[IRModule, dict[str, Any]]:
    """Return a module as the passes of the context's level leave it.

    Those are the passes of `relay.transform.default_pipeline`, and of those of higher
    levels in it the ones that the context requires. They run in this process; on every
    core they do by `run_pipeline(mod, default_pipeline(3))`.

    Args:
        mod: The module, or a function.
        target: The machine, whose layouts AlterOpLayout chooses; the current target,
            or none, if none is given.
        params: Values of parameters of `main`, by name; they become constants.

    Returns:
        The module, and the values that have not become constants, which are none.
    """
    context = PassContext.current()
    pipeline = default_pipeline(context.opt_level, required=context.required_pass)
    with nullcontext() if target is None else Target(target):
        return pipeline(_bound(mod, params)), {}


__all__ = [
    "bind_params_by_name",
    "build",
    "build_async",
    "create_executor",
    "network_pipeline",
    "network_runs",
    "optimize",
]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
