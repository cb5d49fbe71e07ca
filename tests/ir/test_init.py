import importlib

import pytest

from parpass import ir


@pytest.mark.parametrize("package", ["", ".diagnostics", ".instrument", ".transform"])
def test_names_are_sorted_and_come_from_where_they_are_defined(package: str):
    module = importlib.import_module(f"parpass.ir{package}")
    assert module.__all__ == sorted(module.__all__)
    for name in module.__all__:
        value = getattr(module, name)
        defined = getattr(value, "__module__", None) or value.__name__
        assert defined.startswith("parpass.")
        assert defined != "parpass.ir"
    assert ir.transform.PassContext is ir.PassContext
