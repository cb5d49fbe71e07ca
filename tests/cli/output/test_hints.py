"""Messages name settings by hints: calls in the library, options in the command."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from onnx import helper

from parpass import relay
from parpass.cli import main
from parpass.cli.output.failure import PHRASES, command_text
from parpass.errors import (
    CodeGenError,
    FrontendError,
    FunctionTimeoutError,
    Hint,
    MemoryLimitError,
    WorkerDiedError,
)
from parpass.ir.module import IRModule
from parpass.relay.expr import const
from parpass.relay.frontend import from_onnx
from parpass.relay.transform import DeadCodeElimination
from parpass.report import advice
from parpass.runner import cores
from parpass.runner.driver import executor_source, stages
from parpass.runner.placement import PlacementReason
from parpass.runner.pool import coordinator, failure_attribution
from parpass.transform import PassContext
from tests.support.onnx.models import graph_model

PYTHON = re.compile(
    r"workers=|on_failure=|shape=|dim=|const=|open_runner|run_pipeline|opset=(?!\.)|isolated=|"
    r"option parpass|create_executor|RemarksInstrument"
)
# What only a program can do: bring an executor along, wait for a run.
OF_PROGRAMS = re.compile(
    "executor=|await|because it blocks|isolated=True needs workers"
)
SOURCES = Path(__file__).parents[3] / "parpass"
PACKAGES = ("errors", "instrument", "runner", "transform", "relay/frontend")
THIS_PROCESS = "if you trust the passes not to crash this process"
THE_COMMANDS = "if you trust the passes not to crash the command"


def budget(kind: type[FunctionTimeoutError | MemoryLimitError]) -> Exception:
    reason = "it took longer than 5 s"
    return kind(pass_name="Fold", function="main", limit=5, reason=reason)


def death() -> WorkerDiedError:
    """Return what becomes of a segmentation fault."""
    return WorkerDiedError(pass_name="Fold", function="main", cause="SIGSEGV(-11)")


def warned_by(call: Callable[[], object]) -> Warning:
    """Return the one warning of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    (found,) = caught
    assert isinstance(found.message, Warning)
    return found.message


def too_many_workers() -> Warning:
    return warned_by(lambda: cores.clamp_workers(1 << 20))


def no_workers(monkeypatch: pytest.MonkeyPatch) -> Warning:
    monkeypatch.setattr(executor_source, "supports_workers", lambda: False)
    return warned_by(lambda: executor_source.new_pool(2))


def memory_limit_in_process() -> Warning:
    mod = IRModule.from_expr(const(1.0))
    with PassContext(config={"parpass.memory_limit": 1 << 30}):
        return warned_by(lambda: DeadCodeElimination()(mod))


def import_error(*, opset: bool = True, **given: Any) -> FrontendError:
    """Return the error of a model whose input has no shape."""
    node = helper.make_node("Relu", ["x"], ["y"])
    x, y = (helper.make_tensor_value_info(name, 1, None) for name in ("x", "y"))
    graph = helper.make_graph([node], "g", [x], [y])
    model = helper.make_model(graph)
    if not opset:
        model.opset_import[0].domain = "another"
    with pytest.raises(FrontendError) as raised:
        from_onnx(model, **given)
    return raised.value


def open_dimension() -> FrontendError:
    """Return the error of a model that needs the size of an open dimension."""
    node = helper.make_node("Conv", ["x", "w"], ["y"], auto_pad="SAME_UPPER")
    model = graph_model([node], {"x": np.ones((1, 1, 3, 3)), "w": np.ones(4)}, ["y"])
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "height"
    with pytest.raises(FrontendError) as raised:
        from_onnx(model, shape={"w": (1, 1, 2, 2)})
    return raised.value


def open_parameters() -> CodeGenError:
    """Return the error of a network that is built with open shapes."""
    x = relay.var("x", shape=(relay.Any(),))
    with pytest.raises(CodeGenError) as raised:
        relay.build(relay.Function([x], x), "llvm")
    return raised.value


def open_result() -> CodeGenError:
    """Return the error of a network of which a shape depends on data."""
    x = relay.var("x", shape=(2,))
    with pytest.raises(CodeGenError) as raised:
        relay.build(relay.Function([x], relay.argwhere(x)), "llvm", workers=0)
    return raised.value


def recommendation(check: Callable[[Any], Any], **figures: Any) -> str:
    """Return the text of a recommendation for a run with these figures."""
    ((_, text),) = check(SimpleNamespace(**figures))
    return text


def alone() -> str:
    here = {PlacementReason.NO_WORKERS.value: 4.0}
    no_workers = advice._no_workers  # pyright: ignore[reportPrivateUsage]
    return recommendation(no_workers, here=here, longest_path=1.0)


IN_PYTHON = (
    "; pass from_onnx lengths by dim=, or whole shapes by shape=, with your lengths "
    "instead of 1: "
)
IN_COMMAND = (
    "; set lengths by --dim, or whole shapes by --shape, with your lengths instead of "
    "1: "
)
READ_AGAIN = (
    "; pass shape= or dim= to from_onnx, or run the program by relay.create_executor"
)
WRITTEN = (
    "; write them into the program, or use 'parpass run', which takes the shapes of "
    "--input"
)
MESSAGES: dict[str, tuple[Callable[..., Any], str, str]] = {
    "death": (
        death,
        "write a reproducer (option parpass.reproducer) and run 'parpass replay' on it",
        "write a reproducer (--reproducer PATH) and run 'parpass replay' on it",
    ),
    "timeout": (
        lambda: budget(FunctionTimeoutError),
        "or set on_failure='skip' to leave this function as it was",
        "or use --on-failure=skip to leave this function as it was",
    ),
    "memory": (
        lambda: budget(MemoryLimitError),
        "or set on_failure='skip' to leave this function as it was",
        "or use --on-failure=skip to leave this function as it was",
    ),
    "isolated": (
        lambda: stages._isolation_error(  # pyright: ignore[reportPrivateUsage]
            "it cannot"
        ),
        (
            "; fix that, or drop isolated=True if you trust the passes not to crash "
            "this process"
        ),
        (
            "; fix that, or drop --isolate if you trust the passes not to crash the "
            "command"
        ),
    ),
    "dying workers": (
        lambda: coordinator._workers_die_error(  # pyright: ignore[reportPrivateUsage]
            "EXIT(1)"
        ),
        f"are imported from; workers=0 runs without workers, {THIS_PROCESS}",
        f"are imported from; -j0 runs without workers, {THE_COMMANDS}",
    ),
    "hanging workers": (
        lambda: failure_attribution.workers_hang_error(30.0),
        (
            "slow, set the option parpass.start_timeout; workers=0 runs without "
            f"workers, {THIS_PROCESS}"
        ),
        (
            "slow, use --config parpass.start_timeout=...; -j0 runs without "
            f"workers, {THE_COMMANDS}"
        ),
    ),
    "no workers": (
        no_workers,
        "so everything runs in this process; workers=0 silences this",
        "so everything runs in this process; -j0 silences this",
    ),
    "many workers": (
        too_many_workers,
        "slow a run down; workers=None starts one per core",
        "slow a run down; without -j there is one per core",
    ),
    "memory in process": (
        memory_limit_in_process,
        "runs in this process; use run_pipeline with workers",
        "runs in this process; drop -j0",
    ),
    "alone": (
        alone,
        "only in this process: workers=None uses every core",
        "only in this process: drop -j to use every core",
    ),
    "starting": (
        lambda: recommendation(
            advice._start,  # pyright: ignore[reportPrivateUsage]
            start_of_workers=1.0,
        ),
        "s: open_runner keeps them for several runs",
        "s: pass all inputs to one command",
    ),
    "single function": (
        lambda: recommendation(
            advice._largest_function,  # pyright: ignore[reportPrivateUsage]
            here={PlacementReason.ONE_FUNCTION.value: 1.0},
            workers=2,
            in_workers=0.0,
        ),
        "it says why it did not, with a RemarksInstrument",
        "it says why it did not, with --remarks=-",
    ),
    "no shape": (
        import_error,
        f"{IN_PYTHON}shape={{'x': (1,)}}",
        f"{IN_COMMAND}--shape x:1",
    ),
    "no input": (
        lambda: import_error(shape={"X": (1,)}),
        "shape= names 'X', but no model has such an input; did you mean 'x'?",
        "--shape names 'X', but no model has such an input; did you mean 'x'?",
    ),
    "open dimensions": (
        open_dimension,
        f"{IN_PYTHON}dim={{'height': 1}}",
        f"{IN_COMMAND}--dim height=1",
    ),
    "no dimension": (
        lambda: import_error(dim={"n": 1}, shape={"x": (1,)}),
        "dim= names 'n', but no model has such a dimension",
        "--dim names 'n', but no model has such a dimension",
    ),
    "no value": (
        lambda: import_error(const={"x": "one"}),
        "const=: expected numbers for input 'x', got 'one'",
        "--const: expected numbers for input 'x', got 'one'",
    ),
    "open parameters": (
        open_parameters,
        READ_AGAIN,
        WRITTEN,
    ),
    "open result": (
        open_result,
        "; run it by relay.create_executor",
        "; run it by 'parpass run'",
    ),
    "no opset": (
        lambda: import_error(opset=False),
        "does not state their version; set opset=",
        "does not state their version; set it in Python, by from_onnx(..., opset=...)",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_advice_has_a_text_for_python_and_one_for_the_command(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    make, in_python, in_command = MESSAGES[name]
    message = make(monkeypatch) if make is no_workers else make()
    assert str(message).endswith(in_python)
    assert command_text(message).endswith(in_command)
    # Hints aside, both are one text.
    assert str(message).removesuffix(in_python) == (
        command_text(message).removesuffix(in_command)
    )


def test_the_command_has_a_phrase_for_every_hint():
    assert PHRASES.keys() == set(Hint)
    assert [h for h in Hint if not PYTHON.search(h.value)] == []
    assert [h for h in Hint if PYTHON.search(PHRASES[h])] == []


def test_no_message_names_a_setting_beside_its_hints():
    found = [
        literal
        for package in PACKAGES
        for path in (SOURCES / package).rglob("*.py")
        if path.name != "hints.py"
        for literal in literals(path)
        if PYTHON.search(literal) and not OF_PROGRAMS.search(literal)
    ]
    assert found == []


def literals(path: Path) -> Iterator[str]:
    """Yield the strings of a module that are long enough for a message."""
    tree = ast.parse(path.read_text())
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        )
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, str) and len(value) >= 20 and id(node) not in docs:
            yield value


def test_what_ended_a_worker_is_not_advised_to_be_run_where_it_ends_the_caller():
    for hint in (Hint.WITHOUT_WORKERS, Hint.NOT_ISOLATED):
        assert "trust the passes not to crash this process" in hint.value
        assert "trust the passes not to crash the command" in PHRASES[hint]
    assert "parpass replay" in str(death())
    assert "workers=0" not in str(death())


def test_a_warning_speaks_of_options(tmp_path: Path):
    path = tmp_path / "m.relay"
    path.write_text("def @main(%x: int8) { abs(%x) }")
    arguments = ["opt", str(path), "-p", "InferType", "-j0", "--memory-limit=1G"]
    with pytest.warns(match="memory_limit") as warned:
        assert CliRunner().invoke(main, arguments).exit_code == 0
    assert "drop -j0" in command_text(warned[0].message)
