"""Small files that could take for ever, and a process that reads many of them.

`python -m tests.stress.hostile READER SEED COUNT` reads generated and damaged files,
in three gigabytes and with a limit of time for each, and prints what took longest.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

from parpass.errors import ParpassError, PipelineSyntaxError
from parpass.ir.module import IRModule
from parpass.ir.serialization import load_json, save_json
from parpass.ir.structural import structural_hash
from parpass.relay import Function, Tuple, const, parse
from parpass.relay.frontend.onnx import from_onnx
from parpass.relay.transform import InferType
from parpass.transform import parse_pipeline

MEMORY = 3 << 30
SECONDS, SECONDS_A_BYTE = 2.0, 1e-4  # of processor time
_LONGEST = 60_000  # bytes of a damaged file
_RAW = "latin-1"  # has a character for each byte

_HEAD = "def @main(%x: Tensor[(2), float32], %c: bool) {\n"
_PARAMETER = "Tensor[(2), float32]"


def _main(lines: list[str], last: str) -> str:
    return "\n".join([_HEAD, *lines, last, "}\n"])


def _shared(levels: int, one: str) -> str:
    """Return lines each of which uses the one before twice."""
    lines = [f"%{n + 1} = {one.format(at=f'%{n}', n=n)};" for n in range(levels)]
    return _main(
        ["%0 = (%x, %x);" if one[0] == "(" else "%0 = %x;", *lines], f"%{levels}"
    )


def _closures(levels: int, mark: str = "") -> str:
    lines = [
        f"%{n + 1} = fn (%a{n}: {_PARAMETER}{mark}) {{ %{n}(%{n}(%a{n})) }};"
        for n in range(levels)
    ]
    first = f"%0 = fn (%a: {_PARAMETER}{mark}) {{ add(%a, %a) }};"
    return _main([first, *lines], f"%{levels}(%x)")


def _unknown(levels: int) -> str:
    lines = [f"let %f{n} = fn (%a{n}) {{ (%a{n}, %a{n}) }};" for n in range(levels)]
    lines += [f"let %v{n + 1} = %f{n}(%v{n});" for n in range(levels)]
    return _main(["let %v0 = %x;", *lines], f"%v{levels}")


def _wide(count: int) -> str:
    parts = [f"%{n + 1} = %0.{n};" for n in range(count)]
    return _main([f"%0 = ({', '.join(['%x'] * count)});", *parts], "%x")


def _ring(count: int) -> str:
    functions = (f"def @g{n}(%a) {{ @g{(n + 1) % count}(%a) }}\n" for n in range(count))
    return "".join(functions) + _main([], "@g0(%x)")


def _constants() -> str:
    """Return a program with a section of metadata."""
    constants = tuple(const([[1.0, float(n)]]) for n in range(50))
    return IRModule({"main": Function((), Tuple(constants))}).astext()


def texts() -> list[str]:
    """Return programs as text."""
    return [
        *(_shared(n, "({at}, {at})") for n in (20, 60, 95, 2_000)),
        *(_shared(n, "add({at}, {at})") for n in (60, 1_000)),
        *(_shared(n, "if (%c) {{ {at} }} else {{ {at} }}") for n in (60, 1_000)),
        *(_shared(n, "fn () {{ ({at}, {at}) }}") for n in (40, 300)),
        *map(_closures, (60, 300)),
        *map(_unknown, (60, 300)),
        *map(_wide, (50, 2_000)),
        *map(_ring, (3, 500)),
        _main([], " + ".join(["%x"] * 2_000)),
        _main([], "(" * 2_000 + "%x" + ")" * 2_000),
        _main([], "if (%c) { " * 1_000 + "%x" + " } else { %x }" * 1_000),
        _constants(),
    ]


def documents() -> list[str]:
    """Return programs, and types that no text can hold, as JSON."""
    tensor = {"relay.TensorType": {"shape": [2], "dtype": "float32"}}
    found = [save_json(parse(text)) for text in texts()]
    for kind, first, second in (
        ("relay.TupleType", "fields", None),
        ("relay.FuncType", "arg_types", "ret_type"),
    ):
        for levels in (60, 100):
            nodes: list[Any] = [tensor]
            for at in range(levels):
                one = {"ref": at}
                parts = {first: [one, one]} | ({second: one} if second else {})
                nodes.append({kind: parts})
            nodes.append({"relay.Var": {"name_hint": "x", "type_annotation": levels}})
            attrs = {"DictAttrs": {"kept": [{"ref": levels}]}}
            function = {"params": [levels + 1], "body": levels + 1, "attrs": attrs}
            nodes.append({"relay.Function": function})
            root = {"ref": levels + 2}
            found.append(json.dumps({"parpass": 3, "nodes": nodes, "root": root}))
    return found


def pipelines() -> list[str]:
    """Return pipelines as text."""
    return [
        f"DeadCodeElimination{{{'inline-once=true ' * 2_000}}}",
        f"FoldConstant{{{' '.join(f'x{n}=1' for n in range(2_000))}}}",
        f"RemoveUnusedFunctions{{entry_functions={','.join(['a'] * 2_000)}}}",
        f"RemoveUnusedFunctions{{entry_functions={'[' * 90}{']' * 90}}}",
        f"{'sequential(' * 90}InferType{')' * 90}",
        ",".join(["InferType"] * 1_000),
        "Nope," * 1_000,
    ]


def _model(*nodes: onnx.NodeProto, **known: list[int]) -> str:
    x, y = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 2])
        for name in "xy"
    )
    kept = [numpy_helper.from_array(np.array(v), name) for name, v in known.items()]
    graph = helper.make_graph(nodes, "graph", [x], [y], kept)
    opset = [helper.make_opsetid("", 18)]
    return (
        helper.make_model(graph, opset_imports=opset).SerializeToString().decode(_RAW)
    )


def models() -> list[str]:
    """Return ONNX models, of which each character stands for a byte."""
    node, huge = helper.make_node, [10**6, 10**6, 10**6]
    names = ["x", *(f"t{n}" for n in range(1_999)), "y"]
    pairs = list(itertools.pairwise(names))
    return [
        _model(node("ConstantOfShape", ["s"], ["y"]), s=huge),
        _model(node("Expand", ["s", "t"], ["y"]), s=[1], t=huge),
        _model(node("Tile", ["s", "t"], ["y"]), s=[1], t=[10**12]),
        _model(node("Pad", ["x", "p"], ["y"]), p=[10**12] * 4),
        _model(node("Split", ["x"], ["y"], num_outputs=10**9)),
        _model(node("Unsqueeze", ["x", "a"], ["y"]), a=list(range(5_000))),
        _model(node("Transpose", ["x"], ["y"], perm=list(range(5_000)))),
        _model(node("Concat", ["x"] * 5_000, ["y"], axis=0)),
        _model(*[node("Relu", [before], [after]) for before, after in pairs]),
        _model(*[node("Add", [one, one], [two]) for one, two in pairs]),
        _model(*[node(f"Nope{n}", ["x"], [two]) for n, (_, two) in enumerate(pairs)]),
    ]


def _read_program(program: Any) -> None:
    structural_hash(program)
    with contextlib.suppress(ParpassError):
        program = InferType()(program)
    with contextlib.suppress(ParpassError):
        program.astext()
    save_json(program)


def _read_text(text: str) -> None:
    _read_program(parse(text))


def _read_json(text: str) -> None:
    loaded = load_json(text)
    structural_hash(loaded)
    if hasattr(loaded, "functions_by_name"):
        _read_program(loaded)


def _read_onnx(text: str) -> None:
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(text.encode(_RAW))
        from_onnx(file.name)


class Reader(NamedTuple):
    """What reads, and what it may be given."""

    read: Callable[[str], object]
    inputs: Callable[[], list[str]]


READERS = {
    "text": Reader(_read_text, texts),
    "JSON": Reader(_read_json, documents),
    "pipeline text": Reader(parse_pipeline, pipelines),
    "ONNX": Reader(_read_onnx, models),
}


def damaged(texts: list[str], draw: random.Random, count: int) -> Iterator[str]:
    """Yield texts with stretches lost, exchanged, and repeated many times."""
    for _ in range(count):
        text = draw.choice(texts)[:_LONGEST]
        for _ in range(draw.randint(1, 3)):
            at, length = draw.randrange(len(text) + 1), draw.choice([1, 3, 20, 200])
            stretch = text[at : at + length]
            times = draw.choice([0, 2, 1_000])
            other = draw.choice(texts)[at : at + length]
            new = draw.choice([stretch * times, other])
            text = (text[:at] + new + text[at + length :])[:_LONGEST]
        yield text


def _seconds(read: Callable[[str], object], text: str) -> float:
    limit = SECONDS + SECONDS_A_BYTE * len(text)
    began = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        with contextlib.suppress(ParpassError, PipelineSyntaxError):
            read(text)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.process_time() - began


def _overdue(*_args: object) -> None:
    raise TimeoutError


def main(name: str, seed: int, count: int) -> None:
    """Read generated and damaged texts, and print the worst of each as JSON."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGVTALRM, _overdue)
    read, inputs = READERS[name]
    known = inputs()
    worst, failures = 0.0, list[str]()
    for text in [*known, *damaged(known, random.Random(seed), count)]:
        try:
            worst = max(worst, _seconds(read, text))
        except (TimeoutError, MemoryError, RecursionError) as error:
            failures.append(f"{type(error).__name__}: {text[:2_000]}")
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = {"worst": worst, "megabytes": kilobytes // 1024, "failures": failures}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
