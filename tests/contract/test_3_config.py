"""Contract section 3: configuration options."""

from __future__ import annotations

from typing import Any

import pytest

from parpass import transform
from parpass.errors import ConfigError, ConfigValueError, InputChangedError
from parpass.ir.module import IRModule
from parpass.ir.tir_config import UnrollLoopConfig
from parpass.transform import ModulePass, PassContext, PassInfo
from tests.contract.marking import Mark, Observe, Run, identity, marks, module

transform.register_config_option("contract.depth", int, "How deep.")
transform.register_config_option("contract.names", list)
transform.register_config_option("contract.map", dict)


def configured(key: str, value: Any) -> Any:
    return PassContext(config={key: value}).config[key]


def test_3_1_a_key_is_registered_once_with_its_type(run: Run):
    with pytest.raises(ConfigError, match="is registered already"):
        transform.register_config_option("contract.depth", int)
    with PassContext(config={"contract.depth": 4}):
        look = Observe(lambda _f, _m, ctx: ctx.config["contract.depth"])
        assert marks(run(look, module())) == "4"


def test_3_2_values_are_checked_when_the_context_is_made():
    with pytest.raises(ConfigError):
        PassContext(config={"tir.noalias": "yes"})


def test_3_3_an_unknown_key_lists_the_candidates():
    with pytest.raises(
        AttributeError, match=r"invalid config option 'tir\.noalia'"
    ) as e:
        PassContext(config={"tir.noalia": True})
    assert "candidates are: " in str(e.value)
    assert "did you mean 'tir.noalias'" in str(e.value)
    assert "'relay.FuseOps.max_depth'" in str(e.value)


def test_3_4_none_is_refused():
    with pytest.raises(AttributeError, match="expected int, got None"):
        configured("relay.FuseOps.max_depth", None)


def test_3_5_a_dict_becomes_the_options_struct(run: Run):
    value = configured("tir.UnrollLoop", {"auto_max_step": 10})
    assert value.auto_max_step == 10
    assert value.explicit_unroll is True
    with pytest.raises(
        AttributeError, match=r"it has no 'max_step', only 'auto_max_st"
    ):
        configured("tir.UnrollLoop", {"max_step": 10})
    with PassContext(config={"tir.UnrollLoop": {"auto_max_step": 10}}):
        look = Observe(lambda _f, _m, c: c.config["tir.UnrollLoop"].auto_max_step)
        assert marks(run(look, module())) == "10"


def test_3_6_a_value_of_another_type_is_refused():
    with pytest.raises(AttributeError) as caught:
        configured("tir.UnrollLoop", 7)
    assert isinstance(caught.value, ConfigValueError)
    for part in ("tir.UnrollLoop", "expected UnrollLoopConfig", "of type int"):
        assert part in str(caught.value)


def test_3_7_values_become_the_declared_type():
    assert configured("tir.noalias", 7) is True
    assert configured("relay.FuseOps.max_depth", True) == 1
    for value in (1.5, "7"):
        with pytest.raises(AttributeError):
            configured("relay.FuseOps.max_depth", value)


def test_3_8_python_values_stay_python_values(run: Run):
    config = {"contract.names": ["a", 1], "contract.map": {"k": [1.5, True]}}
    with PassContext(config=config):
        look = Observe(lambda _f, _m, ctx: dict(ctx.config))
        assert marks(run(look, module())) == str(config)


def test_3_9_a_missing_key_is_a_key_error(run: Run):
    with pytest.raises(KeyError):
        run(Observe(lambda _f, _m, ctx: ctx.config["tir.noalias"]), module())
    look = Observe(lambda _f, _m, ctx: ctx.config.get("tir.noalias", "absent"))
    assert marks(run(look, module())) == "absent"


def test_3_10_options_are_listed_with_their_types():
    listed = PassContext.list_configs()
    assert listed["relay.FuseOps.max_depth"] == {"type": "int"}
    assert listed["tir.UnrollLoop"] == {"type": "UnrollLoopConfig"}


def test_3_11_tvms_core_options_are_there():
    expected = (
        "relay.fallback_device_type relay.backend.use_auto_scheduler "
        "relay.backend.use_meta_schedule relay.FuseOps.max_depth tir.noalias "
        "tir.detect_global_barrier tir.instrument_bound_checkers tir.disable_assert "
        "tir.disable_vectorize tir.is_entry_func tir.debug_keep_trivial_loop "
        "tir.add_lower_pass tir.UnrollLoop tir.HoistIfThenElse "
        "tir.InjectDoubleBuffer tir.LoopPartition"
    )
    assert set(expected.split()) <= set(PassContext.list_configs())


def test_3_12_unroll_loop_has_these_defaults():
    assert UnrollLoopConfig() == UnrollLoopConfig(
        auto_max_step=0, auto_max_depth=8, auto_max_extent=0, explicit_unroll=True
    )
    assert configured("tir.UnrollLoop", {}) == UnrollLoopConfig()


class AddInPlace(ModulePass):
    """A module pass that changes the module that it is given."""

    pass_info = PassInfo(0, "AddInPlace")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        mod["added"] = identity()
        return mod


def test_3_14_an_immutable_module_is_watched(run: Run):
    with PassContext(config={"testing.immutable_module": True}):
        assert marks(run(Mark(), module())) == "Mark"
        with pytest.raises(InputChangedError, match="'AddInPlace'") as caught:
            run(AddInPlace(), module())
    assert caught.value.pass_name == "AddInPlace"
    assert "added" in run(AddInPlace(), module())
