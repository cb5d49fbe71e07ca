"""Names that a context has, and no pass, are warned of if they are misspelt."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import pytest

from parpass import run_pipeline_sync
from parpass.errors import PassNameWarning
from parpass.transform import (
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    register_pass,
)
from tests.support.toy.ir import Program, program
from tests.support.toy.passes import Add, Duplicate

TOY = program(1, 2)


class Runs(ModulePass):
    """Runs a pipeline in its body."""

    pass_info = PassInfo(0, "RunsOthers")

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        return Sequential([Add(1), Add(2)])(mod)


def warned(mod: Any, *passes: Pass, runs: int = 1, **names: Any) -> list[str]:
    """Return what is warned of when a pipeline is run under a context of names."""
    context = PassContext(**names)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(runs):
            run_pipeline_sync(mod, [Sequential(passes)], context=context, workers=0)
    assert all(one.category is PassNameWarning for one in caught)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize("setting", ["disabled_pass", "required_pass"])
def test_a_misspelt_name_is_told_with_the_nearest(setting: str) -> None:
    names: dict[str, Any] = {setting: ["Duplicat"]}
    [told] = warned(TOY, Add(1), **names)
    assert told == (
        f"{setting} of the PassContext has 'Duplicat', but no pass has that name; "
        "did you mean 'Duplicate'?"
    )


@pytest.mark.parametrize(
    "name",
    [
        *("Add", "sequential"),  # of this run
        *("Duplicate", "FoldConstant", "FoldConstnat", "tir.Simplify"),  # of others
        *("ManifestAlloc", "qnn.Canonicalize", "xx"),  # of none
    ],
)
def test_other_names_are_accepted(name: str) -> None:
    assert not warned(TOY, Add(1), disabled_pass=[name])


def test_a_name_that_is_only_the_key_s_is_told_with_the_pass_s_own() -> None:
    register_pass("toy.Short")(Runs)
    [told] = warned(TOY, Add(1), disabled_pass=["Short", "RunsOthers"])
    assert "has 'Short', but no" in told
    assert told.endswith("did you mean 'RunsOthers'?")


def test_it_is_told_once_of_a_context() -> None:
    names = ["Duplicat", "Keeps", "Add"]
    found = warned(TOY, Runs(), Duplicate(), runs=3, disabled_pass=names)
    assert [one.partition("has ")[2].partition(",")[0] for one in found] == [
        "'Duplicat'",
        "'Keeps'",
    ]


PROGRAM = """
import sys
import parpass
from parpass.transform import PassContext
from tests.support.toy.ir import program
from tests.support.toy.passes import Add
with PassContext(disabled_pass=["Add", "Keep"]):
    parpass.transform.Sequential([Add(1)])(program(1, 2))
assert not [name for name in sys.modules if name.startswith("parpass.relay")]
"""


@pytest.mark.slow
def test_names_of_passes_that_are_known_load_no_others() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=200)
