"""Row `reading`: a large text becomes a module; what that costs beside printing it.

Times are the processor's, as all of it is done in this thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from bench.measure import Setting, clocked, interleaved, median, ratio
from bench.table import Line, Row
from bench.work import Step, generated_function, random_program
from parpass import IRModule, relay
from parpass.diagnostic import Span
from parpass.ir.op.op_table import Op
from parpass.ir.text.lexer import chunk_at

_NODES = 300
_WITH_WEIGHTS = "squeezenet"
_Sides = dict[str, Callable[[], object]]


def _reading(setting: Setting) -> Iterator[Line]:
    count = setting.scaled(40)
    functions = {str(at): generated_function(at, _NODES) for at in range(count)}
    text = IRModule(functions).astext()
    programs = [random_program(at, _NODES) for at in range(count)]
    floors: _Sides = {
        "scanning alone": lambda: _scan(text),
        "making calls and spans alone": lambda: _make_calls(programs),
    }
    what = f"{count:,} functions of {_NODES} nodes"
    yield from _read(what, text, floors, setting)
    yield from _networks(setting)


def _networks(setting: Setting) -> Iterator[Line]:
    # Here, because loading onnx takes long and the other rows do without it.
    from examples.real_networks import load, network_paths

    paths = list(network_paths().values())[: setting.scaled(9)]
    text = relay.frontend.from_onnx(paths, freeze_params=True)[0].astext()
    what = f"{len(paths)} real networks, weights of one value"
    yield from _read(what, text, {}, setting)
    models = {_WITH_WEIGHTS: load(_WITH_WEIGHTS)}
    text = relay.frontend.from_onnx(models, freeze_params=True)[0].astext()
    yield from _read("one with all its weights, in base64", text, {}, setting)


def _read(what: str, text: str, floors: _Sides, setting: Setting) -> Iterator[Line]:
    module = relay.parse(text)
    sides: _Sides = {
        "parpass": lambda: relay.parse(text),
        "printing": module.astext,
        **floors,
    }
    runs = {name: clocked(run, time.process_time) for name, run in sides.items()}
    times = interleaved(runs, setting.repeat)
    taken = median(times["parpass"])
    yield Line(
        f"{what}, {len(text) / 1e3:,.0f} kB",
        "reading",
        taken,
        note=f"{len(text) / 1e6 / taken.value:.1f} MB/s",
        times={"parpass": times["parpass"]},
    )
    yield Line(
        what,
        "reading : printing",
        ratio(times, "parpass", "printing"),
        times={"printing": times["printing"]},
    )
    for name in floors:
        share = ratio(times, name, "parpass").times(100, "%")
        yield Line(what, f"{name} : reading", share, times={name: times[name]})


def _scan(text: str) -> int:
    """Return how many tokens a text has, lines counted as such."""
    end, tokens = 0, 0
    while end < len(text):
        piece = chunk_at(text, end)
        tokens += len(piece.tokens.texts)
        end = piece.end
    return tokens


def _make_calls(programs: Sequence[Sequence[Step]]) -> list[list[relay.Expr]]:
    """Return the calls that programs have, with spans, without reading them."""
    x, y = relay.var("x"), relay.var("y")
    made: list[list[relay.Expr]] = []
    for program in programs:
        values: list[relay.Expr] = [x, y]
        for at, step in enumerate(program):
            args = tuple([values[arg] for arg in step.args])
            span = Span("a.relay", at, at, 1, len(step.op))
            values.append(relay.Call(Op.get(step.op), args, None, (), span))
        made.append(values)
    return made


ROWS = (Row("reading", _reading),)
