"""Passes on Relay that look at places in the source, each in a way of its own."""

from __future__ import annotations

import functools
import logging
from operator import attrgetter
from typing import Any, cast
from zlib import crc32

from parpass.diagnostic import Diagnostic, Span
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.serialization import save_json
from parpass.relay import Call, Function, GlobalVar, parse
from parpass.transform import FunctionPass, PassContext, PassInfo
from tests.support.talking import LOGGER

TEMPLATE = "seen at {.line}"


class Looking(FunctionPass):
    """A pass that looks at places."""

    def __init__(self) -> None:
        self.pass_info = PassInfo(0, type(self).__name__)

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        return self.look(func, mod, ctx) or func

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        raise NotImplementedError


def _callee(func: Function) -> GlobalVar | None:
    calls = [one for one in post_order(func) if isinstance(one, Call)]
    return next((one.op for one in calls if isinstance(one.op, GlobalVar)), None)


class Tell(Looking):
    """Reports a diagnostic, and makes a remark, on what it runs on."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        ctx.remark("passed", "seen", cast("Call", func.body).span, name="Seen")
        assert ctx.diag_ctx is not None
        ctx.diag_ctx.emit(Diagnostic.warning(func.span, "a function"))


class Mark(Looking):
    """Makes nodes with the places of others."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        body = func.body
        if not isinstance(body, Call):
            return None
        callee = _callee(func)
        span = func.params[0].span if callee is None else callee.span
        marked = Call(body.op, body.args, body.attrs, body.type_args, span)
        fields = func.ret_type, func.type_params, func.attrs, func.span
        return Function(func.params, marked, *fields)


class TellCallee(Looking):
    """Makes a remark on where the function that is called is."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        callee = _callee(func)
        if callee is not None:
            ctx.remark("passed", "calls", callee.span, name="Calls")


class TellOwn(Looking):
    """Makes a remark on where the module has the function."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        for name in mod.functions_by_name:
            ctx.remark("passed", "has", mod.get_global_var(name).span, name="Has")


class TellSibling(Looking):
    """Makes a remark on where the body of the function that is called is."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        callee = _callee(func)
        if callee is not None:
            ctx.remark(
                "passed", "calls", cast("Call", mod[callee].body).span, name="Calls"
            )


class TellLine(Looking):
    """Makes a remark with a line as a value."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        assert func.span is not None
        ctx.remark("passed", "seen", name="Seen", line=func.span.line)


class TellByName(Looking):
    """Finds a line by the name of the attribute."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        ctx.remark("passed", "seen", name="Seen", at=attrgetter("line")(func.span))


class TellByPattern(Looking):
    """Finds a line by a pattern."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        match func.span:
            case Span(line=found):
                ctx.remark("passed", "seen", name="Seen", at=found)
            case _:
                pass


class TellText(Looking):
    """Makes text of a place."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        ctx.remark("passed", f"seen at {func.span}", name="Seen")


class TellRepr(Looking):
    """Makes text of a place, as a debugger does."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        ctx.remark("passed", f"seen {func.span!r}", name="Seen")


class TellSize(Looking):
    """Makes text of a function, with its places."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        ctx.remark("passed", "seen", name="Seen", sum=crc32(save_json(func).encode()))


class LogPlace(Looking):
    """Logs a place, which becomes text later."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        logging.getLogger(LOGGER).warning("seen at %s", func.span)


class TellColumn(Looking):
    """Makes a remark with the column of the function that is called."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        callee = _callee(func)
        if callee is not None and callee.span is not None:
            ctx.remark("passed", "calls", name="Calls", column=callee.span.column)


class TellCalleesCallee(Looking):
    """Makes a remark on where a function is that the one that is called calls."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        callee = _callee(func)
        inner = None if callee is None else _callee(cast("Function", mod[callee]))
        if inner is not None:
            ctx.remark("passed", "calls", inner.span, name="Calls")


class TellByPosition(Looking):
    """Finds a line by its position in a pattern."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        match func.span:
            case Span(_, found):
                ctx.remark("passed", "seen", name="Seen", at=found)
            case _:
                pass


class TellByFormat(Looking):
    """Finds a line by a format."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        ctx.remark("passed", TEMPLATE.format(func.span), name="Seen")


class TellSame(Looking):
    """Compares a place with one that it knows."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        ctx.remark("passed", "seen", name="Seen", same=func.span == PLACE)


# Of a function of the tests' programs, where nothing is above it.
PLACE = Span("from_string", 2, 2, 1, 75)


class TellRemembered(Looking):
    """Makes text of a place once."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        ctx.remark("passed", _remembered(func.span), name="Seen")


@functools.cache
def _remembered(span: Span | None) -> str:
    return str(span)


class PutTemplate(Looking):
    """Returns a function that it parses, which has places of its own."""

    def look(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        kind = "Tensor[(2), float32]"
        text = f"def @f(%x: {kind}) -> {kind} {{\n\n\nnegative(%x)\n}}"
        return parse(f'#[version = "0.0.5"]\n{text}')["f"]


PASSES: list[type[Looking]] = [
    *(Tell, Mark, TellCallee, TellOwn, TellSibling, TellLine, TellByName),
    *(TellByPattern, TellText, TellRepr, TellSize, LogPlace, TellColumn),
    *(TellCalleesCallee, TellByPosition, TellByFormat, TellSame, TellRemembered),
    PutTemplate,
]
