"""Matrices of ints made diagonal by steps that can be taken back within the ints.

Such a step adds a multiple of one row, or column, to another one, exchanges two or
negates one: its matrix has the determinant 1 or -1. The diagonal form is that of
Smith's, but for the order of its elements, of which none needs to divide the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

Matrix = list[list[int]]


class _Step(NamedTuple):
    """Two vectors `p, q` become `a*p + b*q, c*p + d*q`; `a*d - b*c` is 1 or -1."""

    a: int
    b: int
    c: int
    d: int


_SWAP = _Step(0, 1, 1, 0)


@dataclass(frozen=True)
class DiagonalForm:
    """A matrix A as `left * A * right`, which is diagonal.

    Attributes:
        matrix: The diagonal matrix.
        left: What rows were multiplied by.
        right: What columns were multiplied by.
        right_inverse: The inverse of `right`.
    """

    matrix: Matrix
    left: Matrix
    right: Matrix
    right_inverse: Matrix

    def diagonal(self, index: int) -> int:
        """Return an element of the diagonal, 0 behind its end."""
        is_in = index < len(self.matrix) and index < len(self.right)
        return self.matrix[index][index] if is_in else 0


def diagonal_form(rows: Sequence[Sequence[int]], width: int) -> DiagonalForm:
    """Return a matrix of so many columns in its diagonal form."""
    form = DiagonalForm(
        [list(row) for row in rows],
        _identity(len(rows)),
        _identity(width),
        _identity(width),
    )
    for at in range(min(len(rows), width)):
        _bring_pivot(form, at)
        while form.matrix[at][at] and _clear(form, at):
            pass
    return form


def _identity(size: int) -> Matrix:
    return [[int(row == column) for column in range(size)] for row in range(size)]


def _bring_pivot(form: DiagonalForm, at: int) -> None:
    """Bring what is not 0 to a place of the diagonal, if row or column have it."""
    below = [row for row in range(at, len(form.matrix)) if form.matrix[row][at]]
    if below:
        found = min(below, key=lambda row: abs(form.matrix[row][at]))
        if found != at:
            _change_rows(form, at, found, _SWAP)
        return
    for column in range(at + 1, len(form.right)):
        if form.matrix[at][column]:
            _change_columns(form, at, column, _SWAP)
            return


def _clear(form: DiagonalForm, at: int) -> bool:
    """Make the column below a pivot 0, and the row behind it.

    Returns:
        Whether the column is to be made 0 again. The pivot is nearer to 0 then.
    """
    matrix = form.matrix
    for row in range(at + 1, len(matrix)):
        if matrix[row][at]:
            _change_rows(form, at, row, _clearing(matrix[at][at], matrix[row][at]))
    for column in range(at + 1, len(form.right)):
        if matrix[at][column]:
            step = _clearing(matrix[at][at], matrix[at][column])
            _change_columns(form, at, column, step)
    return any(matrix[row][at] for row in range(at + 1, len(matrix)))


def _clearing(pivot: int, other: int) -> _Step:
    """Return the step by which a pivot becomes a common divisor, the other one 0."""
    if other % pivot == 0:  # the pivot stays, as does all that is 0 beside it
        return _Step(1, 0, other // pivot, -1)
    divisor, a, b = _common_divisor(pivot, other)
    return _Step(a, b, other // divisor, -(pivot // divisor))


def _common_divisor(x: int, y: int) -> tuple[int, int, int]:
    """Return the greatest common divisor, and its factors of `x` and of `y`."""
    (r, a, b), (s, c, d) = (x, 1, 0), (y, 0, 1)
    while s:
        q = r // s
        (r, a, b), (s, c, d) = (s, c, d), (r - q * s, a - q * c, b - q * d)
    return r, a, b


def _change_rows(form: DiagonalForm, at: int, row: int, step: _Step) -> None:
    for matrix in (form.matrix, form.left):
        _mix(matrix, at, row, step)


def _change_columns(form: DiagonalForm, at: int, column: int, step: _Step) -> None:
    a, b, c, d = step
    for matrix in (form.matrix, form.right):
        for row in matrix:
            p, q = row[at], row[column]
            row[at], row[column] = a * p + b * q, c * p + d * q
    sign = a * d - b * c
    inverse = _Step(d * sign, -c * sign, -b * sign, a * sign)
    _mix(form.right_inverse, at, column, inverse)


def _mix(matrix: Matrix, one: int, other: int, step: _Step) -> None:
    pairs = list(zip(matrix[one], matrix[other], strict=True))
    matrix[one] = [step.a * p + step.b * q for p, q in pairs]
    matrix[other] = [step.c * p + step.d * q for p, q in pairs]
