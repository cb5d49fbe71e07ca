"""The harness of case files: what it reads, compares and writes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cases.files import CaseFileError, read_cases, with_expectations
from tests.support.cases.program_texts import program_text, read_program
from tests.support.cases.running import faults_of, message, observe

REPOSITORY = Path(__file__).parents[2]
GOOD = """\
// About the file.
pipeline: FoldConstant
values: same

=== a sum folds
// About the case.
--- before
def @main(%x: float32) {
  add(%x, add(1f, 2f))
}

--- after
def @main(%x: float32) -> float32 {
  add(%x, 3f)
}

=== a call stays
pipeline:
  FoldConstant,
  EliminateCommonSubexpr
config: relay.FoldConstant.max_bytes=0
--- before
def @main(%x: float32) {
  abs(%x)
}
--- unchanged
"""


def written(folder: Path, text: str, name: str = "a_pass.txt") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def faults(path: Path, name: str) -> str:
    """Return what is said of a case, which is empty where it is as expected."""
    [case] = [case for case in read_cases(path) if case.name == name]
    found = faults_of(case, observe(case))
    return message(case, found) if found else ""


def test_a_file_is_read_as_cases_with_the_fields_of_all(tmp_path: Path):
    one, other = read_cases(written(tmp_path, GOOD))
    assert (one.name, one.line, one.value("pipeline")) == (
        *("a sum folds", 5, "FoldConstant"),
    )
    assert one.before.text == "def @main(%x: float32) {\n  add(%x, add(1f, 2f))\n}\n"
    assert other.value("pipeline") == "FoldConstant,\nEliminateCommonSubexpr"
    assert other.value("values") == "same"
    assert other.texts == {"unchanged": ""}


def test_cases_that_are_as_expected_have_no_faults(tmp_path: Path):
    path = written(tmp_path, GOOD)
    assert [faults(path, case.name) for case in read_cases(path)] == ["", ""]


def test_a_difference_is_shown_with_its_place(tmp_path: Path):
    path = written(tmp_path, GOOD.replace("3f", "4f"))
    said = faults(path, "a sum folds")
    assert said.startswith(f"{path}:5: case 'a sum folds'\n--- expected\n+++ got\n")
    assert "\n-  add(%x, 4f)\n+  add(%x, 3f)\n" in said
    assert "not structurally equal" in said


def test_an_object_that_came_back_is_not_an_equal_one(tmp_path: Path):
    path = written(tmp_path, GOOD.replace("add(%x, add(1f, 2f))", "add(%x, 3f)"))
    assert "\n+--- unchanged" in faults(path, "a sum folds")
    path = written(tmp_path, GOOD.replace("abs(%x)", "abs(abs(-1f))"))
    assert "---- unchanged\n" in faults(path, "a call stays")


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("pipeline: F", "pipelin: F", 2, "expected a field or a heading, got 'pipe"),
        ("values: same", "pipeline: InferType", 3, "expected field 'pipeline' once"),
        ("values: same", "values: same\ndocumented: A", 4, "'documented' in a case"),
        ("=== a sum folds", "===a sum folds", 5, "expected a case, '=== NAME', got"),
        ("a call stays", "a sum folds", 17, "got that of the case of line 5"),
        ("--- before", "--- behind", 7, "expected one of 'before', 'after',"),
        ("--- before\n", "--- after\n", 5, "section '--- before' first, got '--- af"),
        ("--- after", "--- unchanged", 12, "expected nothing in section '--- unchan"),
        ("--- unchanged", "--- error", 26, "expected text in section '--- error'"),
        (
            "--- unchanged",
            "--- unchanged\n--- error\nA",
            27,
            "expected one result, got",
        ),
        ("--- unchanged", "--- unchanged\n--- unchanged", 27, "once, got it again"),
        ("pipeline: FoldConstant\n", "", 4, "expected field 'pipeline', got none"),
    ],
)
def test_what_is_not_of_the_format_is_said_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, said: str
):
    path = written(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(CaseFileError, match=re.escape(said)) as caught:
        read_cases(path)
    assert str(caught.value).startswith(f"{path}:{line}: expected ")


def test_a_file_without_cases_is_an_error(tmp_path: Path):
    with pytest.raises(CaseFileError, match=r":2: expected a case, .* the end of the"):
        read_cases(written(tmp_path, "// Nothing.\n"))


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("add(1f, 2f)", "ad(1f, 2f)", 7, "no operator named 'ad'"),
        ("add(%x, 3f)", "add(%y, 3f)", 12, "no variable named '%y'"),
        ("pipeline: FoldConstant", "pipeline: FoldConst", 2, "mean 'FoldConstant'?"),
        ("values: same", "values: alike", 3, "expected 'same', 'within RTOL ATOL' or"),
        ("values: same", "values: within 1 x", 3, "got 'within 1 x'"),
        ("values: same", "types: none", 3, "expected 'inferred' or 'as written'"),
        ("values: same", "opt-level: high", 3, "expected a level, got 'high'"),
        ("values: same", "config: relay", 3, "expected KEY=VALUE, got 'relay'"),
        (
            "values: same",
            "with: blocs 2",
            3,
            "of 'target', 'blocks', 'skip', got",
        ),
        ("values: same", "with: blocks x", 3, "invalid literal for int"),
        ("values: same", "config: relay.a=1", 3, "invalid config option 'relay.a'"),
        ("// About the case.", "documented: Fold", 6, "no pass named 'Fold'"),
    ],
)
def test_what_a_case_itself_has_wrong_is_said_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, said: str
):
    path = written(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(CaseFileError) as caught:
        faults(path, "a sum folds")
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert said in str(caught.value)


def case_of(*lines: str) -> str:
    return "\n".join(["=== it", *lines, ""])


def test_an_error_is_its_class_and_its_message(tmp_path: Path):
    loop = "@main = primfn(n: int32) -> () {\n  for (i: int32, 0, n) %s { i; }\n}"
    lines = [
        "pipeline: VectorizeLoop",
        "--- before",
        loop % '"vectorized"',
        "--- error",
    ]
    wanted = "IRError: Failed to vectorize loop with extent Var(n: int32)"
    path = written(tmp_path, case_of(*lines, "IRError: wrong"))
    got = re.search(r"^\+(.*)$", faults(path, "it").split("+++ got")[1], re.MULTILINE)
    assert got is not None
    assert got[1].startswith(wanted)
    assert faults(written(tmp_path, case_of(*lines, got[1])), "it") == ""


def test_diagnostics_are_expected_if_there_are_any(tmp_path: Path):
    body = "def @odd() -> int32 {\n  power(2, -1)\n}"
    lines = ["pipeline: FoldConstant", "--- before", body, "--- unchanged"]
    said = faults(written(tmp_path, case_of(*lines)), "it")
    assert (
        "\n+--- diagnostics\n+before:2:3: note: function 'odd': operator 'power' "
        in said
    )


def test_statistics_are_compared_where_they_are_expected(tmp_path: Path):
    text = GOOD.replace(
        "\n\n=== a call", "\n--- statistics\nFoldConstant folded 2\n\n==="
    )
    said = faults(written(tmp_path, text), "a sum folds")
    assert "\n-FoldConstant folded 2\n+FoldConstant folded 1" in said


def test_values_that_differ_are_a_fault(tmp_path: Path):
    head = "def @main(%x: Tensor[(9,), float32])"
    before = f"{head} {{\n  multiply(add(%x, 0.1f), 0.3f)\n}}"
    lines = [
        "pipeline: SimplifyExpr{exact=false}",
        "values: same",
        "--- before",
        before,
    ]
    path = written(tmp_path, case_of(*lines))
    after = observe(read_cases(path)[0]).texts["after"].rstrip()
    same = case_of(*lines, "--- after", after)
    assert "Arrays are not equal" in faults(written(tmp_path, same), "it")
    close = same.replace("same", "within 1e-5 1e-6")
    assert faults(written(tmp_path, close), "it") == ""


def test_a_docstring_must_show_the_programs(tmp_path: Path):
    text = GOOD.replace("// About the case.", "documented: FoldConstant")
    said = faults(written(tmp_path, text), "a sum folds")
    assert "the docstring of FoldConstant does not show these programs" in said


def test_types_are_as_written_where_that_is_asked_for(tmp_path: Path):
    main = "def @main(%x: float32) {\n  abs(%x)\n}"
    other = "def @other(%x: float32) {\n  exp(%x)\n}"
    lines = ["pipeline: RemoveUnusedFunctions", "types: as written"]
    programs = ["--- before", f"{main}\n\n{other}", "--- after", main]
    assert faults(written(tmp_path, case_of(*lines, *programs)), "it") == ""
    typed = written(tmp_path, case_of(lines[0], *programs))
    assert "+def @main(%x: float32) -> float32 {" in faults(typed, "it")


def test_a_case_runs_in_its_settings(tmp_path: Path):
    x, w = "%x: Tensor[(1, 8, 4, 4), float32]", "%w: Tensor[(8, 8, 1, 1), float32]"
    body = (
        f"def @main({x}, {w}) -> Tensor[(1, 8, 4, 4), float32] {{\n"
        "  nn.conv2d(%x, %w)\n}"
    )
    lines = ["pipeline: AlterOpLayout", "--- before", body, "--- unchanged"]
    assert faults(written(tmp_path, case_of(*lines)), "it") == ""
    setting = "with:\n  blocks 4\n  target llvm"
    told = faults(written(tmp_path, case_of(setting, *lines)), "it")
    assert 'data_layout="NCHW4c"' in told


@pytest.mark.parametrize(
    "constant",
    [
        "Tensor[(3,), float32] [0.1, -0, inf]",
        "Tensor[(2, 2), int64] [1, -9223372036854775808, 3, 4]",
        "Tensor[(2,), bool] [True, False]",
        "Tensor[(2,), bfloat16] [0.5, nan]",
        "Tensor[(0, 3), float32] []",
        "Tensor[(40, 40), float16] 0.5",
        "Tensor[(40, 40), float16] [0.5, ...]",
        "Tensor[(), float32] [inf]",
    ],
)
def test_constants_are_read_as_they_are_written(constant: str):
    text = "def @main() {\n  meta[relay.Constant][0]\n}\n"
    text += f"meta[relay.Constant][0] = {constant}\n"
    assert program_text(read_program(text, "here")) == text


def test_constants_that_are_not_of_their_type_are_refused():
    text = "def @main() {\n  meta[relay.Constant][0]\n}\nmeta[relay.Constant][0] = "
    with pytest.raises(ValueError, match=r"expected 2 elements of .* got '\[1\]'"):
        read_program(text + "Tensor[(2,), int8] [1]", "here")
    with pytest.raises(ValueError, match="expected True or False, got '1'"):
        read_program(text + "Tensor[(2,), bool] [1, True]", "here")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("tail", ["", "\n", "\n\n"])
def test_only_what_differs_is_written(tmp_path: Path, newline: str, tail: str):
    text = (GOOD.removesuffix("\n") + tail).replace("\n", newline)
    path = written(tmp_path, text)
    same = {case.name: case.texts for case in read_cases(path)}
    assert with_expectations(path, same) == text
    changes = {"a sum folds": {"after": "A\nB\n", "statistics": "C\n"}}
    new = with_expectations(path, changes)
    begin, end = text.index("\n--- after"), text.index(f"{newline}=== a call")
    assert new == (
        text[: begin + 1]
        + newline.join(["--- after", "A", "B", "--- statistics", "C", ""])
        + text[end:]
    )


def test_expectations_that_are_not_there_are_put_behind_the_program(tmp_path: Path):
    path = written(tmp_path, GOOD.removesuffix("--- unchanged\n"))
    assert "--update writes it" in faults(path, "a call stays")
    assert with_expectations(path, {"a call stays": {"unchanged": ""}}) == GOOD


def run(folder: Path, *options: str, **env: str) -> tuple[int, str]:
    """Run the cases of a folder by pytest, and return its exit code and its output."""
    command = [sys.executable, "-m", "pytest", "tests/cases/test_cases.py", "-q"]
    settings = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    done = subprocess.run(
        [*command, "--cases", str(folder), *options],
        cwd=REPOSITORY,
        env={**settings, "CI": "", **env},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_update_writes_files_and_says_which_cases(tmp_path: Path, workers: str):
    wrong = GOOD.replace("3f", "4f")
    one, other = written(tmp_path, wrong), written(tmp_path, GOOD, "good.txt")
    code, said = run(tmp_path, "-n", workers, "--update")
    assert code == 0, said
    assert f"{one}: wrote what 'a sum folds' gives" in said
    assert str(other) not in said
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.slow
def test_without_update_a_difference_and_a_broken_file_are_failures(tmp_path: Path):
    path = written(tmp_path, GOOD.replace("3f", "4f"))
    broken = written(tmp_path, "--- before\n", "broken.txt")
    code, said = run(tmp_path, "-n", "0")
    assert code == 1
    assert f"{path}:5: case 'a sum folds'\n--- expected\n+++ got" in said
    assert f"{broken}:1: expected a case, '=== NAME', got '--- before'" in said
    assert "test_case[a_pass: a sum folds]" in said
    assert "2 failed, 1 passed" in said
    assert path.read_text() == GOOD.replace("3f", "4f")


@pytest.mark.slow
def test_update_is_refused_in_ci(tmp_path: Path):
    path = written(tmp_path, GOOD.replace("3f", "4f"))
    code, said = run(tmp_path, "-n", "0", "--update", CI="true")
    assert code == 4
    assert "--update writes files, which CI does not keep" in said
    assert path.read_text() == GOOD.replace("3f", "4f")
