"""`ParallelPipeline`: a pipeline of xDSL's passes, on every core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass as XDSLPass
from xdsl.passes import PassPipeline

from parpass import Runner, run_pipeline_sync
from parpass.integrations.xdsl import xdsl_adapter as _registers_itself
from parpass.integrations.xdsl.context_spec import ContextSpec, universe
from parpass.integrations.xdsl.pass_factories import printable
from parpass.integrations.xdsl.xdsl_module import REST, XDSLModule, merged, place_of
from parpass.transform import Pass, Sequential

_ = _registers_itself


class ParallelPipeline:
    """A pipeline of xDSL passes that runs function-local passes in parallel.

    Use it like xDSL's `PassPipeline`. The result is the same: it applies the passes to
    the module in order, and verifies after each.

    Args:
        passes: Pipeline text as for `xdsl-opt -p`, with the passes of xDSL's universe;
            or passes.
        workers: The maximum number of processes; None for every core, 0 for none.
        runner: A runner whose workers are kept, instead of `workers`.
        options: Further options of `parpass.run_pipeline_sync`, such as `on_failure`.

    Attributes:
        passes: The passes as parpass runs them.
    """

    def __init__(
        self,
        passes: str | Sequence[XDSLPass | Pass],
        *,
        workers: int | None = None,
        runner: Runner | None = None,
        **options: Any,
    ) -> None:
        given: Sequence[XDSLPass | Pass]
        if isinstance(passes, str):
            given = PassPipeline.parse_spec(universe().all_passes, passes).passes
        else:
            given = passes
        self.passes = [printable(p) if isinstance(p, XDSLPass) else p for p in given]
        self._workers, self._runner, self._options = workers, runner, options

    def apply(self, ctx: Context, module: ModuleOp) -> None:
        """Run the passes on a module, which is changed in place.

        If one fails the module stays as it was.

        Raises:
            Exception: What a pass, or the verification after it, raised; its notes
                name the pass and the function.
        """
        before = XDSLModule.of(module, ContextSpec.of(ctx))
        pipeline = Sequential(self.passes)
        if self._runner is not None:
            after = self._runner.run_sync(before, pipeline, **self._options)
        else:
            after = run_pipeline_sync(
                before, pipeline, workers=self._workers, **self._options
            )
        if after is not before:
            put_in_place(module, before, after)


def put_in_place(module: ModuleOp, before: XDSLModule, after: XDSLModule) -> None:
    """Replace functions of a module by the results; unchanged ones keep identity."""
    kept = {
        name: box.lent
        for name, box in before.functions.items()
        if box.lent is not None and after.functions.get(name) == box
    }
    frame, old = after.frame(), list(module.ops)
    rest: list[Operation | str]
    if after.functions.get(REST) == before.functions.get(REST):
        names = {one.lent: name for name, one in before.functions.items() if one.lent}
        rest = [names.get(op, op) for op in old]
    else:
        given = list(frame.ops)
        for op in given:
            op.detach()
        rest = [place_of(op) or op for op in given]
    new = merged(after, rest, kept)
    for op in old:
        op.detach()
    for op in set(old).difference(new):
        op.drop_all_references()
    module.body.block.add_ops(new)
    module.properties, module.attributes = frame.properties, frame.attributes
