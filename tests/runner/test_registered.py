"""What the program registers is in the workers as it is here."""

from __future__ import annotations

import importlib
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import msgspec
import pytest

import parpass
from parpass import IRModule, assert_structural_equal, relay
from parpass.errors import SlowerRunWarning
from parpass.function_registry import declare_functions
from parpass.ir import register_op_attr
from parpass.ir.op.op_registration import TempOpAttr, op_attrs
from parpass.ir.op.op_table import Op
from parpass.relay.transform.layout.alter_op_layout import conv2d_nchwc
from parpass.runner import Runner, open_runner
from parpass.transform import (
    FunctionPass,
    PassContext,
    PassInfo,
    adapter_of,
    create_pass,
    function_pass,
    register_adapter,
    register_config_option,
    register_pass,
    register_wrapping,
)
from parpass.transform.adapter_registry import lift_to_module
from parpass.transform.checked_adapter import unchecked
from parpass.transform.config import list_config_options
from tests.support.registering import registering_for_a_while
from tests.support.runner.pooled import run_pooled
from tests.support.toy.ir import Fn, Program, ToyAdapter, program, values_of
from tests.support.toy.probing import Probe, seen_in_workers


@pytest.fixture(autouse=True)
def free() -> Iterator[None]:
    """Take out again what a test registers."""
    with registering_for_a_while():
        yield


class Odd(msgspec.Struct, frozen=True):
    """An option with fields."""

    number: int = 1


class Twice(FunctionPass):
    """Has each number twice."""

    pass_info = PassInfo(0, "Twice")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return Fn((*func.values, *func.values))


def new_op(name: str, **given: Any) -> Op:
    like = relay.op.get("nn.relu")
    fields: dict[str, Any] = {
        "relation": like.relation,
        "compute": like.compute,
        **given,
    }
    return relay.op.register_op(Op(name, 1, **fields))


def test_a_global_function_is_found_by_its_name(runner: Runner):
    offset = 10

    def plus(x: int) -> int:
        return x + offset

    parpass.register_func("test.plus", plus)
    assert (
        seen_in_workers(runner, lambda: parpass.get_global_func("test.plus")(1)) == 11
    )


def test_one_that_was_taken_out_is_not(runner: Runner):
    def is_there() -> bool:
        return parpass.get_global_func("test.gone", allow_missing=True) is not None

    parpass.register_func("test.gone", lambda: 1)
    assert seen_in_workers(runner, is_there) is True
    parpass.remove_global_func("test.gone")
    assert seen_in_workers(runner, is_there) is False


def test_one_that_replaces_the_librarys_own_does_so_until_it_is_put_back(
    runner: Runner,
):
    name = "relay._transform.LambdaLift"
    ours = parpass.get_global_func(name)

    def is_ours() -> bool:
        return parpass.get_global_func(name).body.__module__.startswith("parpass.")

    parpass.register_func(name, Twice, override=True)
    try:
        assert seen_in_workers(runner, is_ours) is False
    finally:
        parpass.register_func(name, ours, override=True)
    assert seen_in_workers(runner, is_ours) is True


def test_passes_are_found_by_name_and_as_required_ones(runner: Runner):
    register_pass("test.Local")(type("Local", (Twice,), {}))
    made = seen_in_workers(runner, lambda: type(create_pass("Local")).__name__)
    assert made == "Local"


def test_options_are_known(runner: Runner):
    register_config_option("test.odd", Odd)

    def read() -> Any:
        context = PassContext(config={"test.odd": {"number": 3}})
        return context.config["test.odd"].number, "test.odd" in list_config_options()

    assert seen_in_workers(runner, read) == (3, True)


def test_attributes_of_operators_are_those_of_the_moment(runner: Runner):
    def read() -> Any:
        return {name: rule(1) for name, rule in op_attrs("test.attr").items()}

    def add(step: int) -> Callable[[int], int]:
        return lambda x: x + step

    register_op_attr("abs", "test.attr", add(1))
    assert seen_in_workers(runner, read) == {"abs": 2}
    with TempOpAttr("exp", "test.attr", add(5)):
        assert seen_in_workers(runner, read) == {"abs": 2, "exp": 6}
    assert seen_in_workers(runner, read) == {"abs": 2}


def test_an_attribute_that_a_body_sets_for_a_time_goes_with_the_program(
    runner: Runner,
):
    def read() -> Any:
        with TempOpAttr("abs", "test.attr", 5):
            inside = op_attrs("test.attr")
        return inside, op_attrs("test.attr")

    with TempOpAttr("abs", "test.attr", 1):
        assert seen_in_workers(runner, read) == ({"abs": 5}, {"abs": 1})
    assert seen_in_workers(runner, lambda: op_attrs("test.attr")) == {}


def test_layout_rules_count_in_passes_that_bodies_run(runner: Runner):
    x = relay.var("x", shape=(1, 4, 8, 8))
    w = relay.var("w", shape=(4, 4, 3, 3))
    conv = relay.Function((x, w), relay.nn.conv2d(x, w))
    mod = IRModule({f"f{i}": conv for i in range(3)})

    @function_pass(opt_level=0)
    def alter(func: Any, mod: Any, ctx: Any) -> Any:
        with PassContext(opt_level=3):
            return relay.transform.AlterOpLayout()(IRModule({"one": func}))["one"]

    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", conv2d_nchwc(2)):
        serial, parallel = alter(mod), run_pooled(runner, alter, mod)
    assert "NCHW2c" in serial.astext()
    assert_structural_equal(parallel, serial)


def test_operators_may_refer_to_themselves_and_to_others(runner: Runner):
    made: list[Op] = []

    def all_made(*_: Any) -> Any:
        return made

    def first_made(*_: Any) -> Any:
        return made[0]

    made.append(new_op("test.first", compute=all_made))
    made.append(new_op("test.second", compute=first_made))

    def read() -> Any:
        first, second = Op.get("test.first"), Op.get("test.second")
        seen: Any = first.compute(None)
        return seen[0] is first, seen[1] is second, second.compute(None) is first

    assert seen_in_workers(runner, read) == (True, True, True)


def test_an_operator_of_the_program_is_inferred(runner: Runner):
    x = relay.var("x", shape=(2,))
    call = relay.Call(new_op("test.own"), (x,))
    mod = IRModule({f"f{i}": relay.Function((x,), call) for i in range(3)})
    infer = relay.transform.InferType()
    assert_structural_equal(run_pooled(runner, infer, mod), infer(mod))


OWN = """
import parpass
from parpass import relay
from parpass.ir.op.op_table import Op

LOADED = []
like = relay.op.get("nn.relu")
OP = relay.op.register_op(Op("test.{name}", 1, like.relation, like.compute))
parpass.register_func("test.{name}.function", lambda: 7)
"""

NewModule = Callable[[str, str], Any]


@pytest.fixture
def new_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NewModule:
    """Give a function that writes a module and imports it."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def make(name: str, text: str) -> Any:
        (tmp_path / f"{name}.py").write_text(text)
        return importlib.import_module(name)

    return make


def test_what_a_module_registers_comes_by_its_import(
    runner: Runner, new_module: NewModule
):
    new_module("own_ops_one", OWN.format(name="one"))

    def read() -> Any:
        op = Op.get("test.one")
        function = parpass.get_global_func("test.one.function")
        return function(), op is sys.modules["own_ops_one"].OP

    assert seen_in_workers(runner, read) == (7, True)


def test_a_module_that_nobody_asks_for_is_not_imported_there(
    runner: Runner, new_module: NewModule
):
    new_module("own_ops_two", OWN.format(name="two"))
    mod = run_pooled(runner, Probe(lambda: "own_ops_two" in sys.modules), program(1, 2))
    assert values_of(mod) == {"f0": (1, False), "f1": (2, False)}


@pytest.mark.slow
def test_where_no_operator_is_named_what_one_is_is_not_loaded(
    new_module: NewModule,
):
    new_module("own_ops_three", OWN.format(name="three"))

    def loaded() -> list[str]:  # numpy may be, for other tables that tests added to
        return sorted({"parpass.ir.op.op_table"} & sys.modules.keys())

    with open_runner(workers=1) as runner:
        mod = run_pooled(runner, Probe(loaded), program(1, 2))
        assert values_of(mod) == {"f0": (1, []), "f1": (2, [])}
        assert seen_in_workers(runner, lambda: Op.get("test.three").name)


def test_modules_of_functions_that_the_program_declares_are_declared_there(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    own = OWN.format(name="late")
    (tmp_path / "own_ops_late.py").write_text(own)
    declare_functions("own_ops_late")
    seen = seen_in_workers(
        runner, lambda: parpass.get_global_func("test.late.function")()
    )
    assert seen == 7


def warned_of(what: str) -> AbstractContextManager[Any]:
    return pytest.warns(SlowerRunWarning, match=what)


@pytest.mark.slow
def test_what_cannot_be_pickled_is_of_no_matter_until_it_is_asked_for(runner: Runner):
    lock = threading.Lock()
    parpass.register_func("test.locked", lambda: type(lock).__name__)
    parpass.register_func("test.plain", lambda: 2)
    assert seen_in_workers(runner, lambda: parpass.get_global_func("test.plain")()) == 2
    ask = Probe(lambda: parpass.get_global_func("test.locked")())
    with warned_of(r"the function 'test\.locked' .*cannot pickle.*lock") as warned:
        parallel = run_pooled(runner, ask, program(1, 2))
    assert len(warned) == 1
    assert parallel == ask(program(1, 2))


@pytest.mark.slow
def test_what_cannot_be_loaded_there_is_of_no_matter_until_it_is_asked_for(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
):
    module = types.ModuleType("made_at_run_time")
    exec("def answer():\n    return 42\n", vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    parpass.register_func("test.made", module.answer)
    assert seen_in_workers(runner, lambda: 1) == 1
    ask = Probe(lambda: parpass.get_global_func("test.made")())
    with warned_of(r"the function 'test\.made' .*made_at_run_time"):
        parallel = run_pooled(runner, ask, program(1, 2))
    assert values_of(parallel) == {"f0": (1, 42), "f1": (2, 42)}


class FindsWhatIsThere:
    """Finds modules that are imported already."""

    @staticmethod
    def find_spec(name: str, path: object, target: object = None) -> ModuleSpec | None:
        return find_spec(name)


def test_what_a_module_registers_that_others_cannot_import_comes_by_value(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "plugin.py"
    path.write_text("import parpass\nparpass.register_func('test.plugin', lambda: 3)\n")
    spec = spec_from_file_location("test_registered_plugin", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    # Some libraries have a finder that gives what the module itself has.
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, FindsWhatIsThere])
    spec.loader.exec_module(module)
    seen = seen_in_workers(runner, lambda: parpass.get_global_func("test.plugin")())
    assert seen == 3


class Box:
    """A module of an IR that is not registered yet."""


def test_adapters_are_known(runner: Runner):
    adapter = type("BoxAdapter", (ToyAdapter,), {})()
    register_adapter(Box, adapter)
    seen = seen_in_workers(
        runner, lambda: type(unchecked(adapter_of(Box(), "P"))).__name__
    )
    assert seen == "BoxAdapter"


OTHER_IR = """
from parpass.transform import register_adapter
from tests.support.toy.ir import ToyAdapter

class Module:
    pass

class OtherAdapter(ToyAdapter):
    pass

register_adapter(Module, OtherAdapter())
"""


def test_an_adapter_is_imported_where_a_module_of_its_ir_is(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "other_ir.py").write_text(OTHER_IR)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def is_imported() -> bool:
        return "other_ir" in sys.modules and os.getpid() != parent

    def adapter() -> str:
        module = importlib.import_module("other_ir").Module()
        return type(unchecked(adapter_of(module, "P"))).__name__

    parent = os.getpid()
    with registering_for_a_while():
        importlib.import_module("other_ir")
        assert seen_in_workers(runner, is_imported) is False
        assert seen_in_workers(runner, adapter) == "OtherAdapter"
    del sys.modules["other_ir"]


def test_wrappings_are_known(runner: Runner):
    def wrap(box: Box) -> Any:
        return "lift_to_module", str

    register_wrapping(Box, wrap)
    assert seen_in_workers(runner, lambda: lift_to_module(Box())[0]) == "lift_to_module"
