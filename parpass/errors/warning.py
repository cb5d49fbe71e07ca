"""Warnings: the run goes on, and its user should know."""

from __future__ import annotations


class UnpicklablePassWarning(RuntimeWarning):
    """A pass cannot travel to the workers, so it runs in this process."""


class PassStateWarning(RuntimeWarning):
    """A function pass changed itself in a worker; the change does not come back."""


class SlowerRunWarning(RuntimeWarning):
    """A run goes on by a slower road than was asked for; its result is the same."""


class BudgetWarning(RuntimeWarning):
    """A budget was set that nothing can enforce where the passes run."""
