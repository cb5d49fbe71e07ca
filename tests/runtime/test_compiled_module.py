"""Library files: what is written is what is read, and nothing else is loaded.

Machine code is loaded from bytes that no other user can exchange meanwhile.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parpass as tvm
from parpass import tir
from parpass.errors import (
    ArgumentError,
    CPUFeatureError,
    DamagedLibraryError,
    ForeignLibraryError,
    LibraryError,
)
from parpass.runtime import Module, NDArray, load_module
from parpass.runtime.compiled_module import SharedObject
from parpass.runtime.library_file import (
    ABI,
    LibraryImage,
    library_digest,
    read_library,
    write_library,
)
from parpass.target.build_library import build
from tests.support.forking import forked_in_the_midst

ROOT = Path(__file__).parents[2]


def added(much: int = 1, name: str = "main") -> Module:
    """Return `B[i, j] = A[i, j] + much`, compiled."""
    n, i, j = tir.SizeVar("n"), tir.Var("i"), tir.Var("j")
    a, b = (tir.decl_buffer((n, 4), "int32", name) for name in "AB")
    store = tir.BufferStore(b, tir.BufferLoad(a, [i, j]) + much, [i, j])
    loops = tir.For(i, 0, n, 0, tir.For(j, 0, 4, 0, store))
    func = tir.PrimFunc((a, b), loops).with_attr("global_symbol", name)
    return build(func, workers=0)


@pytest.fixture(scope="module")
def made() -> Module:
    return added()


@pytest.fixture
def path(tmp_path: Path, made: Module) -> Path:
    made.export_library(tmp_path / "made.so")
    return tmp_path / "made.so"


def result(module: Any) -> list[int]:
    a, b = np.arange(8, dtype="int32").reshape(2, 4), np.zeros((2, 4), "int32")
    module(a, b)
    return b.reshape(-1).tolist()


def test_a_library_is_written_and_read(path: Path, made: Module):
    loaded = tvm.runtime.load_module(str(path))
    assert loaded.type_key == "library"
    assert result(loaded) == result(made) == list(range(1, 9))
    assert loaded.manifest == made.manifest
    assert not [*path.parent.glob(".made*")]


def test_weights_are_mapped_beside_the_code(tmp_path: Path, made: Module):
    arrays = {
        "w": NDArray(np.arange(6, dtype="float32").reshape(2, 3)),
        "none": NDArray(np.zeros((0, 3), "int8")),
        "same": NDArray(np.full((2000,), 7, "int64")),
    }
    image = read_library(_written(tmp_path / "net.so", made, arrays))
    for name, array in arrays.items():
        assert image.weights[name] == array
        assert not image.weights[name].numpy().flags.writeable
    assert result(Module(image)) == list(range(1, 9))


def _written(path: Path, module: Module, arrays: dict[str, NDArray]) -> Path:
    image = LibraryImage(module.manifest, read_code(module, path), arrays)
    write_library(path, image)
    return path


def read_code(module: Module, path: Path) -> bytes:
    module.export_library(path)
    return read_library(path).code


def test_every_byte_is_checked(path: Path):
    data = path.read_bytes()
    step = len(data) // 37
    for at in [*range(0, len(data), step), len(data) - 1, len(data) - 33]:
        changed = bytearray(data)
        changed[at] ^= 0x10
        path.write_bytes(changed)
        with pytest.raises((DamagedLibraryError, ForeignLibraryError)):
            load_module(path)


def test_so_is_every_chunk_of_a_large_one(tmp_path: Path, made: Module):
    weight = NDArray(np.arange(3_000_000, dtype="float32"))
    path = _written(tmp_path / "large.so", made, {"w": weight})
    data = path.read_bytes()
    assert read_library(path).weights["w"] == weight
    for at in (len(data) // 2, len(data) - 5_000_000):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(DamagedLibraryError, match="was changed"):
            load_module(path)


def test_a_file_that_is_not_whole_is_refused(path: Path):
    data = path.read_bytes()
    for size in (0, 1, 55, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(DamagedLibraryError, match="its end is missing"):
            load_module(path)


def test_other_files_are_refused(tmp_path: Path):
    with pytest.raises(LibraryError, match="cannot be read"):
        load_module(tmp_path / "none.so")
    (tmp_path / "text.so").write_text("no library, " * 99)
    with pytest.raises(DamagedLibraryError, match="is no library of parpass"):
        load_module(tmp_path / "text.so")


def said_otherwise(path: Path, **said: Any) -> Path:
    """Change what a library says of itself; the digest is right again."""
    data = path.read_bytes()
    magic, at, size, _ = struct.unpack("<8sQQ32s", data[-56:])
    manifest = {**json.loads(data[at : at + size]), **said}
    new = json.dumps(manifest).encode()
    body = data[:at] + new + struct.pack("<8sQQ", magic, at, len(new))
    path.write_bytes(body + library_digest(memoryview(body)))
    return path


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"abi": 99}, f"is of ABI 99, expected {ABI}"),
        ({"architecture": "sparc"}, "is for sparc on linux, and this is"),
        ({"system": "plan9"}, "on plan9, and this is"),
    ],
)
def test_a_library_for_something_else_is_refused(path: Path, said: Any, told: str):
    with pytest.raises(ForeignLibraryError, match=told):
        load_module(said_otherwise(path, **said))


KERNEL: dict[str, Any] = {
    "symbol": "main",
    "parameters": [],
    "passed": [],
    "result": "",
    "workspace": 0,
    "messages": [],
}
ARRAY = {
    "name": "a",
    "dtype": "int32",
    "shape": [2],
    "is_array": True,
    "is_written": False,
}
NOTHING: dict[str, Any] = {}
WEIGHT = {"name": "w", "dtype": "int32", "shape": [2], "at": 0}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"target": 7}, r"manifest\['target'\] to be of type str, got int"),
        ({"odd": 7}, "expected no 'odd' in the manifest"),
        ({"format": "zip"}, "expected format 'so' or 'tar'"),
        ({"code": -1}, "bytes of code, got -1"),
        ({"features": None}, "to be of type list, got NoneType"),
        ({"functions": {"f": NOTHING}}, r"'workspace' in the manifest\['functions'\]"),
        ({"functions": {"f": {**KERNEL, "workspace": -1}}}, "no workspace of 'f'"),
        ({"functions": {"f": {**KERNEL, "passed": [["data", 0, 0]]}}}, "a part of"),
        ({"functions": {"f": {**KERNEL, "passed": [["odd", 0, 0]]}}}, "a part of"),
        ({"functions": {"f": {**KERNEL, "passed": [[1]]}}}, "a part of"),
        (
            {"functions": {"f": {**KERNEL, "parameters": [NOTHING]}}},
            r"parameters'\]\[0\]",
        ),
        ({"weights": [{**WEIGHT, "at": 1 << 40}]}, "expected weight 'w' within"),
        ({"weights": [{**WEIGHT, "at": -4096}]}, "expected weight 'w' within"),
        ({"weights": [{**WEIGHT, "shape": [-1]}]}, "expected weight 'w' within"),
        ({"weights": [{**WEIGHT, "shape": [1 << 32] * 2}]}, "expected weight 'w'"),
        ({"weights": [{**WEIGHT, "dtype": "odd"}]}, "no dtype named 'odd'"),
    ],
)
def test_what_no_library_of_ours_says_is_refused(path: Path, said: Any, told: str):
    with pytest.raises(DamagedLibraryError, match=told):
        load_module(said_otherwise(path, **said))


@pytest.mark.parametrize("what", ["data", "value", "dimension", "stride"])
def test_what_is_passed_of_an_argument_is_what_it_has(path: Path, what: str):
    at = {"dimension": 1, "stride": -1}.get(what, 0)
    array = {**ARRAY, "is_array": what != "data"}
    kernel = {**KERNEL, "parameters": [array], "passed": [[what, 0, at]]}
    with pytest.raises(DamagedLibraryError, match="expected a part of an argument"):
        load_module(said_otherwise(path, functions={"f": kernel}))


@pytest.mark.parametrize("manifest", [b"[]", b"\xff{}", b"[" * 100_000])
def test_a_manifest_that_is_none_is_refused(path: Path, manifest: bytes):
    data = path.read_bytes()
    magic, at, _, _ = struct.unpack("<8sQQ32s", data[-56:])
    body = data[:at] + manifest + struct.pack("<8sQQ", magic, at, len(manifest))
    path.write_bytes(body + library_digest(memoryview(body)))
    with pytest.raises(DamagedLibraryError, match="is none that parpass wrote"):
        load_module(path)


def test_what_the_processor_lacks_is_named(path: Path):
    with pytest.raises(CPUFeatureError, match="has no 'avx999'") as caught:
        load_module(said_otherwise(path, features=["avx999", "sse3"]))
    assert caught.value.missing == ("avx999",)


def test_code_that_no_loader_takes_is_an_error(path: Path, made: Module):
    image = LibraryImage(made.manifest, b"\x7fELF" + bytes(100))
    write_library(path, image)
    with pytest.raises(LibraryError, match="cannot be loaded"):
        load_module(path)["main"]


def test_a_library_that_is_built_again_is_loaded_anew(path: Path):
    before = load_module(path)
    assert result(before) == list(range(1, 9))
    added(10).export_library(path)
    assert result(load_module(path)) == list(range(10, 18))
    assert result(before) == list(range(1, 9))


def libraries_in_memory() -> int:
    """Return how many are loaded from there; other threads open other files."""
    files: list[str] = []
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # it is closed by now
            files.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    return sum("memfd:parpass" in one for one in files)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="Linux lists files")
def test_what_is_not_used_any_more_is_unloaded(path: Path):
    before = libraries_in_memory()
    for _ in range(20):
        assert result(load_module(path)) == list(range(1, 9))
    assert libraries_in_memory() <= before + 1
    function = load_module(path)["main"]
    assert result(function) == list(range(1, 9))  # its code is there


def test_arguments_that_do_not_fit_are_refused(made: Module):
    a, b = np.zeros((2, 4), "int32"), np.zeros((2, 4), "int32")
    run = made["main"]
    for args, told in (
        ((a,), r"expected 2 arguments \(A, B\) for 'main', got 1"),
        ((a, [1]), r"expected an array for argument 1 \('B'\) of 'main', got list"),
        ((a.astype("int64"), b), "expected an array of int32 .* got int64"),
        ((a[:, :2], b), r"expected an array in C order"),
        ((a[:, :2].copy(), b), r"expected an array of shape \(n, 4\).* got \(2, 2\)"),
        ((a, b[:1]), r"shape \(n, 4\), where {'n': 2} .* got \(1, 4\)"),
        ((a.reshape(-1), b), r"got \(8,\)"),
    ):
        with pytest.raises(ArgumentError, match=told):
            run(*args)
    b.flags.writeable = False
    with pytest.raises(ArgumentError, match="expected an array to write to"):
        run(a, b)


def test_scalars_are_checked_as_well():
    x, y = tir.Var("x", "int8"), tir.Var("y", "float64")
    func = tir.PrimFunc((x, y), tir.Evaluate(tir.ret(y * x.astype("float64"))))
    run = build(func, workers=0)
    assert run(3, 0.5) == 1.5
    assert run(np.int64(-3), 2) == -6.0
    for args in ((300, 0.5), (1.5, 0.5), ("3", 0.5)):
        with pytest.raises(ArgumentError, match=r"for argument 0 \('x'\)"):
            run(*args)


def test_an_array_of_tvms_documents_takes_a_result(made: Module):
    given = np.zeros((1, 4), "int32")
    b = tvm.nd.array(given)
    before = b.numpy()
    made(np.full((1, 4), 5, "int32"), b)
    assert b.numpy().tolist() == [[6] * 4]
    assert before.tolist() == given.tolist() == [[0] * 4]


def test_no_more_is_exported_than_there_is(made: Module, tmp_path: Path):
    with pytest.raises(ArgumentError, match="no addons"):
        made.export_library(tmp_path / "x.so", addons=["a.o"])
    with pytest.raises(ArgumentError, match="format 'so'"):
        made.save(tmp_path / "x.ll")
    made.save(tmp_path / "x.so")
    assert result(load_module(tmp_path / "x.so", "so")) == list(range(1, 9))
    with pytest.raises(OSError, match="none"):
        made.export_library(tmp_path / "none" / "x.so")


def test_imported_modules_are_looked_in_if_asked_for(made: Module):
    made.import_module(added(7, "seven"))
    assert result(made.get_function("seven", query_imports=True)) == [*range(7, 15)]
    with pytest.raises(ValueError, match="seven"):
        made.get_function("seven")


def test_a_function_can_be_timed(made: Module):
    a, b = np.zeros((2, 4), "int32"), np.zeros((2, 4), "int32")
    found = made.time_evaluator("main", tvm.cpu(), number=2, repeat=3)(a, b)
    assert len(found.results) == 3
    assert 0 < found.min <= found.median <= found.max
    assert found.mean > 0 <= found.std


@pytest.mark.slow
def test_running_a_library_needs_no_compiler(path: Path):
    program = (
        "import sys, numpy as np\n"
        "import parpass as tvm\n"
        f"run = tvm.runtime.load_module({str(path)!r})\n"
        "a = np.zeros((1, 4), 'int32')\n"
        "run(a, a)\n"
        "print(a.tolist(), *sys.modules)\n"
    )
    output = subprocess.check_output(
        [sys.executable, "-c", program], text=True, cwd=ROOT, timeout=200
    )
    assert output.startswith("[[1, 1, 1, 1]]")
    unwanted = {"llvmlite", "onnx", "parpass.tir", "parpass.relay", "parpass.ir.node"}
    assert not unwanted & {*output.split()}


def test_without_files_in_memory_a_library_is_in_no_folder_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for mode, told in [(0o777, "can be written to by others"), (0o1777, "too short")]:
        tmp_path.chmod(mode)
        with pytest.raises(LibraryError, match=told):
            SharedObject(b"no code")
    assert not [*tmp_path.iterdir()]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks")
def test_a_child_is_not_forked_while_the_systems_loader_is_at_work(
    monkeypatch: pytest.MonkeyPatch,
):
    def is_refused() -> bool:
        with pytest.raises(LibraryError):
            SharedObject(b"no code")
        return True

    def load(stay: Callable[[], None]) -> None:
        original = ctypes.CDLL

        def loading(*args: Any, **kwargs: Any) -> ctypes.CDLL:
            stay()
            return original(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(ctypes, "CDLL", loading)
            is_refused()

    assert forked_in_the_midst(load, is_refused)
