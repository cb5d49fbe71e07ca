from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.errors import FrontendError, MalformedModelError
from parpass.relay import Any as AnyDim
from parpass.relay import build
from tests.support.onnx.cases import cases, run
from tests.support.onnx.models import (
    Array,
    assert_agrees,
    evaluate,
    imported,
    one_node,
    random,
)
from tests.support.profiles import examples

# They decide about shapes, so they are to be known.
OFFICIAL = [
    "test_dft",
    "test_dft_axis",
    "test_dft_inverse",
    "test_dft_irfft",
    "test_dft_rfft",
    "test_stft",
    "test_stft_with_window",
]


@pytest.mark.parametrize("name", OFFICIAL)
def test_official_cases_agree_where_lengths_and_axes_are_known(name: str) -> None:
    run(cases("node")[name], first=1)


def number(value: int) -> Array:
    return np.array(value, "int64")


def dft(data: Array, length: int | None = None, axis: int = -2, **how: Any) -> Any:
    """Return the model of a transform as of opset 20."""
    given = None if length is None else number(length)
    known = (2,) if given is None else (1, 2)
    return one_node("DFT", data, given, number(axis), known=known, opset=20, **how)


def complex_of(data: Array) -> Array:
    wide = data.astype("float64")
    return wide[..., 0] + 1j * wide[..., 1] if data.shape[-1] == 2 else wide[..., 0]


def parts_of(data: Array) -> Array:
    return np.stack([np.real(data), np.imag(data)], -1)


LENGTHS = [1, 2, 7, 8, 9, 12]


@pytest.mark.parametrize("length", [None, *LENGTHS])
@pytest.mark.parametrize("axis", [0, 1, -2])
@pytest.mark.parametrize("parts", [1, 2])
def test_a_transform_is_numpys_along_each_axis_cut_or_padded(
    length: int | None, axis: int, parts: int
) -> None:
    data = random(8, 3, 5, parts)
    plain, at = complex_of(data), axis + 1 if axis < 0 else axis
    for inverse, meant in ((0, np.fft.fft), (1, np.fft.ifft)):
        found = evaluate(imported(dft(data, length, axis, inverse=inverse)), data)
        wanted = parts_of(meant(plain, length, at))
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("length", [None, *LENGTHS])
def test_one_side_has_the_frequencies_of_a_real_signal(length: int | None) -> None:
    signal = random(3, 9, 2, 1)
    found = evaluate(imported(dft(signal, length, 1, onesided=1)), signal)
    wanted = parts_of(np.fft.rfft(signal[..., 0].astype("float64"), length, 1))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("length", [None, *LENGTHS])
def test_one_side_gives_the_real_signal_back(length: int | None) -> None:
    data = random(3, 5, 2, 2)
    found = evaluate(imported(dft(data, length, 1, onesided=1, inverse=1)), data)
    wanted = np.fft.irfft(complex_of(data), length, 1)
    np.testing.assert_allclose(found[..., 0], wanted, rtol=1e-5, atol=1e-5)


@st.composite
def transforms(draw: st.DrawFn) -> tuple[Array, int, dict[str, int]]:
    """Return numbers, the length of their transform, and its attributes.

    From some hundreds on, lengths that are products are those of two steps.
    """
    length = draw(st.integers(1, 40) | st.sampled_from(LONG))
    there = draw(st.integers(1, 40) | st.just(length) | st.sampled_from(LONG))
    inverse, onesided = draw(st.integers(0, 1)), draw(st.integers(0, 1))
    parts = 1 + inverse if onesided else draw(st.integers(1, 2))
    data = random(2, there, 3, parts, seed=length, dtype="float64")
    return data, length, {"inverse": inverse, "onesided": onesided}


LONG = [144, 149, 150, 256, 360, 501, 512, 600]


@pytest.mark.hunt
@pytest.mark.slow
@examples(3)
@given(transforms())
def test_transforms_of_all_lengths_are_numpys(
    drawn: tuple[Array, int, dict[str, int]],
) -> None:
    data, length, how = drawn
    found = evaluate(imported(dft(data, length, 1, **how)), data)
    meant = {
        (0, 0): np.fft.fft,
        (0, 1): np.fft.rfft,
        (1, 0): np.fft.ifft,
        (1, 1): np.fft.irfft,
    }[how["inverse"], how["onesided"]]
    wanted = parts_of(meant(complex_of(data), length, 1))[..., : found.shape[-1]]
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)


def test_the_axis_was_an_attribute_before_opset_20() -> None:
    data = random(2, 6, 3, 1)
    length = number(8)
    for axis in (0, 1, 2, -2):
        assert_agrees("DFT", data, length, known=(1,), opset=17, axis=axis)
    assert_agrees("DFT", data, length, known=(1,), opset=19, onesided=1)
    assert_agrees("DFT", random(2, 6, 3, 2), opset=17, inverse=1, axis=2)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_the_dtype_is_that_of_the_signal(dtype: str) -> None:
    data, window = random(2, 40, 1, dtype=dtype), random(8, dtype=dtype)
    model = one_node("STFT", data, number(4), window, known=(1,), opset=17)
    found = evaluate(imported(model), data, window)
    assert found.dtype == dtype
    how: dict[str, Any] = {"float16": {"atol": 1e-2}, "float64": {"atol": 1e-13}}[dtype]
    np.testing.assert_allclose(found, frames(data, 4, 8, window), rtol=1e-2, **how)
    transformed = evaluate(imported(dft(data)), data)
    wanted = parts_of(np.fft.fft(complex_of(data), axis=1))
    np.testing.assert_allclose(transformed, wanted, rtol=1e-2, atol=10 * how["atol"])


def frames(
    data: Array,
    step: int,
    length: int,
    window: Array | float = 1.0,
    *,
    onesided: bool = True,
) -> Array:
    """Return the transforms of frames, in doubles."""
    plain = complex_of(data)
    starts = range(0, plain.shape[1] - length + 1, step)
    cut = np.stack([plain[:, at : at + length] for at in starts], 1)
    whole = np.fft.fft(cut * np.asarray(window, "float64"), axis=-1)
    return parts_of(whole[..., : length // 2 + 1] if onesided else whole)


@pytest.mark.parametrize("step", [1, 3, 8, 11])
@pytest.mark.parametrize("length", [1, 7, 8, 512])
@pytest.mark.parametrize("parts", [1, 2])
def test_frames_are_numpys_transforms_of_what_a_window_shows(
    step: int, length: int, parts: int
) -> None:
    data, window = random(2, 29 + length, parts), random(length, seed=1)
    for onesided in (0, 1) if parts == 1 else (0,):
        model = one_node(
            *("STFT", data, number(step), window, number(length)),
            known=(1, 2, 3),
            opset=17,
            onesided=onesided,
        )
        wanted = frames(data, step, length, window, onesided=onesided == 1)
        found = evaluate(imported(model), data)
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6 * (9 + length))


def test_a_frame_is_as_long_as_the_window_or_the_signal() -> None:
    data, window = random(2, 20, 1), random(8)
    windowed = one_node("STFT", data, number(3), window, known=(1,), opset=17)
    found = evaluate(imported(windowed), data, window)
    np.testing.assert_allclose(found, frames(data, 3, 8, window), rtol=1e-5, atol=1e-5)
    whole = one_node("STFT", data, number(3), known=(1,), opset=17)
    found = evaluate(imported(whole), data)
    np.testing.assert_allclose(found, frames(data, 3, 20), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("batch", [2, AnyDim()])
@pytest.mark.parametrize("frame", [16, 512])
def test_a_signal_may_be_of_any_length_and_lack_the_axis_of_parts(
    batch: Any, frame: int
) -> None:
    data = random(2, 600)
    how: dict[str, Any] = {"known": (1, 3), "opset": 17}
    model = one_node("STFT", data, number(70), None, number(frame), **how)
    mod = imported(model, shape={"x0": (batch, AnyDim())})
    for length in (frame, 550, 600):
        cut = data[:, :length]
        wanted = frames(cut[..., None], 70, frame)
        np.testing.assert_allclose(evaluate(mod, cut), wanted, rtol=1e-4, atol=1e-4)


def test_a_batch_may_be_of_any_size() -> None:
    data = random(3, 144, 2)
    mod = imported(dft(data, 144), shape={"x0": (AnyDim(), 144, 2)})
    for some in (data, data[:1]):
        wanted = parts_of(np.fft.fft(complex_of(some)))
        np.testing.assert_allclose(evaluate(mod, some), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_transforms_are_machine_code() -> None:
    data = random(1, 300, 1)
    window = np.hanning(64).astype("float32")
    short = one_node("STFT", data, number(32), window, known=(1, 2), opset=17)
    long = one_node(
        "STFT", random(1, 600, 1), number(8), random(512), known=(1, 2), opset=17
    )
    for model in (short, long, dft(random(3, 5, 40, 2), 32, 1, inverse=1)):
        lib = build(imported(model), "llvm", workers=0, cache=False)
        assert not lib.numpy_functions


REAL, COMPLEX = random(2, 8, 1), random(2, 8, 2)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (dft(COMPLEX, onesided=1), "expected real numbers where onesided is 1 and"),
        (dft(REAL, onesided=1, inverse=1), "expected complex numbers where onesided"),
        (
            dft(REAL, axis=-1),
            "axis -1 is that of the parts of numbers, not of a signal",
        ),
        (dft(REAL, axis=3), "axis 3 is out of range of 3 dimensions"),
        (dft(REAL, 0), "expected a transform of length 1 or more, got 0"),
        (dft(random(8)), "expected a signal of 2 dimensions or more, got 1"),
        (dft(random(2, 8, 3)), "expected a last axis of length 1, .* or 2, .* got 3"),
        (dft(np.ones((2, 8, 1), "int32")), "expected a signal of floats, got int32"),
    ],
)
def test_a_transform_that_onnx_does_not_allow_is_a_fault(
    model: Any, message: str
) -> None:
    with pytest.raises(MalformedModelError, match=f"DFT 'y'.*: {message}"):
        imported(model)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((COMPLEX, number(1), None, number(4)), "expected real numbers where"),
        ((REAL, number(0), None, number(4)), "a frame_step of 1 or more, got 0"),
        ((REAL, number(1), random(3), number(4)), "as a frame, 4, got 3"),
        ((REAL, number(1), random(2, 2)), "1 dimension for its window, got 2"),
        ((random(2, 8, 2, 1), number(1)), "3 dimensions for its signal, got 4"),
        ((REAL, number(1), None, number(9)), "a signal of 9 numbers or more, .* 8"),
    ],
)
def test_frames_that_onnx_does_not_allow_are_a_fault(
    inputs: tuple[Array | None, ...], message: str
) -> None:
    known = range(1, len(inputs))
    model = one_node(
        "STFT",
        *inputs,
        known=[at for at in known if inputs[at] is not None],
        opset=17,
    )
    with pytest.raises(MalformedModelError, match=f"STFT 'y'.*: .*{message}"):
        imported(model)


def test_a_length_that_only_the_running_model_knows_is_refused() -> None:
    frame = one_node("STFT", REAL, number(1), None, number(4), known=(1,), opset=17)
    with pytest.raises(FrontendError, match="its frame_length depends on 'x3'; expec"):
        imported(frame)
    length = one_node("DFT", REAL, number(4), opset=17)
    with pytest.raises(FrontendError, match="its dft_length depends on 'x1'; expected"):
        imported(length)
    with pytest.raises(FrontendError, match="the shape of its input must be known her"):
        imported(dft(REAL), shape={"x0": (2, AnyDim(), 1)})


def test_a_transform_whose_matrices_are_too_large_is_refused() -> None:
    data = np.broadcast_to(np.float32(0), (1, 5_003, 2))  # a prime
    with pytest.raises(FrontendError, match=r"at most 67108864 numbers .* length 5003"):
        imported(dft(data))
    with pytest.raises(FrontendError, match=r"numbers .* length 1099511627776; take a"):
        imported(dft(REAL, 2**40))
