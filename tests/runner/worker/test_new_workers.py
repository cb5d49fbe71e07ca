"""What new workers import for the sake of the tests themselves is little.

They import the modules of all adapters that are registered, those of the tests, too: of
each test module that is collected. One that imports pytest, Hypothesis and Relay makes
each worker of the suite take six times as long to start.
"""

from __future__ import annotations

from parpass.transform.adapter_registry import _adapters  # pyright: ignore[reportPrivateUsage] -- all that there are


def test_adapters_of_the_tests_are_in_modules_that_load_quickly():
    found = {type(_adapters[kind]).__module__ for kind in _adapters}
    of_tests = {name for name in found if name.startswith("tests.")}
    modules = {name.rpartition(".")[2] for name in of_tests}
    assert {name for name in modules if name.startswith(("test_", "conftest"))} == set()
