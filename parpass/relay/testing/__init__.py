"""`relay.testing`: passes run on expressions, and networks to try them on.

Each network's `get_workload` returns a module and random values for its weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.errors.missing_names import refusing
from parpass.relay.testing import mlp, mobilenet, resnet, temp_op_attr
from parpass.relay.testing.gradients import check_grad, count_ops, rand
from parpass.relay.testing.nat import count, make_nat_expr, make_nat_value
from parpass.relay.testing.opt_pass import run_infer_type, run_opt_pass
from parpass.relay.testing.workload import create_workload
from parpass.relay.transform import gradient

__all__ = [
    "check_grad",
    "count",
    "count_ops",
    "create_workload",
    "gradient",
    "make_nat_expr",
    "make_nat_value",
    "mlp",
    "mobilenet",
    "rand",
    "resnet",
    "run_infer_type",
    "run_opt_pass",
    "temp_op_attr",
]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
