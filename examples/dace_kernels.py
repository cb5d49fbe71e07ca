"""Kernels of linear algebra and stencils in DaCe, which `dsl_programs.py` compiles."""

# DaCe reads these functions as its own language.
# pyright: basic, reportMissingImports=false, reportInvalidTypeForm=false
# pyright: reportCallIssue=false

import dace
import numpy as np

N, M = 96, 64
Matrix = dace.float64[N, N]
Vector = dace.float64[N]
Cube = dace.float64[M, M, M]


@dace.program
def gemm(alpha: dace.float64, beta: dace.float64, a: Matrix, b: Matrix, c: Matrix):
    c[:] = alpha * (a @ b) + beta * c


@dace.program
def gesummv(alpha: dace.float64, beta: dace.float64, a: Matrix, b: Matrix, x: Vector):
    return alpha * (a @ x) + beta * (b @ x)


@dace.program
def atax(a: Matrix, x: Vector, out: Vector):
    out[:] = (a @ x) @ a


@dace.program
def bicg(a: Matrix, p: Vector, r: Vector, s: Vector, q: Vector):
    s[:] = r @ a
    q[:] = a @ p


@dace.program
def two_products(a: Matrix, b: Matrix, c: Matrix, d: Matrix):
    d[:] = (a @ b) @ c + d


@dace.program
def mvt(a: Matrix, x: Vector, y: Vector, p: Vector, q: Vector):
    x += a @ p
    y += q @ a


@dace.program
def jacobi(steps: dace.int64, a: Matrix, b: Matrix):
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (
            a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]
        )
        a[1:-1, 1:-1] = 0.2 * (
            b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1]
        )


@dace.program
def heat(steps: dace.int64, a: Cube, b: Cube):
    for _ in range(steps):
        b[1:-1, 1:-1, 1:-1] = (
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
            + 0.125
            * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
            + 0.125
            * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
            + a[1:-1, 1:-1, 1:-1]
        )
        a[:] = b


@dace.program
def waves(steps: dace.int64, ex: Matrix, ey: Matrix, hz: Matrix):
    for _ in range(steps):
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


@dace.program
def diffusion(a: Cube, weight: Cube, out: Cube):
    along = 4.0 * a[1:-1, 1:-1, :] - (
        a[2:, 1:-1, :] + a[:-2, 1:-1, :] + a[1:-1, 2:, :] + a[1:-1, :-2, :]
    )
    east = along[1:, 1:-1, :] - along[:-1, 1:-1, :]
    north = along[1:-1, 1:, :] - along[1:-1, :-1, :]
    out[2:-2, 2:-2, :] = a[2:-2, 2:-2, :] - weight[2:-2, 2:-2, :] * (
        east[1:, :, :] - east[:-1, :, :] + north[:, 1:, :] - north[:, :-1, :]
    )


@dace.program
def softmax(a: Matrix, out: Matrix):
    largest = np.max(a, axis=1)
    powers = np.exp(a - np.reshape(largest, (N, 1)))
    out[:] = powers / np.reshape(np.sum(powers, axis=1), (N, 1))


@dace.program
def covariance(data: Matrix, out: Matrix):
    mean = np.sum(data, axis=0) / N
    data -= mean
    out[:] = (np.transpose(data) @ data) / (N - 1.0)


@dace.program
def correlation(data: Matrix, out: Matrix):
    centred = data - np.sum(data, axis=0) / N
    deviation = np.sqrt(np.sum(centred * centred, axis=0) / N) + 0.1
    scaled = centred / deviation
    out[:] = np.transpose(scaled) @ scaled


@dace.program
def three_products(a: Matrix, b: Matrix, c: Matrix, d: Matrix, out: Matrix):
    out[:] = (a @ b) @ (c @ d)


@dace.program
def shortest_paths(path: Matrix):
    for k in range(N):
        path[:] = np.minimum(path, path[:, k : k + 1] + path[k : k + 1, :])


@dace.program
def layer(x: Matrix, weight: Matrix, bias: Vector, out: Matrix):
    out[:] = np.maximum(x @ weight + bias, 0.0)


@dace.program
def network(x: Matrix, first: Matrix, second: Matrix, bias: Vector, out: Matrix):
    hidden = np.tanh(x @ first + bias)
    scores = np.exp(hidden @ second)
    out[:] = scores / np.reshape(np.sum(scores, axis=1), (N, 1))


@dace.program
def distances(latitude: Vector, longitude: Vector, out: Vector):
    half = np.sin(0.5 * (latitude - longitude)) ** 2
    out[:] = 2.0 * np.arcsin(np.sqrt(half / (half + 1.0)))


@dace.program
def conjugate_gradients(steps: dace.int64, a: Matrix, b: Vector, x: Vector):
    r = b - a @ x
    p = np.copy(r)
    for _ in range(steps):
        product = a @ p
        step = (r @ r) / (p @ product)
        x += step * p
        new = r - step * product
        p[:] = new + ((new @ new) / (r @ r)) * p
        r[:] = new


@dace.program
def power_iteration(steps: dace.int64, a: Matrix, x: Vector):
    for _ in range(steps):
        y = a @ x
        x[:] = y / np.sqrt(y @ y)


@dace.program
def upwind(steps: dace.int64, u: dace.float64, a: Matrix, b: Matrix):
    for _ in range(steps):
        b[1:, 1:] = a[1:, 1:] - u * (2.0 * a[1:, 1:] - a[:-1, 1:] - a[1:, :-1])
        a[:] = b


@dace.program
def blur(image: Matrix, out: Matrix):
    rows = 0.25 * image[:-2, :] + 0.5 * image[1:-1, :] + 0.25 * image[2:, :]
    out[1:-1, 1:-1] = 0.25 * rows[:, :-2] + 0.5 * rows[:, 1:-1] + 0.25 * rows[:, 2:]


@dace.program
def pressure(steps: dace.int64, source: Matrix, p: Matrix):
    for _ in range(steps):
        old = np.copy(p)
        p[1:-1, 1:-1] = (
            0.25 * (old[1:-1, 2:] + old[1:-1, :-2] + old[2:, 1:-1] + old[:-2, 1:-1])
            - 0.25 * source[1:-1, 1:-1]
        )
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]


@dace.program
def energy(u: Cube, v: Cube, w: Cube, out: Cube):
    speed = np.sqrt(u * u + v * v + w * w)
    out[:] = 0.5 * speed * speed + np.maximum(speed, 1.0)
