import importlib

import pytest

from parpass import ir


@pytest.mark.parametrize("package", ["", ".diagnostics", ".instrument", ".transform"])
def test_names_are_sorted_and_come_from_where_they_live(package: str):
    module = importlib.import_module(f"parpass.ir{package}")
    assert module.__all__ == sorted(module.__all__)
    for name in module.__all__:
        value = getattr(module, name)
        home = getattr(value, "__module__", None) or value.__name__
        assert home.startswith("parpass.")
        assert home != "parpass.ir"
    assert ir.transform.PassContext is ir.PassContext
