"""AnnotateSpans: every node gets a place in a text of the program."""

from __future__ import annotations

from parpass.diagnostic import Span
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.relay.expr import Function
from parpass.relay.text.parser import parse
from parpass.relay.text.printer import text_and_constants
from parpass.relay.transform.binding_check import expects_single_bindings
from parpass.relay.transform.infer_type import InferType
from parpass.transform import ModulePass, PassContext, PassInfo, register_pass

_SOURCE = "GeneratedSource"


@register_pass("relay._transform.AnnotateSpans")
@expects_single_bindings
class AnnotateSpans(ModulePass):
    """Give every node a span, by printing the program and reading it again.

    What was made by calls of builders, or by passes, has no place in any text::

        def @main(%x: float32) {
          negative(%x)
        }

    Diagnostics on such a node show the line of it in the text `GeneratedSource`, which
    the module has among its `sources` from then on. Weights are no part of that text.
    Functions of other IRs stay as they are.

    Raises:
        SizeLimitError: A type is too large to be written.
    """

    pass_info = PassInfo(opt_level=0, name="AnnotateSpans")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module with spans and types."""
        functions = mod.functions_by_name.items()
        ours = {name: one for name, one in functions if isinstance(one, Function)}
        text, constants = text_and_constants(ours)
        read = parse(text, _SOURCE, mod, {"relay.Constant": constants})
        spanned = InferType()(read)
        for name, before in ours.items():
            if _spans(before) == _spans(spanned[name]):
                spanned[name] = before  # it has been through this pass
        return spanned


def _spans(function: Function) -> list[Span | None]:
    return [getattr(node, "span", None) for node in post_order(function)]
