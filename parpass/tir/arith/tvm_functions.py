"""`arith._ffi_api`: functions that TVM's own tests reach by the names of C++."""

from __future__ import annotations

from parpass.tir.arith.domain_touched import domain_touched
from parpass.tir.arith.linear_systems.inequality_solver import (
    solve_inequalities_as_condition,
)

DomainTouched = domain_touched
SolveInequalitiesAsCondition = solve_inequalities_as_condition
