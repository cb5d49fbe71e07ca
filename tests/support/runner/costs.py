"""What passes cost, as far as this process knows."""

from __future__ import annotations

from parpass.runner.cost_model import COST_MODEL


def forget_costs() -> None:
    """Forget what all passes cost, as in a new process."""
    COST_MODEL.__init__()
