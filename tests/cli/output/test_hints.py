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
from parpass.runner.driver import session, stages
from parpass.runner.placement import PlacementReason
from parpass.runner.pool import coordinator, failure_attribution
from parpass.transform import PassContext
from tests.support.onnx.models import graph_model

PYTHON = re.compile(
    r"workers=|on_failure=|shape=|dim=|const=|open_runner|run_pipeline|opset=(?!\.)|isolated=|"
    r"option parpass|create_executor"
)
# What only a program can do: bring an executor along, wait for a run.
OF_PROGRAMS = re.compile("executor=|await|blocks its caller|isolated=True with workers")
SOURCES = Path(__file__).parents[3] / "parpass"
PACKAGES = ("errors", "instrument", "runner", "transform", "relay/frontend")
THIS_PROCESS = "for passes that are trusted with this process"
THE_COMMANDS = "for passes that are trusted with the command's process"


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
    monkeypatch.setattr(session, "supports_workers", lambda: False)
    return warned_by(lambda: session.new_pool(2))


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
    "; give from_onnx lengths by dim=, or whole shapes by shape=, with yours for 1: "
)
IN_COMMAND = "; give lengths by --dim, or whole shapes by --shape, with yours for 1: "
READ_AGAIN = (
    "; give from_onnx shape= or dim= when a model is read, or run the program by "
    "relay.create_executor"
)
WRITTEN = (
    "; write them into the program; 'parpass run' runs it as it is, on values of "
    "--input"
)
MESSAGES: dict[str, tuple[Callable[..., Any], str, str]] = {
    "death": (
        death,
        "replay its reproducer (option parpass.reproducer) by 'parpass replay'",
        "replay its reproducer (--reproducer PATH) by 'parpass replay'",
    ),
    "timeout": (
        lambda: budget(FunctionTimeoutError),
        "or set on_failure='skip' to go on without this pass on this function",
        "or give --on-failure=skip to go on without this pass on this function",
    ),
    "memory": (
        lambda: budget(MemoryLimitError),
        "or set on_failure='skip' to go on without this pass on this function",
        "or give --on-failure=skip to go on without this pass on this function",
    ),
    "isolated": (
        lambda: stages._isolation_error(  # pyright: ignore[reportPrivateUsage]
            "it cannot"
        ),
        "; mend that, or run without isolated=True what is trusted with this process",
        (
            "; mend that, or run without --isolate what is trusted with the command's "
            "process"
        ),
    ),
    "dying workers": (
        lambda: coordinator._workers_die_error(  # pyright: ignore[reportPrivateUsage]
            "EXIT(1)"
        ),
        f"are imported from; workers=0 does without them, {THIS_PROCESS}",
        f"are imported from; -j0 does without them, {THE_COMMANDS}",
    ),
    "hanging workers": (
        lambda: failure_attribution.workers_hang_error(30.0),
        (
            "takes long, set the option parpass.start_timeout; workers=0 does without "
            f"them, {THIS_PROCESS}"
        ),
        (
            "takes long, give --config parpass.start_timeout=...; -j0 does without "
            f"them, {THE_COMMANDS}"
        ),
    ),
    "no workers": (
        no_workers,
        "so all is run in this one; workers=0 asks for that",
        "so all is run in this one; -j0 asks for that",
    ),
    "many workers": (
        too_many_workers,
        "not faster; workers=None gives one for each core",
        "not faster; without -j there is one for each core",
    ),
    "memory in process": (
        memory_limit_in_process,
        "runs in process; run it by run_pipeline, with workers",
        "runs in process; run it without -j0",
    ),
    "alone": (
        alone,
        "only in this process: workers=None uses every core, if there are several",
        "only in this process: without -j it uses every core, if there are several",
    ),
    "starting": (
        lambda: recommendation(
            advice._start,  # pyright: ignore[reportPrivateUsage]
            start_of_workers=1.0,
        ),
        "s: keep them for several runs, with open_runner",
        "s: give one command all inputs",
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
        "does not say of which version; give it as opset=",
        "does not say of which version; give it by Python's from_onnx(..., opset=...)",
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
        assert "trusted with this process" in hint.value
        assert "trusted with the command's process" in PHRASES[hint]
    assert "parpass replay" in str(death())
    assert "workers=0" not in str(death())


def test_a_warning_speaks_of_options(tmp_path: Path):
    path = tmp_path / "m.relay"
    path.write_text("def @main(%x: int8) { abs(%x) }")
    arguments = ["opt", str(path), "-p", "InferType", "-j0", "--memory-limit=1G"]
    with pytest.warns(match="memory_limit") as warned:
        assert CliRunner().invoke(main, arguments).exit_code == 0
    assert "run it without -j0" in command_text(warned[0].message)
