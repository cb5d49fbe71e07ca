"""TVM passes on PrimFuncs, and passes in Python on them, as function passes.

`TVMPass` is a TVM pass, made anew in each worker; `prim_func_pass` makes one of a
Python function; `run_passes` runs them on an IRModule.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tvm

from parpass import Runner, run_pipeline_sync
from parpass.errors import ArgumentError
from parpass.integrations.tvm.tvm_module import TVMFunction, TVMModule
from parpass.integrations.tvm.tvm_settings import TVMSettings
from parpass.transform import FunctionPass, Pass, PassContext, PassInfo, Sequential


class TVMPass(FunctionPass):
    """A pass of TVM's on PrimFuncs, such as `TVMPass(tirx.transform.UnrollLoop)`.

    Passes of TVM's cannot be sent to another process, so this holds what makes one.
    TVM's settings are those in force where this is made.

    Args:
        factory: What makes the pass; it can be imported, or pickled by value.
        args: Its arguments.
        options: Its named arguments.

    Raises:
        ArgumentError: It makes none on PrimFuncs alone.
    """

    def __init__(self, factory: Callable[..., Any], *args: Any, **options: Any) -> None:
        made = factory(*args, **options)
        _check_functionwise(made)
        info = made.info
        self.pass_info = PassInfo(
            int(info.opt_level), str(info.name), tuple(map(str, info.required))
        )
        self.make = functools.partial(factory, *args, **options)
        self.settings = TVMSettings.current()

    def transform_function(
        self, func: TVMFunction, mod: TVMModule, ctx: PassContext
    ) -> TVMFunction:
        """Return what TVM's pass makes of a function."""
        del mod, ctx
        alone = tvm.IRModule({"main": func.prim_func})
        with self.settings.context():
            made = self.make()(alone)
        return func.replaced(made["main"])


def _check_functionwise(made: Any) -> None:
    if isinstance(made, tvm.transform.Sequential):
        for one in made.passes:
            _check_functionwise(one)
    elif not isinstance(made, tvm.tirx.transform.PrimFuncPass):
        kind: Any = type(made)
        name = f"'{made.info.name}'" if isinstance(made, tvm.transform.Pass) else "it"
        raise ArgumentError(
            f"expected what makes a TVM PrimFuncPass, got a {kind.__module__}."
            f"{kind.__name__}: {name} sees whole modules; call it on the IRModule"
        )


class PythonPass(FunctionPass):
    """A Python function from a PrimFunc to a PrimFunc, as a pass.

    Args:
        body: The function; its arguments are a PrimFunc, the `TVMModule` as it stood
            when the pass began, and TVM's PassContext. It returns the same object if it
            changes nothing.
        info: Level and name.
    """

    def __init__(self, body: Callable[[Any, Any, Any], Any], info: PassInfo) -> None:
        self.body, self.pass_info = body, info
        self.settings = TVMSettings.current()

    def transform_function(
        self, func: TVMFunction, mod: TVMModule, ctx: PassContext
    ) -> TVMFunction:
        """Return what the function makes of a PrimFunc."""
        del ctx
        with self.settings.context() as inside:
            made = self.body(func.prim_func, mod, inside)
        if not isinstance(made, tvm.tirx.PrimFunc):
            raise ArgumentError(
                f"expected a PrimFunc from pass '{self.info.name}', got "
                f"{type(made).__name__}"
            )
        return func.replaced(made)


def prim_func_pass(
    *, opt_level: int = 0, name: str | None = None, required: Sequence[str] = ()
) -> Callable[[Callable[[Any, Any, Any], Any]], PythonPass]:
    """Return a decorator that makes a pass of a Python function; see `PythonPass`.

    As `tvm.tirx.transform.prim_func_pass`, whose passes stay in their process.
    """

    def decorated(body: Callable[[Any, Any, Any], Any]) -> PythonPass:
        own = name or getattr(body, "__name__", "PythonPass")
        return PythonPass(body, PassInfo(opt_level, own, tuple(required)))

    return decorated


def run_passes(
    mod: Any,
    passes: Sequence[Pass | Callable[..., Any]],
    *,
    workers: int | None = None,
    runner: Runner | None = None,
    **options: Any,
) -> Any:
    """Run passes on the PrimFuncs of an IRModule, on every core.

    The result is what TVM's own `Sequential` of the passes gives. Other functions than
    PrimFuncs are kept as they are. Level, options, required and disabled passes are
    those of TVM's current PassContext, instruments those of parpass.

    Args:
        mod: The IRModule; it stays as it is.
        passes: `TVMPass`, passes by `prim_func_pass`, or what makes a TVM pass
            without arguments, such as `tvm.tirx.transform.UnrollLoop`.
        workers: How many processes at most; None for every core, 0 for none.
        runner: A runner whose workers are kept, in place of `workers`.
        options: What `parpass.run_pipeline_sync` takes besides: `on_failure`, say.

    Returns:
        The new IRModule.

    Raises:
        ArgumentError: A pass sees whole modules, or a function holds what belongs to
            this process.
        Exception: What a pass raised, with notes that name pass and function.
    """
    made = [one if isinstance(one, Pass) else TVMPass(one) for one in passes]
    context = TVMSettings.current().of_parpass()
    before, pipeline = TVMModule.of(mod), Sequential(made)
    if runner is not None:
        after = runner.run_sync(before, pipeline, context=context, **options)
    else:
        after = run_pipeline_sync(
            before, pipeline, context=context, workers=workers, **options
        )
    return mod if after is before else after.onto(mod)
