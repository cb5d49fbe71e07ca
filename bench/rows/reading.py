"""Row `reading`: a large text becomes a module; beside it, lark's parser does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bench.measure import Setting, clocked, interleaved, median, ratio
from bench.table import Goal, Line, Row
from bench.work import Step, generated_function, random_program
from parpass import IRModule, relay
from parpass.diagnostic import Span
from parpass.ir.op_table import Op
from parpass.ir.text.lexer import chunk_at
from tests.support.lark_text.parser import parse as parse_by_lark

_NODES = 300
_WITH_WEIGHTS = "squeezenet"
_GOAL = Goal(at_least=10)
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
    yield from _compared(what, text, floors, setting, _GOAL)
    yield from _networks(setting)


def _networks(setting: Setting) -> Iterator[Line]:
    # Here, because loading onnx takes long and the other rows do without it.
    from examples.real_networks import load, network_paths

    paths = list(network_paths().values())[: setting.scaled(9)]
    text = relay.frontend.from_onnx(paths, freeze_params=True)[0].astext()
    what = f"{len(paths)} real networks, weights of one value"
    yield from _compared(what, text, {}, setting, _GOAL)
    models = {_WITH_WEIGHTS: load(_WITH_WEIGHTS)}
    text = relay.frontend.from_onnx(models, freeze_params=True)[0].astext()
    yield from _compared("one with all its weights, in base64", text, {}, setting)


def _compared(
    what: str, text: str, floors: _Sides, setting: Setting, goal: Goal | None = None
) -> Iterator[Line]:
    relay.parse("")  # both load what they need
    parse_by_lark("")
    sides: _Sides = {
        "parpass": lambda: relay.parse(text),
        "lark": lambda: parse_by_lark(text),
        **floors,
    }
    runs = {name: clocked(run) for name, run in sides.items()}
    times = interleaved(runs, setting.repeat)
    speeds = {
        name: f"{len(text) / 1e6 / median(times[name]).value:.1f} MB/s"
        for name in ("parpass", "lark")
    }
    yield Line(
        f"{what}, {len(text) / 1e3:,.0f} kB",
        "lark and a grammar : reading",
        ratio(times, "lark", "parpass"),
        goal,
        note=f"{speeds['parpass']}, lark {speeds['lark']}",
        times={name: times[name] for name in ("parpass", "lark")},
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
