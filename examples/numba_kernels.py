"""Kernels of the kinds that programs have Numba compile as they start.

python -c "from parpass.integrations import numba; numba.warm('numba_kernels')"
"""

# Numba finds the types of what is in functions, which the checker does not know.
# pyright: basic

import math

import numpy as np
from numba import njit

# Helpers that several kernels call.


@njit("f8(f8, f8, f8)", cache=True)
def clamp(x, low, high):
    """Return a number, or the bound that it is beyond."""
    return min(max(x, low), high)


@njit("f8(f8, f8)", cache=True)
def limiter(a, b):
    """Return the smaller of two slopes, 0 where they differ in sign."""
    if a * b <= 0.0:
        return 0.0
    if abs(a) < abs(b):
        return a
    return b


@njit("i8(u1[:], i8)", cache=True)
def skip_blanks(text, at):
    """Return where the next character is that is no blank."""
    while at < text.size and (text[at] == 32 or text[at] == 9):
        at += 1
    return at


# Stencils.


@njit("void(f8[:,:], f8[:,:], f8)", cache=True)
def laplace(field, out, factor):
    """Write the Laplacian of a field."""
    for i in range(1, field.shape[0] - 1):
        for j in range(1, field.shape[1] - 1):
            out[i, j] = factor * (
                field[i - 1, j]
                + field[i + 1, j]
                + field[i, j - 1]
                + field[i, j + 1]
                - 4.0 * field[i, j]
            )


@njit("f8[:,:](f8[:,:], f8[:,:], f8, i8)", cache=True)
def diffuse(field, coefficient, step, times):
    """Return a field after some steps of diffusion."""
    now = field.copy()
    for _ in range(times):
        before = now.copy()
        for i in range(1, now.shape[0] - 1):
            for j in range(1, now.shape[1] - 1):
                east = coefficient[i, j] * (before[i, j + 1] - before[i, j])
                west = coefficient[i, j - 1] * (before[i, j] - before[i, j - 1])
                south = coefficient[i, j] * (before[i + 1, j] - before[i, j])
                north = coefficient[i - 1, j] * (before[i, j] - before[i - 1, j])
                change = step * (east - west + south - north)
                now[i, j] = before[i, j] + clamp(change, -1.0, 1.0)
    return now


@njit("f8[:](f8[:], f8[:], f8)", cache=True)
def advect(density, speed, ratio):
    """Return a density after a step of transport, second order."""
    n = density.size
    flux = np.zeros(n + 1)
    for i in range(2, n - 1):
        if speed[i] >= 0.0:
            slope = limiter(
                density[i] - density[i - 1], density[i - 1] - density[i - 2]
            )
            flux[i] = speed[i] * (density[i - 1] + 0.5 * (1.0 - ratio) * slope)
        else:
            slope = limiter(density[i + 1] - density[i], density[i] - density[i - 1])
            flux[i] = speed[i] * (density[i] - 0.5 * (1.0 + ratio) * slope)
    return density - ratio * (flux[1:] - flux[:-1])


@njit("f8[:,:](f8[:,:], f8[:])", cache=True)
def blur(image, weights):
    """Return an image, blurred along both axes."""
    rows, columns = image.shape
    half = weights.size // 2
    between = np.zeros_like(image)
    out = np.zeros_like(image)
    for i in range(rows):
        for j in range(columns):
            for k in range(weights.size):
                at = min(max(j + k - half, 0), columns - 1)
                between[i, j] += weights[k] * image[i, at]
    for i in range(rows):
        for j in range(columns):
            for k in range(weights.size):
                at = min(max(i + k - half, 0), rows - 1)
                out[i, j] += weights[k] * between[at, j]
    return out


@njit("f8[:,:](f8[:,:], i8)", cache=True)
def median_filter(image, radius):
    """Return an image of the medians around each point."""
    rows, columns = image.shape
    out = np.empty_like(image)
    for i in range(rows):
        for j in range(columns):
            window = image[
                max(0, i - radius) : i + radius + 1, max(0, j - radius) : j + radius + 1
            ]
            out[i, j] = np.median(window)
    return out


# Reductions and statistics.


@njit("f8(f8[:])", cache=True)
def exact_sum(values):
    """Return the sum of values, with what rounding loses."""
    total = 0.0
    lost = 0.0
    for value in values:
        y = value - lost
        t = total + y
        lost = (t - total) - y
        total = t
    return total


@njit("Tuple((f8, f8, f8))(f8[:])", cache=True)
def moments(values):
    """Return mean, variance and third moment."""
    mean = 0.0
    second = 0.0
    third = 0.0
    for n, value in enumerate(values):
        delta = value - mean
        part = delta / (n + 1)
        term = delta * part * n
        mean += part
        third += term * part * (n - 1) - 3 * part * second
        second += term
    return mean, second / values.size, third / values.size


@njit("i8[:](f8[:], f8, f8, i8)", cache=True)
def histogram(values, low, high, bins):
    """Return how many values are in each bin."""
    counts = np.zeros(bins, np.int64)
    width = (high - low) / bins
    for value in values:
        inside = clamp(value, low, high)
        counts[min(bins - 1, int((inside - low) / width))] += 1
    return counts


@njit("f8[:](f8[:], i8)", cache=True)
def rolling_mean(values, window):
    """Return the means over a window."""
    sums = np.cumsum(values)
    out = np.empty(values.size)
    for i in range(values.size):
        if i < window:
            out[i] = sums[i] / (i + 1)
        else:
            out[i] = (sums[i] - sums[i - window]) / window
    return out


@njit("f8(f8[:], f8[:])", cache=True)
def rank_correlation(a, b):
    """Return the correlation of ranks."""
    ranks_a = np.argsort(np.argsort(a)).astype(np.float64)
    ranks_b = np.argsort(np.argsort(b)).astype(np.float64)
    ranks_a -= ranks_a.mean()
    ranks_b -= ranks_b.mean()
    scale = math.sqrt((ranks_a**2).sum() * (ranks_b**2).sum())
    return (ranks_a * ranks_b).sum() / scale


@njit("f8[:](f8[:], f8[:], f8[:])", cache=True)
def interpolate(x, known, values):
    """Return values between known points."""
    out = np.empty(x.size)
    for i in range(x.size):
        k = np.searchsorted(known, x[i])
        k = min(max(k, 1), known.size - 1)
        share = (x[i] - known[k - 1]) / (known[k] - known[k - 1])
        out[i] = values[k - 1] + clamp(share, 0.0, 1.0) * (values[k] - values[k - 1])
    return out


# Sorting and searching.


@njit("void(f8[:], i8[:])", cache=True)
def sort_with_keys(values, keys):
    """Sort values, and keys with them, in place."""
    for i in range(1, values.size):
        value, key = values[i], keys[i]
        j = i - 1
        while j >= 0 and values[j] > value:
            values[j + 1] = values[j]
            keys[j + 1] = keys[j]
            j -= 1
        values[j + 1] = value
        keys[j + 1] = key


@njit("f8[:](f8[:], f8[:])", cache=True)
def merge(a, b):
    """Return two sorted arrays as one."""
    out = np.empty(a.size + b.size)
    i = j = 0
    for k in range(out.size):
        if j >= b.size or (i < a.size and a[i] <= b[j]):
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
    return out


@njit("i8[:](f8[:], i8)", cache=True)
def largest(values, count):
    """Return where the largest values are."""
    order = np.argsort(-values)
    return order[:count].copy()


@njit("Tuple((f8[:], i8[:]))(f8[:])", cache=True)
def runs(values):
    """Return distinct values, and how often each occurs."""
    ordered = np.sort(values)
    distinct = [ordered[0]]
    counts = [1]
    for value in ordered[1:]:
        if value == distinct[-1]:
            counts[-1] += 1
        else:
            distinct.append(value)
            counts.append(1)
    return np.array(distinct), np.array(counts)


# Text as bytes.


@njit("f8(u1[:], i8)", cache=True)
def parse_number(text, start):
    """Return the decimal number that begins at a place of a text."""
    at = skip_blanks(text, start)
    sign = 1.0
    if at < text.size and text[at] == 45:
        sign = -1.0
        at += 1
    value = 0.0
    while at < text.size and 48 <= text[at] <= 57:
        value = 10.0 * value + (text[at] - 48)
        at += 1
    if at < text.size and text[at] == 46:
        at += 1
        scale = 0.1
        while at < text.size and 48 <= text[at] <= 57:
            value += scale * (text[at] - 48)
            scale *= 0.1
            at += 1
    return sign * value


@njit("f8[:](u1[:])", cache=True)
def parse_line(text):
    """Return the numbers of a line, which commas separate."""
    numbers = []
    at = 0
    while at < text.size:
        numbers.append(parse_number(text, at))
        while at < text.size and text[at] != 44:
            at += 1
        at += 1
    return np.array(numbers)


@njit("i8(unicode_type, unicode_type)", cache=True)
def edits(a, b):
    """Return how many edits make one text of another."""
    row = np.arange(len(b) + 1)
    for i in range(len(a)):
        before = row.copy()
        row[0] = i + 1
        for j in range(len(b)):
            cost = 0 if a[i] == b[j] else 1
            row[j + 1] = min(row[j] + 1, before[j + 1] + 1, before[j] + cost)
    return row[len(b)]


@njit("DictType(i8, i8)(i8[:])", cache=True)
def count_each(keys):
    """Return how often each key occurs."""
    counts = {keys[0]: 0}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    return counts


# Linear algebra.


@njit("f8[:](f8[:,::1], f8[::1])", cache=True)
def solve(matrix, right):
    """Return the solution of linear equations."""
    return np.linalg.solve(matrix, right)


@njit("f8[:,:](f8[:,:])", cache=True)
def cholesky(matrix):
    """Return the Cholesky factor of a matrix."""
    n = matrix.shape[0]
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= out[i, k] * out[j, k]
            if i == j:
                out[i, i] = math.sqrt(clamp(total, 0.0, np.inf))
            else:
                out[i, j] = total / out[j, j]
    return out


@njit("f8[:](f8[:,::1], f8[::1], i8)", cache=True)
def conjugate_gradient(matrix, right, times):
    """Return the solution of equations, by conjugate gradients."""
    x = np.zeros_like(right)
    residual = right - np.dot(matrix, x)
    direction = residual.copy()
    norm = np.dot(residual, residual)
    for _ in range(times):
        along = np.dot(matrix, direction)
        step = norm / np.dot(direction, along)
        x += step * direction
        residual -= step * along
        after = np.dot(residual, residual)
        if after < 1e-20:
            break
        direction = residual + (after / norm) * direction
        norm = after
    return x


@njit("f8(f8[:,::1], i8)", cache=True)
def power_iteration(matrix, times):
    """Return the largest eigenvalue."""
    vector = np.ones(matrix.shape[0])
    value = 0.0
    for _ in range(times):
        image = np.dot(matrix, vector)
        value = np.linalg.norm(image)
        vector = image / value
    return value
