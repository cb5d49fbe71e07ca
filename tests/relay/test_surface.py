from __future__ import annotations

import subprocess
import sys

import pytest

from parpass import relay
from parpass.ir.op.op_table import Op


def test_all_is_sorted_and_every_name_in_it_is_there():
    assert relay.__all__ == sorted(relay.__all__)
    assert all(hasattr(relay, name) for name in relay.__all__)


def test_builders_of_operators_are_found_under_their_own_names():
    x = relay.var("x")
    assert relay.add(x, x).op is Op.get("add")
    assert relay.nn.relu(x).op is Op.get("nn.relu")
    assert {"add", "nn", "Function"} <= set(dir(relay))


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'no_such_operator'"):
        _ = relay.no_such_operator


@pytest.mark.slow
def test_importing_relay_loads_no_frontend_no_pass_and_no_runtime():
    script = (
        "import sys\n"
        "from parpass import relay\n"
        "from parpass.relay import frontend\n"
        "heavy = {'onnx', 'trio', 'loky', 'parpass.relay.transform'}\n"
        "print(*(heavy & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "\n"
