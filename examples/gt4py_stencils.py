"""Stencils of a model of the atmosphere in GT4Py, which `dsl_programs.py` compiles.

Fields of results have a smaller domain than those that are read, by up to two points
on each side.
"""

# GT4Py reads these functions as its own language.
# pyright: basic, reportMissingImports=false, reportInvalidTypeForm=false
# pyright: reportCallIssue=false

import gt4py.next as gtx
from gt4py.next import maximum, minimum, sqrt, where

I = gtx.Dimension("I")  # noqa: E741 -- its usual name
J = gtx.Dimension("J")
K = gtx.Dimension("K", kind=gtx.DimensionKind.VERTICAL)
Field = gtx.Field[gtx.Dims[I, J, K], gtx.float64]


@gtx.field_operator
def _laplacian(a: Field) -> Field:
    return 4.0 * a - (a(I + 1) + a(I - 1) + a(J + 1) + a(J - 1))


@gtx.field_operator
def _limited_diffusion(a: Field, weight: Field) -> Field:
    along = _laplacian(a)
    east = along(I + 1) - along
    east = where(east * (a(I + 1) - a) > 0.0, 0.0, east)
    north = along(J + 1) - along
    north = where(north * (a(J + 1) - a) > 0.0, 0.0, north)
    return a - weight * (east - east(I - 1) + north - north(J - 1))


@gtx.program(backend=gtx.gtfn_cpu)
def diffusion(a: Field, weight: Field, out: Field):
    _limited_diffusion(a, weight, out=out)


@gtx.field_operator
def _flux_east(a: Field, u: Field) -> Field:
    return where(u > 0.0, u * a, u * a(I + 1))


@gtx.field_operator
def _flux_north(a: Field, v: Field) -> Field:
    return where(v > 0.0, v * a, v * a(J + 1))


@gtx.field_operator
def _upwind(a: Field, u: Field, v: Field, dt: gtx.float64) -> Field:
    east = _flux_east(a, u)
    north = _flux_north(a, v)
    return a - dt * (east - east(I - 1) + north - north(J - 1))


@gtx.program(backend=gtx.gtfn_cpu)
def advection(a: Field, u: Field, v: Field, dt: gtx.float64, out: Field):
    _upwind(a, u, v, dt, out=out)


@gtx.field_operator
def _strength(u: Field, v: Field, factor: gtx.float64) -> Field:
    tension = u(I + 1) - u(I - 1) - (v(J + 1) - v(J - 1))
    shear = u(J + 1) - u(J - 1) + (v(I + 1) - v(I - 1))
    return minimum(0.5, maximum(0.0, factor * sqrt(tension * tension + shear * shear)))


@gtx.program(backend=gtx.gtfn_cpu)
def turbulence(u: Field, v: Field, factor: gtx.float64, out: Field):
    _strength(u, v, factor, out=out)


@gtx.scan_operator(axis=K, forward=True, init=(0.0, 0.0))
def _eliminated(
    above: tuple[float, float],
    lower: float,
    diagonal: float,
    upper: float,
    right: float,
) -> tuple[float, float]:
    pivot = diagonal - lower * above[0]
    return upper / pivot, (right - lower * above[1]) / pivot


@gtx.scan_operator(axis=K, forward=False, init=0.0)
def _substituted(below: float, upper: float, right: float) -> float:
    return right - upper * below


@gtx.field_operator
def _columns(lower: Field, diagonal: Field, upper: Field, right: Field) -> Field:
    factor, value = _eliminated(lower, diagonal, upper, right)
    return _substituted(factor, value)


@gtx.program(backend=gtx.gtfn_cpu)
def implicit_columns(
    lower: Field, diagonal: Field, upper: Field, right: Field, out: Field
):
    _columns(lower, diagonal, upper, right, out=out)


@gtx.field_operator
def _energy(u: Field, v: Field, h: Field) -> Field:
    return 9.81 * h + 0.5 * (u * u + v * v)


@gtx.field_operator
def _wind_east(u: Field, v: Field, h: Field, dt: gtx.float64) -> Field:
    vorticity = v(I + 1) - v - (u(J + 1) - u)
    energy = _energy(u, v, h)
    return u + dt * (vorticity * v - (energy(I + 1) - energy))


@gtx.program(backend=gtx.gtfn_cpu)
def wind_east(u: Field, v: Field, h: Field, dt: gtx.float64, out: Field):
    _wind_east(u, v, h, dt, out=out)


@gtx.field_operator
def _height(u: Field, v: Field, h: Field, dt: gtx.float64) -> Field:
    east = 0.5 * (h + h(I + 1)) * u
    north = 0.5 * (h + h(J + 1)) * v
    return h - dt * (east - east(I - 1) + north - north(J - 1))


@gtx.program(backend=gtx.gtfn_cpu)
def height(u: Field, v: Field, h: Field, dt: gtx.float64, out: Field):
    _height(u, v, h, dt, out=out)


@gtx.field_operator
def _smoothed(a: Field, factor: gtx.float64) -> Field:
    west_east = -a(I - 2) + 4.0 * (a(I - 1) + a(I + 1)) - 6.0 * a - a(I + 2)
    south_north = -a(J - 2) + 4.0 * (a(J - 1) + a(J + 1)) - 6.0 * a - a(J + 2)
    return a + factor * (west_east + south_north)


@gtx.program(backend=gtx.gtfn_cpu)
def smoothing(a: Field, factor: gtx.float64, out: Field):
    _smoothed(a, factor, out=out)
