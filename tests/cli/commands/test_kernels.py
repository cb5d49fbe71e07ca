"""`parpass build --emit-map`, and `parpass kernels`: from a node to code, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from parpass import build as parpass_build
from parpass import relay
from parpass.cli.output.kernel_chains import outline
from parpass.relay.backend.lowering.rule_registry import injective_rule
from parpass.target.elf_symbols import exported_functions
from tests.support.cli.calling import command as parpass
from tests.support.cli.commands import write_model
from tests.support.registering import registering_for_a_while

TEXT = """def @main(%x: Tensor[(4, 8), float32]) {
  %0 = exp(%x);
  %1 = nn.relu(%0);
  %2 = sort(%1);
  %3 = exp(%2);
  nn.relu(%3)
}
"""

NEST = [(0, "i"), (1, "j"), (1, "j"), (1, "j"), (2, "k"), (1, "j"), (1, "j"), (0, "i")]

LOOPS = """def @main(%x: Tensor[(4,), float32]) {
  @twice(%x)
}

@twice = primfn(a: handle, b: handle) -> ()
  attr = {"global_symbol": "twice", "num_outputs": 1}
  buffers = {A: Buffer(A_1: Pointer(float32), float32, [4], []),
             B: Buffer(B_1: Pointer(float32), float32, [4], [])}
  buffer_map = {a: A, b: B} {
  for (i: int32, 0, 4) {
    B[i] = (A[i]*2f32);
  }
}
"""

RULE = """
from parpass.relay.backend.lowering import register_injective

calls = []


@register_injective("sort")
def rule(call, at):
    calls.append(call)
    if call is not calls[0]:
        raise RuntimeError("a rule that works once")
    return call.sources[0].at(at)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder of one's own, for files and for what is kept."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARPASS_CACHE_DIR", str(tmp_path / "kept"))
    (tmp_path / "net.relay").write_text(TEXT)
    return tmp_path


def built(*words: str, source: str = "net.relay") -> dict[str, Any]:
    """Return the map of a build."""
    build = ("build", source, "-o", "net.so", "-q", "--emit-map", "net.json")
    result = parpass(*build, *words)
    assert (result.exit_code, result.output) == (0, "")
    return json.loads(Path("net.json").read_bytes())


def test_a_map_leads_from_lines_to_code_and_back(folder: Path):
    said = built("-j0")
    (fused,) = (one for one in said["kernels"] if one["symbol"])
    # Two calls, which are equal, are one kernel, and both of their places are told.
    spans = [[op["span"]["line"] for op in it["operators"]] for it in fused["calls"]]
    assert spans == [[2, 3], [5, 6]]
    code = (folder / "net.so").read_bytes()[fused["offset"] :][: fused["size"]]
    assert code
    assert code.rstrip(b"\xcc\0")[-1:] == b"\xc3"  # ends with a return
    by_line = parpass("kernels", "net.json", "--line", "6").stdout
    assert by_line.startswith(
        "net.relay:6: nn.relu(%3)\n  nn.relu: call 2 of fused_exp"
    )
    by_kernel = parpass("kernels", "net.json", "--kernel", fused["symbol"]).stdout
    assert "    exp: net.relay:5: %3 = exp(%2);\n" in by_kernel
    everything = parpass("kernels", "net.json").stdout.splitlines()
    assert everything[-1] == "fused_sort: computed by numpy"


def test_a_kernel_shows_its_loops_and_their_text_is_what_was_compiled(folder: Path):
    said = built("-j0")
    (fused,) = (one for one in said["kernels"] if one["symbol"])
    shown = parpass("kernels", "net.json", "--kernel", "fused_exp_nn_relu").stdout
    outer, inner = fused["loops"]
    assert outer["extent"] * inner["extent"] == 4 * 8
    assert (outer["writes"], inner["writes"]) == ([], ["out"])
    assert f"\n  for i0: {outer['extent']} times\n    for lane: " in shown
    assert " times, vectorized, writes out\n  call 0\n" in shown
    texts = parpass("kernels", "net.json", "--line", "2", "--text").stdout
    assert f"\n    @{fused['symbol']} = primfn(" in texts
    # The text is a program: compiled, it is the code of the library.
    loops = relay.parse(fused["text"])
    lib = parpass_build(loops, target=said["target"], workers=0)
    function = exported_functions(lib.image.code)[fused["symbol"]]
    assert function[1] == fused["size"]


def test_loops_that_are_alike_are_told_once():
    loops: list[dict[str, Any]] = [
        {"depth": depth, "variable": name, "extent": 2, "kind": "serial", "writes": []}
        for depth, name in NEST
    ]
    assert [*outline({"symbol": "f", "loops": loops})] == [
        "for i: 2 times",
        "  for j: 2 times (2 such loops)",
        "  for j: 2 times",
        "    for k: 2 times",
        "  for j: 2 times (2 such loops)",
        "for i: 2 times",
    ]


def test_a_kernel_of_loops_that_a_program_calls_is_in_the_map(folder: Path):
    (folder / "net.relay").write_text(LOOPS)
    (kernel,) = built("-j0")["kernels"]
    assert (kernel["function"], kernel["loops"][0]["extent"]) == ("twice", 4)
    (operator,) = kernel["calls"][0]["operators"]
    assert (operator["operator"], operator["span"]["line"]) == ("twice", 2)


def test_map_and_library_are_the_same_with_workers_and_with_kept_kernels(folder: Path):
    first, library = built("-j0"), (folder / "net.so").read_bytes()
    ways = ("-j0",), ("-j2", "--no-cache"), ("-j0", "--cache"), ("-j0", "--cache")
    for words in ways:
        assert built(*words) == first
        assert (folder / "net.so").read_bytes() == library
    parpass("build", "net.relay", "-o", "other.so", "-q", "-j0")
    assert (folder / "other.so").read_bytes() == library


def test_nodes_of_onnx_are_found_by_their_results(folder: Path):
    write_model(folder / "model.onnx", "Relu", "Sqrt")
    built("-j0", source="model.onnx")
    shown = parpass("kernels", "net.json", "--node", "v1").stdout.splitlines()
    assert shown[0] == "model.onnx:2: v1 = Sqrt(v0)"
    assert shown[1].startswith("  sqrt: call 0 of fused_nn_relu_sqrt")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--node", "v9"), "no node named 'v9'"),
        (("--line", "99"), "expected a line of the source, 1 to 7, got 99"),
        (("--kernel", "fused_exp"), "did you mean 'fused_exp_nn_relu'"),
        (
            ("--line", "1", "--node", "v"),
            "expected only one of --node, --line and --kernel",
        ),
        (("--text",), "--text needs --node, --line or --kernel"),
    ],
)
def test_what_is_not_there_is_refused(words: tuple[str, ...], told: str):
    built("-j0")
    result = parpass("kernels", "net.json", *words)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())


@pytest.mark.parametrize("text", ["", "[]", '{"kernels": []}', '{"a": 1}'])
def test_another_file_is_refused(folder: Path, text: str):
    (folder / "other.json").write_text(text)
    result = parpass("kernels", "other.json")
    assert result.exit_code == 2
    assert (
        "'other.json' is not a map written by 'parpass build --emit-map'"
    ) in result.stderr


def test_a_map_over_the_library_is_refused():
    build = ("build", "net.relay", "-o", "net.so", "--emit-map", "net.so")
    result = parpass(*build)
    assert result.exit_code == 2
    assert "choose another name" in " ".join(result.stderr.split())


def test_a_map_that_cannot_be_made_is_a_warning_and_the_library_stands(folder: Path):
    (folder / "rule.py").write_text(RULE)
    build = ("build", "net.relay", "-j0", "-q", "-o", "net.so", "--load", "rule.py")
    with registering_for_a_while():
        result = parpass(*build, "--emit-map", "net.json", "--report", "net.html")
        assert injective_rule("sort") is not None
    assert result.exit_code == 0
    assert result.stderr == "Warning: no map: RuntimeError: a rule that works once\n"
    assert (folder / "net.so").exists()
    assert not (folder / "net.json").exists()
    assert '"chains":[]' in (folder / "net.html").read_text()


def test_the_page_of_a_build_has_the_chains_of_its_map(folder: Path):
    said = built("-j0", "--report", "net.html")
    page = (folder / "net.html").read_text()
    for kernel in said["kernels"]:
        assert f'"function":"{kernel["function"]}","symbol":"' in page
    assert '"place":"net.relay:3","line":"%1 = nn.relu(%0);"' in page
    # Remarks of the first of its runs are beside the source, which the last has not.
    assert '"sources":{"net.relay":"def @main(' in page
