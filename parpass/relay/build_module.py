"""`relay.build` and `relay.build_all`: compile networks to libraries of machine code.

`build_config` is the deprecated name of PassContext.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from parpass.errors import ArgumentError
from parpass.errors.warning import warn
from parpass.ir.module import IRModule
from parpass.object_store import ObjectStore
from parpass.relay.backend.executor_factory import GraphExecutorFactoryModule
from parpass.relay.backend.graph_executor_codegen import check_parameter_shapes
from parpass.relay.backend.network_library import PipelineRun, library_runs
from parpass.relay.binding import bind_params_by_name
from parpass.relay.expr import Function
from parpass.relay.interpreter.interpreter import create_executor
from parpass.relay.network_module import FuseNetwork, Networks, network_pipeline
from parpass.relay.transform.fusion.functions_from_fusion import FunctionsFromFusion
from parpass.relay.transform.pipelines import default_pipeline
from parpass.runner import Runner, RunReport, open_runner
from parpass.runtime.compiled_module import Module
from parpass.target.target import Target
from parpass.transform import PassContext, Sequential

if TYPE_CHECKING:
    from parpass.relay.backend.kernel_map import KernelMap  # few builds have one
    from parpass.runner import FunctionCache

__all__ = [
    "bind_params_by_name",
    "build",
    "build_all",
    "build_async",
    "create_executor",
    "network_pipeline",
    "network_runs",
    "networks_runs",
    "optimize",
]


def build_config(
    opt_level: int = 2,
    required_pass: Iterable[str] | None = None,
    disabled_pass: Iterable[str] | None = None,
) -> PassContext:
    """Return a `PassContext`; deprecated.

    TVM's fourth argument, `trace`, is gone: give instruments to the PassContext.
    """
    warn(
        "relay.build_config is deprecated; use parpass.transform.PassContext",
        DeprecationWarning,
    )
    return PassContext(opt_level, required_pass, disabled_pass)


_Report = Callable[[RunReport], object]
BuiltT = TypeVar("BuiltT")


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
    cache: bool | FunctionCache | str | os.PathLike[str] = True,
    report: _Report | None = None,
) -> GraphExecutorFactoryModule:
    """Compile a network to a library, on every core, and wait for it.

    ::

        mod, params = relay.frontend.from_onnx(model)
        with tvm.transform.PassContext(opt_level=3):
            lib = relay.build(mod, target="llvm", params=params)
        lib.export_library("net.so")
        module = tvm.runtime.graph_executor.GraphModule(lib["default"](tvm.cpu()))

    The passes of the context's level simplify the network and fuse its operators.
    Workers then lower, optimise and compile each resulting kernel. Operators without a
    lowering rule are computed by numpy; `numpy_functions` lists them. The library is
    identical, byte for byte, for every number of workers.

    Args:
        ir_mod: The network: a function, or a module whose `main` has no control flow.
        target: The machine; by default the current target, or this machine.
        target_host: The machine that calls; must equal `target`.
        params: Values of parameters of `main`, by name.
        mod_name: The name of the network in the library.
        executor: The executor of the library: `graph` for the graph executor. With
            `aot` the library also has a function, `default_run`, that C can call;
            `c_header` returns its declaration.
        workers: The number of worker processes; None for one per core, 0 for this
            process alone.
        runner: A runner whose workers are used, so that several builds start them once;
            overrides `workers`.
        cache: Whether to read kernels of earlier builds from disk and store new ones;
            see `parpass.object_store`. Or results of earlier runs: unchanged kernels
            are taken from it together with the output of their passes. A runner has its
            own cache: `open_runner(cache=...)`.
        report: Called with the report of each of the two runs: Relay's passes, and the
            passes from kernels to machine code. The second run is skipped if all
            kernels are cached.

    Raises:
        ArgumentError: `executor` or `mod_name` is invalid, or both a cache and a runner
            are given.
        CodeGenError: The network has control flow or unknown shapes, an operation has
            no machine code, or llvmlite is not installed.
        TargetError: The target is unknown.
    """
    del target_host
    wanted = _resolved(target)
    kept = _function_cache(cache, runner)
    runs = network_runs(
        ir_mod, wanted, params, mod_name, executor=executor, cache=cache is True
    )
    with open_runner(workers=workers, cache=kept) as own, wanted:
        return _driven(runs, runner or own, report)


def build_all(
    networks: Mapping[str, tuple[IRModule | Function, Mapping[str, Any] | None]],
    target: Any = None,
    *,
    workers: int | None = None,
    runner: Runner | None = None,
    cache: bool | FunctionCache | str | os.PathLike[str] = True,
    report: _Report | None = None,
) -> dict[str, GraphExecutorFactoryModule]:
    """Compile several networks to libraries, on every core, and wait for it.

    ::

        networks = {
            name: relay.frontend.from_onnx(onnx.load(f"{name}.onnx"))
            for name in ("resnet50", "squeezenet")
        }
        with tvm.transform.PassContext(opt_level=3):
            for name, lib in relay.build_all(networks, target="llvm").items():
                lib.export_library(f"{name}.so")

    First each network is simplified and its operators are fused, by one worker, as one
    pass on it (`FuseNetwork`). Instruments see that pass, and not the passes in it; to
    watch these, build one network. Then the kernels of all are compiled, equal ones
    once.
    The libraries are byte for byte those that `build` makes of each network alone. If
    one cannot be compiled, there are none.

    Args:
        networks: The networks, and the values of parameters of `main`, by names, which
            messages have.
        target: As for `build`.
        workers: As for `build`.
        runner: As for `build`.
        cache: As for `build`.
        report: As for `build`.

    Raises:
        ArgumentError: A cache is given beside a runner.
        CodeGenError: As for `build`.
        TargetError: There is no such target.
    """
    wanted = _resolved(target)
    kept = _function_cache(cache, runner)
    bound = {name: _bound(mod, params) for name, (mod, params) in networks.items()}
    runs = networks_runs(bound, wanted, cache=cache is True)
    with open_runner(workers=workers, cache=kept) as own, wanted:
        return _driven(runs, runner or own, report)


def _driven(
    runs: Generator[PipelineRun, Any, BuiltT], runner: Runner, report: _Report | None
) -> BuiltT:
    made = None
    while True:
        try:
            run = runs.send(made)
        except StopIteration as end:
            return end.value
        made = runner.run_sync(run.mod, run.pipeline, report=report)


async def build_async(
    ir_mod: IRModule | Function,
    target: Any = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
    *,
    executor: str = "graph",
    workers: int | None = None,
    runner: Runner | None = None,
    cache: bool | FunctionCache | str | os.PathLike[str] = True,
    report: _Report | None = None,
) -> GraphExecutorFactoryModule:
    """Compile a network to a library, on every core; await it under trio or asyncio.

    See `build` for arguments, result and errors.
    """
    wanted = _resolved(target)
    kept = _function_cache(cache, runner)
    runs = network_runs(
        ir_mod, wanted, params, mod_name, executor=executor, cache=cache is True
    )
    async with open_runner(workers=workers, cache=kept) as own:
        made = None
        with wanted:
            while True:
                try:
                    run = runs.send(made)
                except StopIteration as end:
                    return end.value
                by = runner or own
                made = await by.run(run.mod, run.pipeline, report=report)


def network_runs(
    given: IRModule | Function,
    target: Target,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
    *,
    executor: str = "graph",
    cache: bool = True,
    kernel_map: KernelMap | None = None,
) -> Generator[PipelineRun, Any, GraphExecutorFactoryModule]:
    """Yield the runs of a build, receive their results, and return the library.

    For callers that drive a build with their own runner. The target is resolved; make
    it the current one during the build. See `build` for arguments and errors. A
    `kernel_map` is filled in.
    """
    if executor not in ("graph", "aot"):
        raise ArgumentError(f"expected executor 'graph' or 'aot', got {executor!r}")
    if not mod_name.isidentifier():
        raise ArgumentError(f"expected a name such as 'net', got {mod_name!r}")
    mod = _bound(given, params)
    _check_shapes(mod)
    what = "simplifying the network, and fusing its operators"
    if kernel_map is None:
        fused = yield PipelineRun(mod, network_pipeline(), what)
    else:
        fusing = Sequential(network_pipeline().passes[:-1], name="network")
        fused = yield PipelineRun(mod, fusing, what)
        kernel_map.add_fused(fused)
        fused = Sequential([FunctionsFromFusion()])(fused)
        kernel_map.add_lifted(fused)
    store = ObjectStore() if cache else None
    made = yield from library_runs({"main": fused}, target, mod_name, store, executor)
    return GraphExecutorFactoryModule(Module(made["main"]))


def networks_runs(
    networks: Mapping[str, IRModule], target: Target, *, cache: bool = True
) -> Generator[PipelineRun, Any, dict[str, GraphExecutorFactoryModule]]:
    """Yield the runs of a build of several networks, and return the libraries by name.

    As `network_runs`; see `build_all` for errors.
    """
    for mod in networks.values():
        _check_shapes(mod)
    what = f"simplifying {len(networks):,} networks, and fusing their operators"
    fused: Networks = yield PipelineRun(Networks(networks), FuseNetwork(), what)
    store = ObjectStore() if cache else None
    made = yield from library_runs(fused.functions, target, store=store)
    return {
        name: GraphExecutorFactoryModule(Module(image)) for name, image in made.items()
    }


def _check_shapes(mod: IRModule) -> None:
    if "main" in mod and isinstance(mod["main"], Function):
        check_parameter_shapes(mod["main"])


def _function_cache(
    cache: bool | FunctionCache | str | os.PathLike[str], runner: Runner | None
) -> FunctionCache | str | os.PathLike[str] | None:
    """Return the function cache that is given, or its folder, if one is.

    Raises:
        ArgumentError: The runner that is given has its own.
    """
    if isinstance(cache, bool):
        return None
    if runner is not None:
        raise ArgumentError(
            "expected True or False for cache beside a runner, got a FunctionCache; "
            "a runner has its own: open_runner(cache=cache)"
        )
    return cache


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
    """Return a module after the passes of the context's level.

    These are the passes of `relay.transform.default_pipeline`, and passes of higher
    levels that the context requires. They run in this process; to use every core, call
    `run_pipeline(mod, default_pipeline(3))`.

    Args:
        mod: The module, or a function.
        target: The machine, whose layouts AlterOpLayout chooses; by default the current
            target, if there is one.
        params: Values of parameters of `main`, by name; they become constants.

    Returns:
        The module, and the parameters that have not become constants: always none.
    """
    context = PassContext.current()
    pipeline = default_pipeline(context.opt_level, required=context.required_pass)
    with nullcontext() if target is None else Target(target):
        return pipeline(_bound(mod, params)), {}
