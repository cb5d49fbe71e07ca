import pickle

import pytest

from parpass.errors import WellFormedError
from parpass.instrument import WellFormedInstrument
from parpass.transform import ModulePass, Pass, PassContext, PassInfo, Sequential
from tests.support.toy.ir import Fn, Program, program
from tests.support.toy.passes import Add, Duplicate, Keep


def run(instrument: WellFormedInstrument, mod: Program, *passes: Pass) -> Program:
    with PassContext(instruments=[instrument]):
        return Sequential(passes, name="all")(mod)


def test_well_formed_modules_pass():
    assert run(WellFormedInstrument(), program(1), Add()) == program(2)


def test_the_pass_that_broke_the_rules_is_named_with_the_functions():
    with pytest.raises(WellFormedError) as caught:
        run(WellFormedInstrument(), program(1, 98, 99), Keep(), Add(1), Add(1))
    assert str(caught.value) == (
        "the module is not well formed after pass 'Add':\n"
        "  function 'f2': 100 is too large"
    )
    assert (caught.value.pass_name, caught.value.function) == ("Add", "f2")
    assert caught.value.faults == {"f2": ("100 is too large",)}
    copy = pickle.loads(pickle.dumps(caught.value))
    assert copy.faults == caught.value.faults


def test_a_broken_input_is_not_blamed_on_a_pass():
    with pytest.raises(WellFormedError, match="before pass 'all'"):
        run(WellFormedInstrument(), program(100), Keep())


def test_what_passes_are_given_need_not_be_looked_at():
    instrument = WellFormedInstrument(validate_before_transform=False)
    with pytest.raises(WellFormedError, match="after pass 'Keep'"):
        run(instrument, program(100), Keep())


def test_functions_with_new_names_are_looked_at():
    assert len(run(WellFormedInstrument(), program(1), Duplicate()).functions) == 2
    instrument = WellFormedInstrument()
    assert run(instrument, program(1), Keep())
    with pytest.raises(WellFormedError, match="function 'f0'"):
        run(instrument, program(100), Keep())


class Within(ModulePass):
    """Hands a broken module to another pass."""

    pass_info = PassInfo(0, "Within")

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        return Keep()(program(100))


def test_what_a_pass_hands_to_one_within_it_is_its_own_fault():
    instrument = WellFormedInstrument()
    for _ in range(2):  # it begins anew each time
        with pytest.raises(WellFormedError, match="after pass 'Within'") as caught:
            run(instrument, program(1), Keep(), Within())
        assert caught.value.pass_name == "Within"


def test_of_many_faults_the_first_are_listed():
    mod = Program({"f": Fn(tuple(range(100, 112)))})
    with pytest.raises(WellFormedError) as caught:
        run(WellFormedInstrument(), mod, Keep())
    lines = str(caught.value).splitlines()
    assert lines[-2:] == ["  function 'f': 109 is too large", "  and 2 more"]
    assert len(caught.value.faults["f"]) == 12
